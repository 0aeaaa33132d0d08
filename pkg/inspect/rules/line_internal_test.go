package rules

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// TestMarkBehind checks that the last Jobs of a burst count as behind if the Jobs
// before them do, and that no other Jobs do.
func TestMarkBehind(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 7, 1, 0, time.UTC)
	kueue := inspect.Actor{Role: inspect.RoleKueue, Context: "manager"}
	waits := func(actor inspect.Actor, duty inspect.Duty, target string, seconds int, state inspect.LivenessState) view.Sighting {
		return view.Sighting{Awaits: &view.Awaited{
			PendingAction: inspect.PendingAction{Actor: actor, Duty: duty, Target: target, Since: now.Add(time.Duration(seconds) * time.Second)},
			Liveness:      inspect.Liveness{State: state},
		}}
	}
	other := inspect.Actor{Role: inspect.RoleKueue, Context: "other"}
	for name, c := range map[string]struct {
		of   view.Sighting
		want inspect.LivenessState
	}{
		"behind it":               {waits(kueue, inspect.DutyCopy, "paris", 1, inspect.Unseen), inspect.Behind},
		"at the same time":        {waits(kueue, inspect.DutyCopy, "paris", 0, inspect.Unseen), inspect.Behind},
		"in front of it":          {waits(kueue, inspect.DutyCopy, "paris", -1, inspect.Unseen), inspect.Unseen},
		"for another actor":       {waits(other, inspect.DutyCopy, "paris", 1, inspect.Unseen), inspect.Unseen},
		"for something else":      {waits(kueue, inspect.DutyMirror, "paris", 1, inspect.Unseen), inspect.Unseen},
		"for another cluster":     {waits(kueue, inspect.DutyCopy, "tokyo", 1, inspect.Unseen), inspect.Unseen},
		"and was passed over":     {waits(kueue, inspect.DutyCopy, "paris", 1, inspect.PassedOver), inspect.PassedOver},
		"that is reported itself": {waits(kueue, inspect.DutyCopy, "paris", 0, inspect.Behind), inspect.Behind},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.of.Awaits
			all := markBehind([]view.Sighting{c.of, {}, waits(kueue, inspect.DutyCopy, "paris", 0, inspect.Behind)})
			assert.Equal(t, all[0].Awaits.State, c.want)
			assert.Assert(t, all[1].Awaits == nil)
			assert.Assert(t, all[0].Awaits == before || before.State == inspect.Unseen, "the sighting of another rule was changed in place")
		})
	}
}

// TestShuffledLine checks that in a long line, Jobs that others of the same
// burst passed count as behind. In a short line they count as passed over.
func TestShuffledLine(t *testing.T) {
	kueue := inspect.Actor{Role: inspect.RoleKueue, Context: "manager"}
	passed := view.Sighting{Awaits: &view.Awaited{
		PendingAction: inspect.PendingAction{Actor: kueue, Duty: inspect.DutyWorkload},
		Liveness:      inspect.Liveness{State: inspect.PassedOver, Shuffled: true},
	}}
	line := func(n int) []view.Sighting { return slices.Repeat([]view.Sighting{passed}, n) }
	assert.Equal(t, markBehind(line(longLine))[0].Awaits.State, inspect.Behind)
	assert.Equal(t, markBehind(line(longLine - 1))[0].Awaits.State, inspect.PassedOver)
}

// TestIsFresh checks that each step gets seconds, and resuming a mirror gets
// more.
func TestIsFresh(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 7, 1, 0, time.UTC)
	for duty, age := range map[inspect.Duty]time.Duration{inspect.DutyCopy: 5 * time.Second, inspect.DutyResume: 15 * time.Second} {
		a := &view.Awaited{PendingAction: inspect.PendingAction{Duty: duty, Since: now.Add(-age)}}
		assert.Assert(t, !isFresh(a, now), duty)
		a.Since = a.Since.Add(time.Second)
		assert.Assert(t, isFresh(a, now), duty)
	}
}
