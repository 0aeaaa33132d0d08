package wait

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
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

// TestOrphans checks that a wait for a mirror without an origin ends as the mirror's own status says: its
// state is Orphan in any case.
func TestOrphans(t *testing.T) {
	const gone = "Its origin ml/train is gone."
	for _, tt := range []struct {
		condition string
		mirror    inspect.Job
		shown     string
		err       string
	}{
		{forFinished, inspect.Job{Status: delegation.Complete, Succeeded: 2}, "complete on w1. The mirror is Complete. 2/1 completions. " + gone, errReached.Error()},
		{forFinished, inspect.Job{Status: delegation.Failed, Failure: "DeadlineExceeded: too slow"}, "failed on w1. The mirror is Failed. DeadlineExceeded: too slow. 0/1 completions. " + gone, "job ml/train failed: The mirror is Failed. DeadlineExceeded: too slow. 0/1 completions. " + gone},
		{forFinished, inspect.Job{Status: delegation.Running, Ready: new(int32(1)), Active: 1}, "running on w1. " + gone, ""},
		{forRunning, inspect.Job{Status: delegation.Running, Ready: new(int32(1)), Active: 1}, "running on w1. " + gone, errReached.Error()},
		{forRunning, inspect.Job{Status: delegation.Running, Ready: new(int32(1)), Active: 1, DeletedAt: &metav1.Time{}}, "being deleted. " + gone, ""},
		{forAdmitted, inspect.Job{Status: delegation.Suspended}, "waiting. " + gone, ""},
	} {
		j := &tt.mirror
		row := delegation.Job()
		j.KindRow, j.Context, j.Namespace, j.Name = &row, "w1", "ml", "train"
		p := progressOf(&inspect.Trace{State: inspect.StateOrphan, Message: gone, Mirrors: []inspect.TraceMirror{{Job: *j}}}, inspect.OrphanPair(j))
		assert.Equal(t, p.String()+".", tt.shown)
		err := (&waitOptions{condition: tt.condition}).judge("job ml/train", p)
		if tt.err == "" {
			assert.NilError(t, err)
			continue
		}
		assert.Error(t, err, tt.err)
	}
}
