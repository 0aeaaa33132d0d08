package dispatch

import (
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// TestHeldBack checks that a mirror with dependencies to copy starts suspended, for each kind
// that allows it, and that it is started afterwards.
func TestHeldBack(t *testing.T) {
	some := []dependency.Object{{Kind: dependency.ConfigMap, Namespace: "ml", Name: "settings"}}
	var names []string
	for _, k := range delegation.Kinds() {
		path, value := object.Hold(k)
		if k.Template || k.IsUnmanaged() || path == nil {
			assert.Assert(t, !k.CanStartSuspended, k.Name)
			continue
		}
		planned := jobNamed("train", "", nil)
		planned.SetGroupVersionKind(k.GroupVersionKind())
		if k.IsJob() {
			// The API server sets this default.
			assert.NilError(t, unstructured.SetNestedField(planned.Object, false, path...))
		}
		before := content.At(planned, path...)
		x := &task{Task: Task{Kind: k, Dependencies: some}}
		held := x.suspendForCopies(planned)
		if !k.CanStartSuspended {
			assert.DeepEqual(t, held, planned)
			continue
		}
		names = append(names, k.Name)
		assert.DeepEqual(t, content.At(held, path...), value)
		assert.Equal(t, content.At(planned, path...), before, "the planned mirror is unchanged")
		drift := plan.DriftOf(k, planned, planned, held)
		assert.Assert(t, len(drift.Patch) > 0, "%s is not deleted", k.Name)

		x.Dependencies = nil
		assert.DeepEqual(t, x.suspendForCopies(planned), planned)
		x.Dependencies = some
		planned.SetLabels(map[string]string{delegation.QueueNameLabel: "q"})
		assert.DeepEqual(t, x.suspendForCopies(planned), planned)
	}
	assert.Assert(t, len(names) > 8, "%q", names)
}
