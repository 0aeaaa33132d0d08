package inspect_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestLiveness judges an actor from the actor's actions for other objects only. Times are seconds
// before now.
func TestLiveness(t *testing.T) {
	now := time.Date(2026, 11, 22, 4, 44, 24, 0, time.UTC)
	ago := func(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }
	action := func(duty inspect.Duty, target, subject string, began, done int) inspect.Action {
		d := inspect.Action{Duty: duty, Target: target, Subject: subject, Done: ago(done)}
		if began > 0 {
			d.Began = ago(began)
		}
		return d
	}
	const mine = "ml/mine"
	mirror := func(subject string, began, done int) inspect.Action {
		return action(inspect.DutyMirror, "paris", subject, began, done)
	}
	for _, c := range []struct {
		name    string
		waits   int
		actions []inspect.Action
		want    inspect.LivenessState
	}{
		{"nothing was seen", 10, nil, inspect.Unseen},
		{"nothing since it waits", 3600, []inspect.Action{mirror("ml/other", 4000, 3990)}, inspect.Unseen},
		{"nothing but for itself", 100, []inspect.Action{mirror(mine, 90, 80)}, inspect.Unseen},
		{"it has just come", 1, []inspect.Action{mirror("ml/other", 3, 2)}, inspect.Behind},
		{"it has just come, and nothing was seen for long", 1, []inspect.Action{mirror("ml/other", 4000, 3990)}, inspect.Unseen},
		{"another one had to wait as long", 8, []inspect.Action{mirror("ml/other", 20, 12)}, inspect.Behind},
		{"another one did not have to wait as long", 12, []inspect.Action{mirror("ml/other", 20, 13)}, inspect.Unseen},
		{"those before it are served", 35, []inspect.Action{mirror("ml/a", 43, 41), mirror("ml/b", 36, 5)}, inspect.Behind},
		{"one that came later was faster", 25, []inspect.Action{mirror("ml/a", 40, 20), mirror("ml/b", 20, 1)}, inspect.Behind},
		{"those that come later are served", 600, []inspect.Action{mirror("ml/a", 610, 605), mirror("ml/b", 60, 55)}, inspect.PassedOver},
		{"all are slow", 600, []inspect.Action{mirror("ml/a", 900, 500), mirror("ml/b", 500, 55)}, inspect.Behind},
		{"it works through a long queue", 3600, []inspect.Action{mirror("ml/a", 5000, 400), mirror("ml/b", 4000, 3)}, inspect.Behind},
		{"one of many had to wait as long, for a reason of its own", 300, []inspect.Action{
			action(inspect.DutyWorkload, "", "ml/z", 500, 90), action(inspect.DutyStatus, "", "ml/a", 62, 60), action(inspect.DutyStatus, "", "ml/b", 6, 5),
		}, inspect.PassedOver},
		{"the line has not moved for long", 600, []inspect.Action{
			mirror("ml/a", 605, 598), action(inspect.DutyStatus, "", "ml/b", 6, 5),
		}, inspect.PassedOver},
		{"it does the same for another cluster", 600, []inspect.Action{action(inspect.DutyMirror, "tokyo", "ml/a", 60, 55)}, inspect.PassedOver},
		{"others are served, whose turns nobody knows", 55, []inspect.Action{mirror("ml/a", 0, 5)}, inspect.PassedOver},
		{"it does other things", 600, []inspect.Action{action(inspect.DutyStatus, "", "ml/a", 0, 55)}, inspect.PassedOver},
		{"it does other things, so far", 20, []inspect.Action{action(inspect.DutyAny, "", "ml/a", 0, 5)}, inspect.Behind},
		{"all that it does takes that long", 50, []inspect.Action{action(inspect.DutyNominate, "", "ml/a", 60, 20)}, inspect.Behind},
		{"what took long was long ago", 50, []inspect.Action{
			action(inspect.DutyNominate, "", "ml/a", 9000, 8000), action(inspect.DutyStatus, "", "ml/b", 0, 5),
		}, inspect.PassedOver},
	} {
		t.Run(c.name, func(t *testing.T) {
			pending := inspect.PendingAction{Duty: inspect.DutyMirror, Target: "paris", Subject: mine, Since: ago(c.waits)}
			assert.Equal(t, inspect.NewRecord(c.actions).Liveness(pending, now).State, c.want)
		})
	}
}

func TestPace(t *testing.T) {
	now := time.Date(2026, 11, 22, 4, 44, 24, 0, time.UTC)
	isCopy := func(d inspect.Action) bool { return d.Duty == inspect.DutyCopy }
	pace := func(seconds ...int) int {
		actions := []inspect.Action{{Subject: "ml/any", Done: now}}
		for _, s := range seconds {
			actions = append(actions, inspect.Action{Duty: inspect.DutyCopy, Subject: "ml/other", Done: now.Add(-time.Duration(s) * time.Second)})
		}
		return inspect.NewRecord(actions).PerMinute(now, isCopy)
	}
	assert.Equal(t, pace(), 0)
	assert.Equal(t, pace(70, 80), 0)
	assert.Equal(t, pace(50, 40, 30, 20, 10), 6)
	assert.Equal(t, pace(20, 10), 6)
	// A second or two are too short to measure a pace.
	assert.Equal(t, pace(1, 0), 8)
	var none *inspect.Record
	assert.Equal(t, none.PerMinute(now, isCopy), 0)
	assert.Equal(t, none.Liveness(inspect.PendingAction{Since: now}, now), inspect.Liveness{State: inspect.Unseen})
}

// TestShuffled checks that an object overtaken by others of the same burst differs from one overtaken
// by much later ones.
func TestShuffled(t *testing.T) {
	now := time.Date(2026, 11, 22, 4, 44, 24, 0, time.UTC)
	for _, tt := range []struct {
		later time.Duration
		want  bool
	}{{0, false}, {time.Second, true}, {time.Minute, false}} {
		since := now.Add(-100 * time.Second)
		pending := inspect.PendingAction{Duty: inspect.DutyWorkload, Subject: "ml/mine", Since: since}
		served := func(name string, took time.Duration) inspect.Action {
			began := since.Add(tt.later)
			return inspect.Action{Duty: inspect.DutyWorkload, Subject: name, Began: began, Done: began.Add(took)}
		}
		s := inspect.NewRecord([]inspect.Action{served("ml/a", 10*time.Second), served("ml/b", 50*time.Second)}).Liveness(pending, now)
		assert.Equal(t, s.Shuffled, tt.want, "%s later: %s", tt.later, s.State)
	}
}
