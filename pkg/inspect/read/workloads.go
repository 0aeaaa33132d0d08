package read

import (
	"context"

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

// batch is how many uids go into one label selector: about 4 kB of URL. For each such
// request a server looks at the labels of all its Workloads; after so many batches, to
// list what they were made for is less work.
const (
	batch   = 100
	batches = 5
)

// madeWorkload is a Workload as far as a listing of Jobs needs it.
type madeWorkload struct {
	// jobUID is that of the Job that it was made for.
	jobUID string
	// cluster is the MultiKueueCluster that the Job was given to, "" for none, or none any
	// more.
	cluster string
}

// UnmarshalJSON decodes what is kept.
func (m *madeWorkload) UnmarshalJSON(text []byte) error {
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
	// Once a Workload has finished, MultiKueue removes what it has made elsewhere.
	if !w.IsVariant() && !meta.IsStatusConditionTrue(w.Status.Conditions, kueue.Finished) {
		m.cluster = w.ChosenCluster()
	}
	return nil
}

// eachWorkload calls visit for the Workloads that were made for Jobs with these uids, or,
// where there are none, for all there are: of what is not selected by labels a server tells
// how long the list is, so that it can be asked for as a whole. A cluster without Kueue has
// none.
func eachWorkload(ctx context.Context, c *fleet.Cluster, namespace string, uids []string, visit func(*madeWorkload)) (err error) {
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

// claimedUIDs are those of the uids that a Workload was made for, or, where there are none,
// all that there are of such.
func claimedUIDs(ctx context.Context, c *fleet.Cluster, namespace string, uids []string) (sets.Set[string], error) {
	claimed := sets.New[string]()
	err := eachWorkload(ctx, c, namespace, uids, func(w *madeWorkload) { claimed.Insert(w.jobUID) })
	return claimed, err
}

// chosenClusters are the MultiKueueClusters that Jobs were given to, by the Jobs'
// uids.
func chosenClusters(ctx context.Context, c *fleet.Cluster, jobs []*inspect.Job) (map[string]string, error) {
	names := map[string]string{}
	keep := func(w *madeWorkload) {
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

// commonNamespace is the namespace that all have in common, "" if they differ.
// A user who may read Workloads in one namespace only can then still ask.
func commonNamespace(jobs []*inspect.Job) string {
	for _, j := range jobs {
		if j.Namespace != jobs[0].Namespace {
			return metav1.NamespaceAll
		}
	}
	return jobs[0].Namespace
}
