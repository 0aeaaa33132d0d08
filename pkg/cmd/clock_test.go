package cmd

import (
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// skippingClock skips the pauses of commands that read more than once: its timers fire at once, and
// its time advances by their durations.
type skippingClock struct {
	clock.RealClock
	skipped atomic.Int64
}

func (c *skippingClock) Now() time.Time { return time.Now().Add(time.Duration(c.skipped.Load())) }

func (c *skippingClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *skippingClock) NewTimer(d time.Duration) clock.Timer {
	c.skipped.Add(int64(max(0, d)))
	return c.RealClock.NewTimer(0)
}
