package liveness_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
)

// TestAssess judges an actor from the actor's actions for other objects only. Times are seconds
// before now.
func TestAssess(t *testing.T) {
	now := time.Date(2026, 11, 22, 4, 44, 24, 0, time.UTC)
	ago := func(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }
	action := func(duty liveness.Duty, target, subject string, began, done int) liveness.Action {
		d := liveness.Action{Duty: duty, Target: target, Subject: subject, At: ago(done)}
		if began > 0 {
			d.Due = ago(began)
		}
		return d
	}
	const mine = "ml/mine"
	mirror := func(subject string, began, done int) liveness.Action {
		return action(liveness.DutyMirror, "paris", subject, began, done)
	}
	for _, c := range []struct {
		name    string
		waits   int
		actions []liveness.Action
		want    liveness.State
	}{
		{"no action", 10, nil, liveness.Inactive},
		{"no action since it was due", 3600, []liveness.Action{mirror("ml/other", 4000, 3990)}, liveness.Inactive},
		{"only an action for itself", 100, []liveness.Action{mirror(mine, 90, 80)}, liveness.Inactive},
		{"just due", 1, []liveness.Action{mirror("ml/other", 3, 2)}, liveness.Behind},
		{"just due, and no action for long", 1, []liveness.Action{mirror("ml/other", 4000, 3990)}, liveness.Inactive},
		{"another object waited as long", 8, []liveness.Action{mirror("ml/other", 20, 12)}, liveness.Behind},
		{"another object waited less", 12, []liveness.Action{mirror("ml/other", 20, 13)}, liveness.Inactive},
		{"earlier objects are served", 35, []liveness.Action{mirror("ml/a", 43, 41), mirror("ml/b", 36, 5)}, liveness.Behind},
		{"a later object was faster", 25, []liveness.Action{mirror("ml/a", 40, 20), mirror("ml/b", 20, 1)}, liveness.Behind},
		{"later objects are served", 600, []liveness.Action{mirror("ml/a", 610, 605), mirror("ml/b", 60, 55)}, liveness.Skipping},
		{"all are slow", 600, []liveness.Action{mirror("ml/a", 900, 500), mirror("ml/b", 500, 55)}, liveness.Behind},
		{"working through a long queue", 3600, []liveness.Action{mirror("ml/a", 5000, 400), mirror("ml/b", 4000, 3)}, liveness.Behind},
		{"one of many waited as long, for a reason of its own", 300, []liveness.Action{
			action(liveness.DutyWorkload, "", "ml/z", 500, 90), action(liveness.DutyStatus, "", "ml/a", 62, 60), action(liveness.DutyStatus, "", "ml/b", 6, 5),
		}, liveness.Skipping},
		{"the line has stopped", 600, []liveness.Action{
			mirror("ml/a", 605, 598), action(liveness.DutyStatus, "", "ml/b", 6, 5),
		}, liveness.Skipping},
		{"the same duty for another cluster", 600, []liveness.Action{action(liveness.DutyMirror, "tokyo", "ml/a", 60, 55)}, liveness.Skipping},
		{"others are served after unknown waits", 55, []liveness.Action{mirror("ml/a", 0, 5)}, liveness.Skipping},
		{"other duties", 600, []liveness.Action{action(liveness.DutyStatus, "", "ml/a", 0, 55)}, liveness.Skipping},
		{"other duties, and recently due", 20, []liveness.Action{action(liveness.DutyAny, "", "ml/a", 0, 5)}, liveness.Behind},
		{"every duty takes as long", 50, []liveness.Action{action(liveness.DutyNominate, "", "ml/a", 60, 20)}, liveness.Behind},
		{"a long latency long ago", 50, []liveness.Action{
			action(liveness.DutyNominate, "", "ml/a", 9000, 8000), action(liveness.DutyStatus, "", "ml/b", 0, 5),
		}, liveness.Skipping},
	} {
		t.Run(c.name, func(t *testing.T) {
			pending := liveness.PendingAction{Duty: liveness.DutyMirror, Target: "paris", Subject: mine, Since: ago(c.waits)}
			assert.Equal(t, liveness.NewRecord(c.actions).Assess(pending, now).State, c.want)
		})
	}
}

func TestPerMinute(t *testing.T) {
	now := time.Date(2026, 11, 22, 4, 44, 24, 0, time.UTC)
	isCopy := func(d liveness.Action) bool { return d.Duty == liveness.DutyCopy }
	pace := func(seconds ...int) int {
		actions := []liveness.Action{{Subject: "ml/any", At: now}}
		for _, s := range seconds {
			actions = append(actions, liveness.Action{Duty: liveness.DutyCopy, Subject: "ml/other", At: now.Add(-time.Duration(s) * time.Second)})
		}
		return liveness.NewRecord(actions).PerMinute(now, isCopy)
	}
	assert.Equal(t, pace(), 0)
	assert.Equal(t, pace(70, 80), 0)
	assert.Equal(t, pace(50, 40, 30, 20, 10), 6)
	assert.Equal(t, pace(20, 10), 6)
	// A second or two are too short to measure a pace.
	assert.Equal(t, pace(1, 0), 8)
	var none *liveness.Record
	assert.Equal(t, none.PerMinute(now, isCopy), 0)
	assert.Equal(t, none.Assess(liveness.PendingAction{Since: now}, now), liveness.Assessment{State: liveness.Inactive})
}

// TestSameBurst checks that an object overtaken by others of the same burst differs from one
// overtaken by much later ones.
func TestSameBurst(t *testing.T) {
	now := time.Date(2026, 11, 22, 4, 44, 24, 0, time.UTC)
	for _, tt := range []struct {
		later time.Duration
		want  bool
	}{{0, false}, {time.Second, true}, {time.Minute, false}} {
		since := now.Add(-100 * time.Second)
		pending := liveness.PendingAction{Duty: liveness.DutyWorkload, Subject: "ml/mine", Since: since}
		served := func(name string, took time.Duration) liveness.Action {
			began := since.Add(tt.later)
			return liveness.Action{Duty: liveness.DutyWorkload, Subject: name, Due: began, At: began.Add(took)}
		}
		s := liveness.NewRecord([]liveness.Action{served("ml/a", 10*time.Second), served("ml/b", 50*time.Second)}).Assess(pending, now)
		assert.Equal(t, s.SameBurst, tt.want, "%s later: %s", tt.later, s.State)
	}
}
