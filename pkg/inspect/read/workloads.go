package read

import (
	"context"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// batch is how many UIDs go into one label selector, about 4 kB of URL. For each such request, a
// server checks the labels of all its Workloads. After this many batches, listing all is less work.
const (
	batch   = 100
	batches = 5
)

// workloadSummary has the needed fields of a Workload for a list of Jobs.
type workloadSummary struct {
	// jobUID is the UID of the Workload's Job.
	jobUID string
	// cluster is the MultiKueueCluster chosen for the Job, "" for none.
	cluster string
}

// UnmarshalJSON decodes the needed fields.
func (m *workloadSummary) UnmarshalJSON(text []byte) error {
	var o struct {
		Metadata struct {
			Labels          map[string]string       `json:"labels"`
			OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
		} `json:"metadata"`
		Status kueue.WorkloadStatus `json:"status"`
	}
	if err := apijson.Unmarshal(text, &o); err != nil {
		return err
	}
	w := kueue.Workload{Status: o.Status}
	w.OwnerReferences = o.Metadata.OwnerReferences
	m.jobUID = o.Metadata.Labels[delegation.JobUIDLabel]
	// MultiKueue removes the objects on workers once a Workload has finished.
	if !w.IsVariant() && !meta.IsStatusConditionTrue(w.Status.Conditions, kueue.Finished) {
		m.cluster = w.ChosenCluster()
	}
	return nil
}

// eachWorkload calls visit for the Workloads of Jobs with these UIDs or, without UIDs, for all
// Workloads. Without a label selector the server reports the length of a list, so that it can be
// requested in one piece. A cluster without Kueue has none.
func eachWorkload(ctx context.Context, c *fleet.Cluster, namespace string, uids []string, visit func(*workloadSummary)) (err error) {
	var options metav1.ListOptions
	if len(uids) > 0 {
		made, err := labels.NewRequirement(delegation.JobUIDLabel, selection.In, uids)
		if err != nil {
			return err
		}
		options.LabelSelector = made.String()
	}
	for _, workloads := range delegation.KueueResources("workloads") {
		err = fleet.EachObject(ctx, c, workloads, namespace, options, visit)
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// claimedUIDs returns which of the UIDs have a Workload or, without UIDs, all UIDs with one.
func claimedUIDs(ctx context.Context, c *fleet.Cluster, namespace string, uids []string) (sets.Set[string], error) {
	claimed := sets.New[string]()
	err := eachWorkload(ctx, c, namespace, uids, func(w *workloadSummary) { claimed.Insert(w.jobUID) })
	return claimed, err
}

// chosenClusters returns the MultiKueueClusters chosen for Jobs, by the Jobs' UIDs.
func chosenClusters(ctx context.Context, c *fleet.Cluster, jobs []*inspect.Job) (map[string]string, error) {
	names := map[string]string{}
	keep := func(w *workloadSummary) {
		if w.cluster != "" {
			names[w.jobUID] = w.cluster
		}
	}
	namespace, uids := commonNamespace(jobs), uidsOf(jobs)
	if len(uids) > batch*batches || c.IsWatched() {
		return names, eachWorkload(ctx, c, namespace, nil, keep)
	}
	for len(uids) > 0 {
		some := uids[:min(batch, len(uids))]
		if err := eachWorkload(ctx, c, namespace, some, keep); err != nil {
			return nil, err
		}
		uids = uids[len(some):]
	}
	return names, nil
}

func uidsOf(jobs []*inspect.Job) []string {
	uids := make([]string, len(jobs))
	for i, j := range jobs {
		uids[i] = j.UID
	}
	return uids
}

// commonNamespace returns the namespace of all Jobs, "" if they differ. It allows requests by a
// user who may read Workloads in one namespace only.
func commonNamespace(jobs []*inspect.Job) string {
	for _, j := range jobs {
		if j.Namespace != jobs[0].Namespace {
			return metav1.NamespaceAll
		}
	}
	return jobs[0].Namespace
}

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
	c.Spec.MaxSeconds, c.Status.PastSeconds, c.Status.Nominated = w.Spec.MaxSeconds, w.Status.PastSeconds, w.Status.Nominated
	c.Status.Admission, c.Status.Conditions, c.Status.ClaimStatus = w.Status.Admission, w.Status.Conditions, w.claim
	c.Status.AdmissionChecks, c.Status.Requeue, c.Status.Reclaimable = w.Status.AdmissionChecks, w.Status.Requeue, w.Status.Reclaimable
	return c
}

// readWorkloadsByUID reads the Workloads with these UIDs in all namespaces. It lists all, because
// servers cannot select by UID.
func (r *factReader) readWorkloadsByUID(ctx context.Context, uids sets.Set[string]) {
	r.read(inspect.PartWorkloads, func() error {
		known := sets.New[string]()
		for _, w := range r.facts.Kueue.Workloads {
			known.Insert(string(w.UID))
		}
		if known.IsSuperset(uids) {
			return nil
		}
		if c := r.facts.Kueue.Capacity; c != nil && c.Gaps[inspect.PartClaims] == nil {
			r.pickWorkloads(ctx, c, uids.Difference(known))
			return nil
		}
		// If others may not be read, that is not a gap of the object itself.
		_ = listObjects(ctx, r.cluster, r.resource("workloads"), "", metav1.ListOptions{}, func(w *kueue.Workload) {
			if uid := string(w.UID); uids.Has(uid) && !known.Has(uid) {
				r.store(func() { r.facts.Kueue.Workloads = append(r.facts.Kueue.Workloads, w) })
			}
		})
		return nil
	})
}

// pickWorkloads finds the Workloads with these UIDs after all were listed, and requests those of
// which only the name was kept.
func (r *factReader) pickWorkloads(ctx context.Context, c *inspect.Capacity, uids sets.Set[string]) {
	keep := func(w *kueue.Workload) {
		r.store(func() { r.facts.Kueue.Workloads = append(r.facts.Kueue.Workloads, w) })
	}
	for _, w := range c.Workloads {
		if uids.Has(string(w.UID)) {
			keep(w)
		}
	}
	for _, uid := range sets.List(uids) {
		place, ok := c.Places[uid]
		if !ok {
			continue
		}
		// As above, a denial is not a gap of the object itself.
		if w, err := Get[kueue.Workload](ctx, r.cluster, r.resource("workloads"), place.Namespace, place.Name); err == nil && w != nil && string(w.UID) == uid {
			keep(w)
		}
	}
}
