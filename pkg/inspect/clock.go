package inspect

import (
	"math"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Age returns the time since t, which is by the clock of a context's cluster. For the zero time,
// which means unknown, it returns the longest duration.
func (v *Inventory) Age(name string, t time.Time) time.Duration {
	if t.IsZero() {
		return math.MaxInt64
	}
	return v.clusterTime(name).Sub(t)
}

// clusterTime returns Now by the clock of a context's cluster.
func (v *Inventory) clusterTime(name string) time.Time {
	if f := v.Facts(name); f != nil {
		return clusterTime(v.Now, f.Skew)
	}
	return v.Now
}

// clusterTime converts now from our own clock to one with this skew.
func clusterTime(now time.Time, s kubecontext.Skew) time.Time {
	if !s.Known {
		return now
	}
	return now.Add((s.Min + s.Max) / 2)
}

// ToOurClock converts t from the clock of a context's cluster to our own clock. The zero time
// stays zero.
func (v *Inventory) ToOurClock(context string, t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return v.Now.Add(-v.Age(context, t))
}

// ToClusterClock converts t from our own clock to that of a context's cluster. The zero time
// stays zero.
func (v *Inventory) ToClusterClock(context string, t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return v.clusterTime(context).Add(t.Sub(v.Now))
}

// NoticeableSkew returns by how many whole seconds a clock is ahead; ok is false if the difference
// is negligible.
func NoticeableSkew(s kubecontext.Skew) (ahead int, ok bool) {
	by, ok := s.Noticeable()
	return int(by / time.Second), ok
}
