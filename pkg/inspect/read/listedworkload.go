package read

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// listedWorkload is a Workload and its claim, decoded in one pass.
type listedWorkload struct {
	kueue.Workload
	claim kueue.ClaimStatus
	// podSets are still encoded.
	podSets json.RawMessage
}

// UnmarshalJSONFrom decodes only the needed fields.
func (w *listedWorkload) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			kueue.WorkloadSpec
			// PodSets replaces the embedded field.
			PodSets json.RawMessage `json:"podSets"`
		} `json:"spec"`
		Status struct {
			kueue.WorkloadStatus
			kueue.ClaimStatus
		} `json:"status"`
	}
	if err := apijson.Decode(in, &o); err != nil {
		return err
	}
	w.Workload = kueue.Workload{ObjectMeta: o.Metadata, Spec: o.Spec.WorkloadSpec, Status: o.Status.WorkloadStatus}
	w.claim, w.podSets = o.Status.ClaimStatus, o.Spec.PodSets
	if len(w.podSets) == 0 {
		return nil
	}
	return apijson.Unmarshal(w.podSets, &w.Spec.PodSets)
}

// claimed returns the fields from which a Claim is built.
func (w *listedWorkload) claimed() *kueue.ClaimedWorkload {
	c := &kueue.ClaimedWorkload{}
	m := &c.Metadata
	m.Namespace, m.Name, m.UID, m.CreationTimestamp = w.Namespace, w.Name, string(w.UID), w.CreationTimestamp
	m.DeletionTimestamp, m.Labels, m.Annotations, m.OwnerReferences = w.DeletionTimestamp, w.Labels, w.Annotations, w.OwnerReferences
	c.Spec.QueueName, c.Spec.Active, c.Spec.Priority, c.Spec.PodSets = w.Spec.QueueName, w.Spec.Active, w.Spec.Priority, w.podSets
	c.Spec.MaxSeconds, c.Status.PastSeconds = w.Spec.MaxSeconds, w.Status.PastSeconds
	c.Status.Admission, c.Status.Conditions, c.Status.ClaimStatus = w.Status.Admission, w.Status.Conditions, w.claim
	return c
}
