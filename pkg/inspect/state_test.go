package inspect_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestPhrase checks which clusters the state of a Job names: not one with a suspended copy that has
// no Pods, and not one with a finished copy while another one runs.
func TestPhrase(t *testing.T) {
	mirror := func(context string, isSuspended bool, active int32) inspect.TraceMirror {
		return inspect.TraceMirror{Job: inspect.Job{Context: context, Suspended: isSuspended, Active: active}, Current: true}
	}
	ended := mirror("b", false, 0)
	ended.Status = delegation.Complete
	for name, tt := range map[string]struct {
		state   inspect.JobState
		mirrors []inspect.TraceMirror
		want    string
	}{
		"runs once":                     {inspect.StateRunning, []inspect.TraceMirror{mirror("a", false, 2), mirror("b", true, 0)}, "running on a"},
		"a former mirror is complete":   {inspect.StateRunning, []inspect.TraceMirror{mirror("a", false, 2), ended}, "running on a"},
		"a suspended copy still runs":   {inspect.StateDuplicate, []inspect.TraceMirror{mirror("a", false, 2), mirror("b", true, 1)}, "running on 2 clusters at once"},
		"the only mirror is suspended":  {inspect.StateWaiting, []inspect.TraceMirror{mirror("b", true, 0)}, "waiting"},
		"the mirror is being deleted":   {inspect.StateTerminating, []inspect.TraceMirror{mirror("a", false, 0)}, "mirror being deleted on a"},
		"starts, and has no Pods there": {inspect.StateStarting, []inspect.TraceMirror{mirror("a", false, 0)}, "starting on a"},
	} {
		t.Run(name, func(t *testing.T) {
			trace := inspect.NewTrace()
			trace.Origin, trace.State, trace.Mirrors = &inspect.Job{Context: "hub"}, tt.state, tt.mirrors
			assert.Equal(t, trace.Phrase(), tt.want)
		})
	}
}
