package delegation_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

func TestOwnerOf(t *testing.T) {
	for _, tt := range []struct {
		managedBy string
		want      delegation.Owner
		builtIn   bool
	}{
		{"", delegation.BuiltIn, true},
		{"kubernetes.io/job-controller", delegation.BuiltIn, true},
		{"kueue.x-k8s.io/multikueue", delegation.MultiKueue, false},
		{"jobmanagedby.github.io/dispatch", delegation.Dispatch, false},
		{"example.com/controller", "example.com/controller", false},
		{"Kubernetes.io/job-controller", "Kubernetes.io/job-controller", false},
		{"kubernetes.io/job-controller/other", "kubernetes.io/job-controller/other", false},
	} {
		t.Run(tt.managedBy, func(t *testing.T) {
			owner := delegation.Job().OwnerOf(tt.managedBy)
			assert.Equal(t, owner, tt.want)
			assert.Equal(t, owner.IsBuiltIn(), tt.builtIn)
		})
	}
}

// TestOwnerOfKindWithAnotherReservedValue checks that a reserved value applies to its own kind
// only.
func TestOwnerOfKindWithAnotherReservedValue(t *testing.T) {
	kind := delegation.Kind{Reserved: "example.com/operator"}
	assert.Equal(t, kind.OwnerOf("example.com/operator"), delegation.BuiltIn)
	assert.Equal(t, kind.OwnerOf("kubernetes.io/job-controller"), delegation.Owner("kubernetes.io/job-controller"))
}

func TestKindNamed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		known bool
	}{
		{"job", true},
		{"jobs", true},
		{"Job", true},
		{"JOBS", true},
		{"job.batch", true},
		{"jobs.batch", true},
		{"Jobs.Batch", true},
		{"jobs.v1.batch", true},
		{"job.v1beta1.batch", true},
		{"jobs.v1.apps", false},
		{"jobs.v1", false},
		{"", false},
		{"jobss", false},
		{"workflow", false},
		{"workflows.batch", false},
		{"jobs.apps", false},
		{".batch", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kind, ok := delegation.KindNamed(tt.name)
			assert.Equal(t, ok, tt.known)
			if ok {
				assert.DeepEqual(t, kind, delegation.Job())
			} else {
				assert.DeepEqual(t, kind, delegation.Kind{})
			}
		})
	}
}

// TestKindNamedFindsTheWholeTable checks that every kind of the table is found by each of its
// names, and no other kind is. If a kind has several versions, the first row is found.
func TestKindNamedFindsTheWholeTable(t *testing.T) {
	seen := map[string]string{}
	for _, kind := range delegation.Kinds() {
		for _, name := range append([]string{kind.Name, kind.Resource.Resource}, kind.ShortNames...) {
			assert.Assert(t, seen[name] == "" || seen[name] == kind.Kind, "%s is also a name of %s", name, seen[name])
			seen[name] = kind.Kind
			found, ok := delegation.KindNamed(name + "." + kind.Resource.Group)
			assert.Assert(t, ok, "%s is not found", name)
			assert.Equal(t, found.GroupVersionKind().GroupKind(), kind.GroupVersionKind().GroupKind())
		}
		row, ok := delegation.KindOf(kind.GroupVersionKind())
		assert.Assert(t, ok)
		assert.DeepEqual(t, row, kind)
	}
}

func TestGroupVersionKind(t *testing.T) {
	assert.Equal(t, delegation.Job().GroupVersionKind().String(), "batch/v1, Kind=Job")
}
