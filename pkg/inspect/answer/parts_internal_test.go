package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestParts checks that in every state, a Job that a JobSet created points to
// the JobSet, and no fix resumes it.
func TestParts(t *testing.T) {
	for name, tt := range map[string]struct {
		status    delegation.Status
		suspended bool
		message   string
	}{
		"running":   {delegation.Running, false, "JobSet train on w created it."},
		"suspended": {delegation.Suspended, true, "spec.suspend is true. JobSet train on w created it."},
		"complete":  {delegation.Complete, false, "1/1 completions. JobSet train on w created it."},
		"failed":    {delegation.Failed, false, "1/1 completions. JobSet train on w created it."},
	} {
		one := int32(1)
		j := &inspect.Job{
			APIVersion: "batch/v1", Kind: "Job", Context: "w", Namespace: "ml", Name: "train-leader-0", UID: "part", ManagedBy: delegation.BuiltIn,
			Status: tt.status, Suspended: tt.suspended, Completions: &one, Succeeded: 1,
			Controller: &metav1.OwnerReference{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Name: "train", UID: "whole"},
		}
		v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{{Context: "w", Jobs: []*inspect.Job{j}}}, nil)
		trace := Trace(v, inspect.Pair{Origin: j})
		assert.Equal(t, trace.Message, tt.message, name)
		assert.Assert(t, len(trace.Fixes) == 1 && trace.Fixes[0].Text == "check its JobSet", "%s: %+v", name, trace.Fixes)
	}
}
