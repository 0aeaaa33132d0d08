package wait

import (
	"errors"
	"testing"

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
