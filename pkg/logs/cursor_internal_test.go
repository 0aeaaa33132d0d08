package logs

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestCursor reads random logs over connections that break at random places. Every line comes
// once and in order, even if lines have the same time or text, or an earlier time than the line
// before, or if a log has lost its first lines to rotation.
func TestCursor(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		var log []string
		var times []time.Time
		at := time.Date(2026, 8, 30, 6, 0, 0, 0, time.UTC)
		for n := range 1 + r.IntN(60) {
			at = at.Add(time.Duration(r.IntN(4)) * 250 * time.Millisecond)
			stamped := at.Add(-time.Duration(r.IntN(3)) * time.Microsecond)
			times = append(times, stamped)
			log = append(log, fmt.Sprintf("%s line %d\n", stamped.Format(time.RFC3339Nano), n%7))
		}
		var got []string
		c := newCursor(false)
		rotated := 0
		for written := 0; written < len(log); {
			written = min(len(log), written+1+r.IntN(20))
			since := c.since()
			replay := c.replay()
			for i := rotated; i < written; i++ {
				if since != nil && times[i].Before(since.Time) {
					continue
				}
				if _, isNew := c.take([]byte(log[i]), replay); isNew {
					got = append(got, log[i])
				}
			}
			// Lines that were read are rotated away at times.
			if r.IntN(3) == 0 {
				rotated = r.IntN(written)
			}
		}
		assert.DeepEqual(t, got, log)
	}
}

func TestSplitTime(t *testing.T) {
	for line, want := range map[string]string{
		"2026-08-30T06:00:00.123456789Z text\n":            "text\n",
		"2026-08-30T06:00:00.123456789+02:00  two spaces":  " two spaces",
		"2026-08-30T06:00:00.1Z \n":                        "\n",
		"2026-08-30T06:00:00.123456789Z\n":                 "\n",
		"unable to retrieve container logs for docker://x": "-",
		"": "-",
		"2026-08-30T06:00:00.123456789Z-no-space-follows-and-it-is-long": "-",
	} {
		_, text, ok := splitTime([]byte(line))
		if want == "-" {
			assert.Assert(t, !ok, line)
			want = line
		}
		assert.Equal(t, string(text), want)
	}
}

// TestUntimedLines checks that an error that the kubelet repeats on every connection is passed on
// once.
func TestUntimedLines(t *testing.T) {
	c := newCursor(false)
	complaint := []byte("failed to try resolving symlinks\n")
	for n := range 3 {
		replay := c.replay()
		_, isNew := c.take(complaint, replay)
		assert.Equal(t, isNew, n == 0)
	}
	replay := c.replay()
	for n := range 2 * maxUntimed {
		_, isNew := c.take(fmt.Appendf(nil, "line %d\n", n), replay)
		assert.Assert(t, isNew)
	}
	assert.Equal(t, len(c.untimed), maxUntimed)
}
