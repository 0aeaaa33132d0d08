package read

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// listedWorkload is a Workload, with what it holds or waits for: both are decoded at once.
type listedWorkload struct {
	kueue.Workload
	claim kueue.ClaimStatus
	// podSets are as they were encoded where Kueue has not said what they ask for.
	podSets json.RawMessage
}

// UnmarshalJSON decodes what is kept.
func (w *listedWorkload) UnmarshalJSON(text []byte) error {
	var o struct {
		Metadata metav1.ObjectMeta  `json:"metadata"`
		Spec     kueue.WorkloadSpec `json:"spec"`
		Status   struct {
			kueue.WorkloadStatus
			kueue.ClaimStatus
		} `json:"status"`
	}
	if err := apijson.Unmarshal(text, &o); err != nil {
		return err
	}
	w.Workload = kueue.Workload{ObjectMeta: o.Metadata, Spec: o.Spec, Status: o.Status.WorkloadStatus}
	if w.claim = o.Status.ClaimStatus; w.claim.ResourceRequests != nil {
		return nil
	}
	var encoded struct {
		Spec struct {
			PodSets json.RawMessage `json:"podSets"`
		} `json:"spec"`
	}
	err := apijson.Unmarshal(text, &encoded)
	w.podSets = encoded.Spec.PodSets
	return err
}

// claimed is what a Claim is made of.
func (w *listedWorkload) claimed() *kueue.ClaimedWorkload {
	c := &kueue.ClaimedWorkload{}
	m := &c.Metadata
	m.Namespace, m.Name, m.UID, m.CreationTimestamp = w.Namespace, w.Name, string(w.UID), w.CreationTimestamp
	m.DeletionTimestamp, m.Labels, m.OwnerReferences = w.DeletionTimestamp, w.Labels, w.OwnerReferences
	c.Spec.QueueName, c.Spec.Active, c.Spec.Priority, c.Spec.PodSets = w.Spec.QueueName, w.Spec.Active, w.Spec.Priority, w.podSets
	c.Status.Admission, c.Status.Conditions, c.Status.ClaimStatus = w.Status.Admission, w.Status.Conditions, w.claim
	return c
}
