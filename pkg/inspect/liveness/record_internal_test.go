package liveness

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestAssess judges an actor from the actor's actions for other objects only. Times are seconds
// before now.
func TestAssess(t *testing.T) {
	now := time.Date(2026, 11, 22, 4, 44, 24, 0, time.UTC)
	ago := func(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }
	action := func(duty Duty, target, subject string, began, done int) Action {
		d := Action{Duty: duty, Target: target, Subject: subject, At: ago(done)}
		if began > 0 {
			d.Due = ago(began)
		}
		return d
	}
	const mine = "ml/mine"
	mirror := func(subject string, began, done int) Action {
		return action(DutyMirror, "paris", subject, began, done)
	}
	for _, c := range []struct {
		name    string
		waits   int
		actions []Action
		want    State
	}{
		{"no action", 10, nil, Inactive},
		{"no action since it was due", 3600, []Action{mirror("ml/other", 4000, 3990)}, Inactive},
		{"only an action for itself", 100, []Action{mirror(mine, 90, 80)}, Inactive},
		{"just due", 1, []Action{mirror("ml/other", 3, 2)}, Behind},
		{"just due, and no action for long", 1, []Action{mirror("ml/other", 4000, 3990)}, Inactive},
		{"another object waited as long", 8, []Action{mirror("ml/other", 20, 12)}, Behind},
		{"another object waited less", 12, []Action{mirror("ml/other", 20, 13)}, Inactive},
		{"earlier objects are served", 35, []Action{mirror("ml/a", 43, 41), mirror("ml/b", 36, 5)}, Behind},
		{"a later object was faster", 25, []Action{mirror("ml/a", 40, 20), mirror("ml/b", 20, 1)}, Behind},
		{"later objects are served", 600, []Action{mirror("ml/a", 610, 605), mirror("ml/b", 60, 55)}, Skipping},
		{"all are slow", 600, []Action{mirror("ml/a", 900, 500), mirror("ml/b", 500, 55)}, Behind},
		{"working through a long queue", 3600, []Action{mirror("ml/a", 5000, 400), mirror("ml/b", 4000, 3)}, Behind},
		{"one of many waited as long, for a reason of its own", 300, []Action{
			action(DutyWorkload, "", "ml/z", 500, 90), action(DutyStatus, "", "ml/a", 62, 60), action(DutyStatus, "", "ml/b", 6, 5),
		}, Skipping},
		{"the line has stopped", 600, []Action{
			mirror("ml/a", 605, 598), action(DutyStatus, "", "ml/b", 6, 5),
		}, Skipping},
		{"the same duty for another cluster", 600, []Action{action(DutyMirror, "tokyo", "ml/a", 60, 55)}, Skipping},
		{"others are served after unknown waits", 55, []Action{mirror("ml/a", 0, 5)}, Skipping},
		{"other duties", 600, []Action{action(DutyStatus, "", "ml/a", 0, 55)}, Skipping},
		{"other duties, and recently due", 20, []Action{action(DutyAny, "", "ml/a", 0, 5)}, Behind},
		{"every duty takes as long", 50, []Action{action(DutyNominate, "", "ml/a", 60, 20)}, Behind},
		{"a long latency long ago", 50, []Action{
			action(DutyNominate, "", "ml/a", 9000, 8000), action(DutyStatus, "", "ml/b", 0, 5),
		}, Skipping},
	} {
		t.Run(c.name, func(t *testing.T) {
			pending := PendingAction{Duty: DutyMirror, Target: "paris", Subject: mine, Since: ago(c.waits)}
			assert.Equal(t, newRecord(c.actions).Assess(pending, now).State, c.want)
		})
	}
}

func TestPerMinute(t *testing.T) {
	now := time.Date(2026, 11, 22, 4, 44, 24, 0, time.UTC)
	isCopy := func(d Action) bool { return d.Duty == DutyCopy }
	pace := func(seconds ...int) int {
		actions := []Action{{Subject: "ml/any", At: now}}
		for _, s := range seconds {
			actions = append(actions, Action{Duty: DutyCopy, Subject: "ml/other", At: now.Add(-time.Duration(s) * time.Second)})
		}
		return newRecord(actions).PerMinute(now, isCopy)
	}
	assert.Equal(t, pace(), 0)
	assert.Equal(t, pace(70, 80), 0)
	assert.Equal(t, pace(50, 40, 30, 20, 10), 6)
	assert.Equal(t, pace(20, 10), 6)
	// A second or two are too short to measure a pace.
	assert.Equal(t, pace(1, 0), 8)
	var none *Record
	assert.Equal(t, none.PerMinute(now, isCopy), 0)
	assert.Equal(t, none.Assess(PendingAction{Since: now}, now), Assessment{State: Inactive})
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
		pending := PendingAction{Duty: DutyWorkload, Subject: "ml/mine", Since: since}
		served := func(name string, took time.Duration) Action {
			began := since.Add(tt.later)
			return Action{Duty: DutyWorkload, Subject: name, Due: began, At: began.Add(took)}
		}
		s := newRecord([]Action{served("ml/a", 10*time.Second), served("ml/b", 50*time.Second)}).Assess(pending, now)
		assert.Equal(t, s.SameBurst, tt.want, "%s later: %s", tt.later, s.State)
	}
}
