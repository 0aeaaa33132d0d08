package view

import (
	"fmt"
	"slices"
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
	here, there := a.ReportedSkew(), b.ReportedSkew()
	return here.Min-there.Max > maxSkew || there.Min-here.Max > maxSkew
}

// DescribeSkew returns a sighting of two clocks that differ. The one that differs more from
// ours counts as wrong.
func DescribeSkew(v *View, a, b *inspect.Facts, origin *inspect.Job) Sighting {
	here, _ := v.skew(a)
	there, _ := v.skew(b)
	wrong, other, ahead := b, a, there-here
	if max(here, -here) > max(there, -there) {
		wrong, other, ahead = a, b, -ahead
	}
	direction := "ahead of"
	if ahead < 0 {
		direction = "behind"
	}
	return Sighting{
		Object: Object{Context: wrong.Context, Kind: "Cluster", Name: wrong.Context}, Jobs: []*inspect.Job{origin}, Cause: wrong.Context,
		Message:  fmt.Sprintf("the clock of %s is %s%ds %s that of %s", wrong.Context, atLeast(a, b), max(ahead, -ahead), direction, other.Context),
		Evidence: []string{quoteClock(a, here), quoteClock(b, there)},
		Remedy:   command.Say("set the clock of the control plane of %s, and check on its machines that NTP runs: %s", wrong.Context, command.Of("timedatectl")),
	}
}

// atLeast returns "at least " if objects prove only the least skew of a cluster.
func atLeast(clusters ...*inspect.Facts) string {
	if slices.ContainsFunc(clusters, func(f *inspect.Facts) bool { return f.SkewProof != "" }) {
		return "at least "
	}
	return ""
}

// quoteClock quotes by how much the clock of a cluster is ahead.
func quoteClock(f *inspect.Facts, seconds int) string {
	text := "the same as on this machine"
	switch {
	case seconds > 0:
		text = fmt.Sprintf("%s%ds ahead of this machine", atLeast(f), seconds)
	case seconds < 0:
		text = fmt.Sprintf("%s%ds behind this machine", atLeast(f), -seconds)
	}
	if f.SkewProof != "" {
		text += ": " + f.SkewProof
	}
	return fmt.Sprintf("%s: its API server's clock is %s", f.Context, text)
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

// Proven returns since when a problem is proven. It is made of parts of objects, and each is as it is since its last
// write. bounds are times before which the problem cannot have begun. Without managedFields, a part has no last write:
// the result is then only the earliest possible time, and isUndated.
func Proven(bounds []time.Time, written ...*metav1.Time) (since time.Time, isUndated bool) {
	since = Latest(bounds...)
	for _, w := range written {
		since, isUndated = Latest(since, TimeOf(w)), isUndated || w == nil
	}
	return since, isUndated
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
	return inspect.NoticeableSkew(f.ReportedSkew())
}

// On converts a time by the clock of the cluster of one context, from, into that of another.
// So a finding about an object can have the time of its copy.
func (v *View) On(context, from string, t time.Time) time.Time {
	return v.inventory.On(context, from, t)
}

// OnOf is On for an optional time.
func (v *View) OnOf(context, from string, t *metav1.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	return &metav1.Time{Time: v.On(context, from, t.Time)}
}
