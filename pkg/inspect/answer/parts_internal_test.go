package answer

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestParts checks that in every state, a Job that a JobSet created points to
// the JobSet, and no fix resumes it. A Job without a problem has no fix.
func TestParts(t *testing.T) {
	check := []command.Fix{{Text: "check its JobSet", Command: command.Words("kubectl jobs-managedby trace jobset/train -n ml --all-contexts")}}
	for name, tt := range map[string]struct {
		status    delegation.Status
		suspended bool
		message   string
		fixes     []command.Fix
	}{
		"running":   {delegation.Running, false, "JobSet train on w created it.", []command.Fix{}},
		"starting":  {delegation.Pending, false, "JobSet train on w created it.", check},
		"suspended": {delegation.Suspended, true, "spec.suspend is true. JobSet train on w created it.", check},
		"complete":  {delegation.Complete, false, "1/1 completions. JobSet train on w created it.", []command.Fix{}},
		"failed":    {delegation.Failed, false, "1/1 completions. JobSet train on w created it.", check},
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
		assert.DeepEqual(t, trace.Fixes, tt.fixes)
	}
}

// TestSuspended checks that the answer names the field that suspends an object of its kind, and
// the fix resumes it.
func TestSuspended(t *testing.T) {
	for _, tt := range []struct{ apiVersion, kind, message, patch string }{
		{"batch/v1", "Job", "spec.suspend is true.", `{"spec":{"suspend":false}}`},
		{"kubeflow.org/v2beta1", "MPIJob", "spec.runPolicy.suspend is true.", `{"spec":{"runPolicy":{"suspend":false}}}`},
		{"tekton.dev/v1", "PipelineRun", "spec.status is PipelineRunPending.", `{"spec":{"status":null}}`},
	} {
		j := &inspect.Job{
			APIVersion: tt.apiVersion, Kind: tt.kind, Context: "w", Namespace: "ml", Name: "train", UID: "one", ManagedBy: delegation.BuiltIn,
			Status: delegation.Suspended, Suspended: true,
		}
		trace := Trace(inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{{Context: "w", Jobs: []*inspect.Job{j}}}, nil), inspect.Pair{Origin: j})
		assert.Equal(t, trace.Message, tt.message)
		assert.Assert(t, len(trace.Fixes) == 1 && strings.HasSuffix(strings.Join(trace.Fixes[0].Command, " "), tt.patch), "%+v", trace.Fixes)
	}
}
