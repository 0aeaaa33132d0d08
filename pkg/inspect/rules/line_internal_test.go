package rules

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// TestMarkBehind checks that the last Jobs of a burst count as behind if the Jobs
// before them do, and that no other Jobs do.
func TestMarkBehind(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 7, 1, 0, time.UTC)
	kueue := liveness.Actor{Role: liveness.RoleKueue, Context: "manager"}
	waits := func(actor liveness.Actor, duty liveness.Duty, target string, seconds int, state liveness.State) view.Sighting {
		return view.Sighting{Awaits: &view.Awaited{
			PendingAction: liveness.PendingAction{Actor: actor, Duty: duty, Target: target, Since: now.Add(time.Duration(seconds) * time.Second)},
			Assessment:    liveness.Assessment{State: state},
		}}
	}
	other := liveness.Actor{Role: liveness.RoleKueue, Context: "other"}
	for name, c := range map[string]struct {
		of   view.Sighting
		want liveness.State
	}{
		"behind it":               {waits(kueue, liveness.DutyCopy, "paris", 1, liveness.Inactive), liveness.Behind},
		"at the same time":        {waits(kueue, liveness.DutyCopy, "paris", 0, liveness.Inactive), liveness.Behind},
		"in front of it":          {waits(kueue, liveness.DutyCopy, "paris", -1, liveness.Inactive), liveness.Inactive},
		"for another actor":       {waits(other, liveness.DutyCopy, "paris", 1, liveness.Inactive), liveness.Inactive},
		"for something else":      {waits(kueue, liveness.DutyMirror, "paris", 1, liveness.Inactive), liveness.Inactive},
		"for another cluster":     {waits(kueue, liveness.DutyCopy, "tokyo", 1, liveness.Inactive), liveness.Inactive},
		"and was skipped":         {waits(kueue, liveness.DutyCopy, "paris", 1, liveness.Skipping), liveness.Skipping},
		"that is reported itself": {waits(kueue, liveness.DutyCopy, "paris", 0, liveness.Behind), liveness.Behind},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.of.Awaits
			all := markBehind([]view.Sighting{c.of, {}, waits(kueue, liveness.DutyCopy, "paris", 0, liveness.Behind)})
			assert.Equal(t, all[0].Awaits.State, c.want)
			assert.Assert(t, all[1].Awaits == nil)
			assert.Assert(t, all[0].Awaits == before || before.State == liveness.Inactive, "the sighting of another rule was changed in place")
		})
	}
}

// TestShuffledLine checks that in a long line, Jobs that others of the same
// burst passed count as behind. In a short line they count as passed over.
func TestShuffledLine(t *testing.T) {
	kueue := liveness.Actor{Role: liveness.RoleKueue, Context: "manager"}
	passed := view.Sighting{Awaits: &view.Awaited{
		PendingAction: liveness.PendingAction{Actor: kueue, Duty: liveness.DutyWorkload},
		Assessment:    liveness.Assessment{State: liveness.Skipping, SameBurst: true},
	}}
	line := func(n int) []view.Sighting { return slices.Repeat([]view.Sighting{passed}, n) }
	assert.Equal(t, markBehind(line(longLine))[0].Awaits.State, liveness.Behind)
	assert.Equal(t, markBehind(line(longLine - 1))[0].Awaits.State, liveness.Skipping)
}

// TestIsFresh checks that each step gets seconds, and resuming a mirror gets
// more.
func TestIsFresh(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 7, 1, 0, time.UTC)
	for duty, age := range map[liveness.Duty]time.Duration{liveness.DutyCopy: 5 * time.Second, liveness.DutyResume: 15 * time.Second} {
		a := &view.Awaited{PendingAction: liveness.PendingAction{Duty: duty, Since: now.Add(-age)}}
		assert.Assert(t, !a.IsFresh(now), duty)
		a.Since = a.Since.Add(time.Second)
		assert.Assert(t, a.IsFresh(now), duty)
	}
}
