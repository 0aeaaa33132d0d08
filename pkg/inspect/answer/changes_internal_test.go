package answer

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestPointToTrace checks that a finding about a Job that was not read names the command that shows the rest, before
// its own fix, and keeps its other fixes.
func TestPointToTrace(t *testing.T) {
	dispatch := command.Fix{Text: "dispatch it", Command: []string{"kubectl", "dispatch", "--to", "CONTEXT"}}
	other := command.Fix{Text: "delete it", Command: []string{}}
	for code, what := range map[string]string{outOfSync: "see what was changed", ignoredByOwner: "see which cluster can take it"} {
		f := inspect.Finding{Code: code, Kind: "Job", Namespace: "ml", Name: "a", Jobs: []inspect.Ref{{Context: "hub", Namespace: "ml", Name: "a"}}, Fixes: []command.Fix{dispatch, other}}
		assert.Assert(t, NeedsJob(&f))
		PointToTrace(&f, command.Reach{})
		assert.Equal(t, len(f.Fixes), 2)
		assert.Equal(t, f.Fixes[0].Text, what)
		assert.DeepEqual(t, f.Fixes[0].Command, []string{"kubectl", "jobs-managedby", "trace", "a", "-n", "ml", "--context", "hub"})
		assert.DeepEqual(t, f.Fixes[0].Then, []command.Step{{Text: dispatch.Text, Command: dispatch.Command}})
		assert.Equal(t, f.Remedy, what+": `kubectl jobs-managedby trace a -n ml --context hub`, and then dispatch it: `kubectl dispatch --to CONTEXT`; or delete it")
	}
}

// TestImageOfPolicy checks that a policy that replaced the image of a container, and nothing else, has a fix for users who
// cannot change the policy.
func TestImageOfPolicy(t *testing.T) {
	const field = "spec.template.spec.containers[main].image"
	image := inspect.Difference{Context: "w1", Field: field, Origin: "a:1", Mirror: "mirror/a:1"}
	for name, tt := range map[string]struct {
		message string
		found   []inspect.Difference
		isAdded bool
	}{
		"by a policy":        {"something on worker1 (w1) changed its mirror", []inspect.Difference{image, {Context: "w1", Field: "status.active"}}, true},
		"by a user":          {"a user edited its mirror on worker1 (w1)", []inspect.Difference{image}, false},
		"on another worker":  {"something on worker2 (w2) changed its mirror", []inspect.Difference{image}, false},
		"with another field": {"something on worker1 (w1) changed its mirror", []inspect.Difference{image, {Context: "w1", Field: "spec.parallelism"}}, false},
		"another field":      {"something on worker1 (w1) changed its mirror", []inspect.Difference{{Context: "w1", Field: "spec.parallelism", Mirror: "1"}}, false},
		"no image":           {"something on worker1 (w1) changed its mirror", []inspect.Difference{{Context: "w1", Field: field, Origin: "a:1"}}, false},
	} {
		f := inspect.Finding{Message: tt.message, Fixes: []command.Fix{{Text: "exempt Jobs"}}}
		q := Question{Pair: inspect.Pair{Origin: &inspect.Job{Context: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "a"}}, Trace: &inspect.Trace{Differences: tt.found}}
		q.addImage(&f)
		assert.Equal(t, len(f.Fixes) == 2, tt.isAdded, name)
		if tt.isAdded {
			assert.Equal(t, f.Remedy, "exempt Jobs; or if the policies of w1 keep image mirror/a:1, use it in container main, then delete Job ml/a, and create it again")
		}
	}
}
