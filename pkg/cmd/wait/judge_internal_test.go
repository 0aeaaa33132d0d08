package wait

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestJudge checks which states end a wait, and how: a template never runs itself.
func TestJudge(t *testing.T) {
	for state, want := range map[inspect.JobState]string{
		inspect.StateWaiting:  "",
		inspect.StateRunning:  errReached.Error(),
		inspect.StateTemplate: "cronjob ml/nightly does not run itself; name one of the objects that it created",
		inspect.StateFailed:   (&failedError{"cronjob ml/nightly", "why"}).Error(),
	} {
		err := (&waitOptions{condition: forRunning}).judge("cronjob ml/nightly", &progress{State: state, Message: "why"})
		if want == "" {
			assert.NilError(t, err, state)
			continue
		}
		assert.Error(t, err, want, state)
		assert.Equal(t, errors.Is(err, errReached), state == inspect.StateRunning)
	}
}

// TestSubjects checks that a wait never continues with another Job of the same name: on a context that
// answers only later, or created after the first was deleted.
func TestSubjects(t *testing.T) {
	of := func(context, uid string) *inspect.Inventory {
		job := &inspect.Job{Context: context, Name: "train", Namespace: "ml", UID: uid, ManagedBy: "example.com/runner"}
		return inspect.NewInventory(time.Now(), []*inspect.Facts{{Context: context, ClusterUID: context, Jobs: []*inspect.Job{job}}}, nil)
	}
	first := of("mgmt", "1")
	w := &waiter{}
	subjects := w.subjects(first.Subjects())
	assert.Equal(t, len(subjects), 1)
	w.last = &progress{}
	w.tracked.See(first, subjects[0])
	assert.Equal(t, len(w.subjects(first.Subjects())), 1)
	assert.Equal(t, len(w.subjects(of("staging", "2").Subjects())), 0)
	assert.Equal(t, len(w.subjects(of("mgmt", "3").Subjects())), 0)
}
