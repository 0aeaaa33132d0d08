package delegation_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

func TestIsDispatched(t *testing.T) {
	mirrored := &delegation.Marks{Mirror: delegation.Place{ClusterUID: "c", Namespace: "n", Name: "a", UID: "u"}}
	for _, tt := range []struct {
		name  string
		owner delegation.Owner
		marks *delegation.Marks
		want  bool
	}{
		{"ours", delegation.Dispatch, nil, true},
		{"ours, with a mirror", delegation.Dispatch, mirrored, true},
		{"somebody else's", otherOwner, nil, false},
		{"somebody else's, in a queue", otherOwner, &delegation.Marks{Queue: "q"}, false},
		{"somebody else's, dispatched all the same", otherOwner, mirrored, true},
		{"somebody else's, with a mark that was overwritten", otherOwner, &delegation.Marks{BadMirror: "x"}, true},
		{"not delegated", delegation.BuiltIn, mirrored, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, delegation.IsDispatched(tt.owner, tt.marks), tt.want)
		})
	}
}

func TestLeaseName(t *testing.T) {
	assert.Equal(t, delegation.LeaseName("train"), "jobs-managedby-train")
	assert.Equal(t, delegation.Job().LeaseName("train"), "jobs-managedby-train")
	names := map[string]bool{}
	for _, k := range delegation.Kinds() {
		name := k.LeaseName("train")
		assert.Equal(t, len(validation.IsDNS1123Subdomain(name)), 0, name)
		// Two versions of one kind are the same objects.
		names[name] = true
	}
	groups := map[schema.GroupResource]bool{}
	for _, k := range delegation.Kinds() {
		groups[k.Resource.GroupResource()] = true
	}
	assert.Equal(t, len(names), len(groups))

	jobSet, _ := delegation.KindNamed("jobset")
	assert.Equal(t, jobSet.LeaseName("train"), "jobs-managedby-jobset.jobset.x-k8s.io-train")
	long := strings.Repeat("n", 253)
	assert.Equal(t, len(validation.IsDNS1123Subdomain(jobSet.LeaseName(long))), 0)
	assert.Assert(t, jobSet.LeaseName(long) != jobSet.LeaseName(long[1:]))
	// Wherever a long name is cut.
	for n := range 63 {
		dotted := strings.Repeat("n", 150+n) + "." + strings.Repeat("n", 100-n)
		assert.Equal(t, len(validation.IsDNS1123Subdomain(jobSet.LeaseName(dotted))), 0, jobSet.LeaseName(dotted))
	}
}
