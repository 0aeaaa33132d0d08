package util

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestStoppedClock(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	c := stoppedClock{now: now}
	assert.Equal(t, c.Now(), now)
	assert.Equal(t, c.Since(now.Add(-time.Minute)), time.Minute)
}
