package answer

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestReasonOfWait checks that the reasons of Workloads become those of Jobs,
// and that each has a place in the order of the workers' reasons.
func TestReasonOfWait(t *testing.T) {
	for _, reason := range kueue.WaitReasons() {
		assert.Assert(t, slices.Contains(reasonsOfWorkers(), reasonOfWait(&kueue.Wait{Reason: reason})), string(reason))
	}
	for reason, want := range map[kueue.WaitReason]inspect.JobReason{
		kueue.ReasonQuotaInUse: inspect.ReasonQuotaInUse, kueue.ReasonOverLimit: inspect.ReasonOverLimit,
		kueue.ReasonTaint: inspect.ReasonNoFlavor, kueue.ReasonNoTopologyDomain: inspect.ReasonNoFlavor,
		kueue.ReasonLocalQueueMissing: inspect.ReasonSetup, kueue.ReasonCheckRejected: inspect.ReasonAdmissionCheck,
		kueue.ReasonDeactivated: inspect.ReasonHeld, kueue.ReasonDevicesUnresolved: inspect.ReasonHeld,
		kueue.ReasonNotEvaluated: inspect.ReasonNotAdmitted,
	} {
		assert.Equal(t, reasonOfWait(&kueue.Wait{Reason: reason}), want, string(reason))
	}
}

// TestStateOfWait: a Job is blocked only if its wait does not end by itself.
func TestStateOfWait(t *testing.T) {
	for reason, want := range map[kueue.WaitReason]inspect.JobState{
		kueue.ReasonQuotaInUse: inspect.StateWaiting, kueue.ReasonNoTopologyDomain: inspect.StateWaiting,
		kueue.ReasonOverLimit: inspect.StateBlocked, kueue.ReasonTaint: inspect.StateBlocked,
		kueue.ReasonLocalQueueMissing: inspect.StateBlocked, kueue.ReasonDevicesUnresolved: inspect.StateBlocked,
	} {
		assert.Equal(t, stateOfWait(&kueue.Wait{Reason: reason}), want, string(reason))
	}
	assert.Equal(t, stateOfWait(&kueue.Wait{Reason: kueue.ReasonOverLimit, Partial: true}), inspect.StateWaiting)
}

// TestSentence: a name at the beginning keeps its case.
func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"tokyo admitted it": "tokyo admitted it.", "tokyo: no quota": "tokyo: no quota.", "worker-9 lacks it": "worker-9 lacks it.",
		"no quota": "No quota.", "is it gone?": "Is it gone?", "": "",
	} {
		assert.Equal(t, sentence(text, "tokyo"), want)
	}
}

// TestTemplate checks what is reported about a CronJob: who runs its Jobs, and what keeps that owner
// from it.
func TestTemplate(t *testing.T) {
	hub := &inspect.Facts{Context: "hub", Kueue: &inspect.KueueFacts{LocalQueues: []*kueue.LocalQueue{{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu"}}}}}
	q := Question{Inventory: inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub}, nil)}
	for _, tt := range []struct {
		owner       delegation.Owner
		queue, want string
	}{
		{delegation.BuiltIn, "", "Objects created from it are not delegated."},
		{delegation.MultiKueue, "gpu", "Objects created from it are delegated to kueue.x-k8s.io/multikueue."},
		{delegation.MultiKueue, "gpux", "Objects created from it are delegated to kueue.x-k8s.io/multikueue. LocalQueue ml/gpux does not exist on hub."},
		{"kueue.x-k8s.io/multikeue", "", "Objects created from it are delegated to kueue.x-k8s.io/multikeue. Unknown owner; did you mean kueue.x-k8s.io/multikueue?"},
	} {
		assert.Equal(t, q.template(&inspect.Job{Context: "hub", Namespace: "ml", ManagedBy: tt.owner, Marks: &delegation.Marks{Queue: tt.queue}}), tt.want)
	}
}
