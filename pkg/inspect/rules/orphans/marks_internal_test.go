package orphans

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestCurrentMark checks that two names that were used last in the same second leave it open which
// one is current, however often it is asked.
func TestCurrentMark(t *testing.T) {
	at := time.Unix(100, 0)
	m := marks{}
	assert.Assert(t, m.isCurrent("a"))
	m.use("a", at)
	m.use("b", at)
	for range 20 {
		assert.Equal(t, m.current(), "")
		assert.Assert(t, m.isCurrent("a") && m.isCurrent("b"))
	}
	m.use("b", at.Add(time.Second))
	assert.Equal(t, m.current(), "b")
	assert.Assert(t, !m.isCurrent("a"))
}
