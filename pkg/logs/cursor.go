package logs

import (
	"bytes"
	"hash/maphash"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cursor is the position in a container's log. The API accepts only whole seconds as a start, and
// lines of one second may be in any order: a runtime takes the times of standard output and
// standard error separately (containerd: internal/cri/io/logger.go). So the cursor remembers the
// lines of the newest second and the one before, and skips them when they are sent again.
type cursor struct {
	seed     maphash.Seed
	hasLines bool
	// newest is the second of the newest line, in Unix time. recent are the lines of that second,
	// and before those of the previous one.
	newest         int64
	recent, before []mark
	// bounded is whether lines older than the first one are skipped. floor is the time of the
	// first line, once there is one.
	bounded bool
	floor   int64
	// open is a line that was read partly; nil if there is none.
	open *openLine
	// untimed are lines without a time, such as the kubelet's own errors.
	untimed []uint64
}

// mark identifies a line.
type mark struct {
	// nanos is the line's time, in Unix nanoseconds.
	nanos int64
	hash  uint64
}

// maxUntimed is the maximum number of remembered lines without a time.
const maxUntimed = 64

// newCursor returns a cursor at the beginning of a log. bounded means that the request skips
// older lines, and that lines older than the first one are not wanted later either.
func newCursor(bounded bool) *cursor {
	return &cursor{seed: maphash.MakeSeed(), bounded: bounded, floor: math.MinInt64}
}

// acceptAll makes the cursor accept all lines from now on.
func (c *cursor) acceptAll() { c.bounded, c.floor = false, math.MinInt64 }

// since returns the time from which lines have to be requested again; nil for all.
func (c *cursor) since() *metav1.Time {
	if !c.hasLines {
		return nil
	}
	since := metav1.Unix(c.newest-1, 0)
	return &since
}

// replay are the lines that may be sent again on a new connection.
type replay struct {
	left  map[mark]int
	until int64
	plain []uint64
}

// replay begins a new connection.
func (c *cursor) replay() *replay {
	r := &replay{left: map[mark]int{}, until: math.MinInt64, plain: slices.Clone(c.untimed)}
	if !c.hasLines {
		return r
	}
	r.until = (c.newest + 1) * int64(time.Second)
	for _, m := range slices.Concat(c.before, c.recent) {
		r.left[m]++
	}
	return r
}

// isKnown reports whether a line was read on an earlier connection.
func (r *replay) isKnown(m mark) bool {
	if m.nanos >= r.until || r.left[m] == 0 {
		return false
	}
	r.left[m]--
	return true
}

// take accepts a line as the API sends it, with its time in front, and returns its text. isNew is
// false for a line that was taken before or is older than wanted.
func (c *cursor) take(line []byte, r *replay) (text []byte, isNew bool) {
	at, text, ok := splitTime(line)
	if !ok {
		return line, c.takeUntimed(line, r)
	}
	m := mark{nanos: at.UnixNano(), hash: maphash.Bytes(c.seed, text)}
	if m.nanos < c.floor || r.isKnown(m) {
		return nil, false
	}
	if c.bounded && !c.hasLines {
		c.floor = m.nanos
	}
	c.add(m)
	return text, true
}

func (c *cursor) takeUntimed(line []byte, r *replay) bool {
	hash := maphash.Bytes(c.seed, line)
	if slices.Contains(r.plain, hash) {
		return false
	}
	if len(c.untimed) < maxUntimed {
		c.untimed = append(c.untimed, hash)
	}
	return true
}

func (c *cursor) add(m mark) {
	second := m.nanos / int64(time.Second)
	switch {
	case !c.hasLines || second > c.newest:
		c.before, c.recent = c.recent, c.before[:0]
		if second != c.newest+1 {
			c.before = c.before[:0]
		}
		c.hasLines, c.newest = true, second
		c.recent = append(c.recent, m)
	case second == c.newest:
		c.recent = append(c.recent, m)
	case second == c.newest-1:
		c.before = append(c.before, m)
	}
}

// maxTimeLength is the length of the longest time that kubelets write: nanoseconds and a zone.
const maxTimeLength = len("2006-01-02T15:04:05.000000000+00:00")

// splitTime splits the time from a line.
func splitTime(line []byte) (at time.Time, text []byte, ok bool) {
	head := line[:min(len(line), maxTimeLength+1)]
	end := bytes.IndexAny(head, " \n")
	if end < 0 {
		return at, line, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(head[:end]))
	if err != nil {
		return at, line, false
	}
	if head[end] == ' ' {
		end++
	}
	return at, line[end:], true
}
