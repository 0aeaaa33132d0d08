package advice

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestShortHash checks that the roles of two managers, and of two fixes for one, have different
// names. Otherwise, the second fix takes the rights of the first away.
func TestShortHash(t *testing.T) {
	jobs, jobSets := []any{map[string]any{"resources": []any{"jobs"}}}, []any{map[string]any{"resources": []any{"jobsets"}}}
	assert.Equal(t, shortHash("a", jobs), shortHash("a", jobs))
	assert.Assert(t, shortHash("a", jobs) != shortHash("b", jobs))
	assert.Assert(t, shortHash("a", jobs) != shortHash("a", jobSets))
}
