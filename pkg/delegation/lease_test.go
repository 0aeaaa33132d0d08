package delegation_test

import (
	"testing"

	"gotest.tools/v3/assert"

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
		{"not delegated", delegation.BuiltIn, mirrored, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, delegation.IsDispatched(tt.owner, tt.marks), tt.want)
		})
	}
}

func TestLeaseName(t *testing.T) {
	assert.Equal(t, delegation.LeaseName("train"), "jobs-managedby-train")
}
