package view

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
)

// maxSkew is by how much the clocks of two clusters may differ.
const maxSkew = 30 * time.Second

// ClocksApart reports whether the clocks of two clusters certainly differ by more than
// maxSkew. A clock whose skew is unknown counts as right.
func ClocksApart(a, b *inspect.Facts) bool {
	return a.Skew.Min-b.Skew.Max > maxSkew || b.Skew.Min-a.Skew.Max > maxSkew
}

// DescribeSkew returns a sighting of two clocks that differ. The one that differs more from
// ours counts as wrong.
func DescribeSkew(v *View, a, b *inspect.Facts, origin *inspect.Job) Sighting {
	here, _ := v.skew(a)
	there, _ := v.skew(b)
	wrong := b
	if max(here, -here) > max(there, -there) {
		wrong = a
	}
	return Sighting{
		Object: Object{Context: wrong.Context, Kind: "Cluster", Name: wrong.Context}, Jobs: []*inspect.Job{origin}, Cause: wrong.Context,
		Message: fmt.Sprintf("the clocks of %s and %s differ by %ds", a.Context, b.Context, max(here-there, there-here)),
		Evidence: []string{
			fmt.Sprintf("%s: its API server's clock is %s", a.Context, ahead(here)),
			fmt.Sprintf("%s: its API server's clock is %s", b.Context, ahead(there)),
		},
		Remedy: command.Say("set the clock of the control plane of %s, and check on its machines that NTP runs: %s", wrong.Context, command.Of("timedatectl")),
	}
}

// ahead says by how much a clock is ahead.
func ahead(seconds int) string {
	switch {
	case seconds > 0:
		return fmt.Sprintf("%ds ahead of this machine", seconds)
	case seconds < 0:
		return fmt.Sprintf("%ds behind this machine", -seconds)
	}
	return "the same as on this machine"
}

// LastSeen returns when an actor last acted, by our own clock, and the zero time if no action
// was seen.
func (v *View) LastSeen(a liveness.Actor) time.Time {
	if r := v.RecordOf(a); r != nil && len(r.Actions) > 0 {
		return r.Actions[len(r.Actions)-1].At
	}
	return time.Time{}
}

// Latest returns the latest of some times.
func Latest(times ...time.Time) time.Time {
	var latest time.Time
	for _, t := range times {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}

// TimeOf returns the time of an optional field, the zero time if it is not set.
func TimeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// Now returns when the inventory was read.
func (v *View) Now() time.Time { return v.inventory.Now }

// ToOurClock converts a time by the clock of a context's cluster into our own clock.
func (v *View) ToOurClock(context string, t time.Time) time.Time {
	return v.inventory.ToOurClock(context, t)
}

// ToClusterClock converts a time by our own clock into the clock of a context's cluster.
func (v *View) ToClusterClock(context string, t time.Time) time.Time {
	return v.inventory.ToClusterClock(context, t)
}

// Age returns how long ago a time was, by the clock of a context's cluster.
func (v *View) Age(context string, t time.Time) time.Duration { return v.inventory.Age(context, t) }

// skew returns by how much a cluster's clock is ahead.
func (v *View) skew(f *inspect.Facts) (aheadSeconds int, noticeable bool) {
	return inspect.NoticeableSkew(f.Skew)
}

// On converts a time by the clock of the cluster of one context, from, into that of another.
// So a finding about an object can have the time of its copy.
func (v *View) On(context, from string, t time.Time) time.Time {
	if t.IsZero() || context == from {
		return t
	}
	ahead := v.Age(context, v.Now()) - v.Age(from, v.Now())
	if ahead.Abs() < sameClock {
		// The difference is known to a second or two, and a time must not change between readings.
		return t
	}
	return t.Add(ahead)
}

// sameClock is by how much two clocks must differ before times are converted.
const sameClock = 2 * time.Second
