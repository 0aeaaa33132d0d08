package read

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// batch is how many uids go into one label selector: about 4 kB of URL.
const batch = 100

// settler gives Jobs their status and passes them on. It collects those whose
// status depends on whether Kueue made a Workload for them and looks that up
// for many at once; a cluster without such Jobs is not asked about Workloads at
// all.
type settler struct {
	cluster *fleet.Cluster
	visit   func(inspect.Job)
	waiting []read
	// asked is whether Workloads were asked for, and err why they could not be read.
	// After the first error they are not asked for again.
	asked bool
	err   error
}

func newSettler(c *fleet.Cluster, visit func(inspect.Job)) *settler {
	s := &settler{cluster: c}
	s.visit = func(j inspect.Job) {
		j.Context, j.ClusterUID = c.Context, c.UID
		visit(j)
	}
	return s
}

func (s *settler) add(ctx context.Context, r read) {
	if !r.needsClaim() {
		s.visit(r.settle(false))
		return
	}
	s.waiting = append(s.waiting, r)
	if len(s.waiting) == batch {
		s.flush(ctx)
	}
}

// finish settles what still waits and says if Workloads could not be read.
func (s *settler) finish(ctx context.Context) error {
	s.flush(ctx)
	if s.err != nil {
		return &kubecontext.Error{Doing: "list workloads.kueue.x-k8s.io", Err: fmt.Errorf("%w; %w", s.err, inspect.ErrClaimsUnknown)}
	}
	return nil
}

func (s *settler) flush(ctx context.Context) {
	if len(s.waiting) == 0 {
		return
	}
	claimed := sets.New[string]()
	if s.err == nil {
		uids, jobs := make([]string, len(s.waiting)), make([]*inspect.Job, len(s.waiting))
		for i := range s.waiting {
			jobs[i] = &s.waiting[i].job
			uids[i] = jobs[i].UID
		}
		s.asked = true
		claimed, s.err = claimedUIDs(ctx, s.cluster, commonNamespace(jobs), uids)
	}
	for _, r := range s.waiting {
		// What cannot be looked up is not called unclaimed.
		s.visit(r.settle(s.err != nil || claimed.Has(r.job.UID)))
	}
	s.waiting = s.waiting[:0]
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

// madeFor selects the Workloads that were made for Jobs with these uids.
func madeFor(uids []string) (metav1.ListOptions, error) {
	isOneOf, err := labels.NewRequirement(kueue.JobUIDLabel, selection.In, uids)
	if err != nil {
		return metav1.ListOptions{}, err
	}
	return metav1.ListOptions{LabelSelector: isOneOf.String()}, nil
}

// claimedUIDs returns those of the uids that a Workload of the cluster was made
// for. A cluster without Kueue has no Workloads, and so claims nothing.
func claimedUIDs(ctx context.Context, c *fleet.Cluster, namespace string, uids []string) (sets.Set[string], error) {
	client, err := c.Metadata()
	if err != nil {
		return nil, err
	}
	madeForThem, err := madeFor(uids)
	if err != nil {
		return nil, err
	}
	claimed := sets.New[string]()
	for _, version := range kueue.Versions() {
		workloads := schema.GroupVersionResource{Group: kueue.Group, Version: version, Resource: "workloads"}
		if c.IsWatched() {
			err = fleet.Recall(ctx, c, claimsOf(client, workloads, namespace), func(uid string) { claimed.Insert(uid) })
			if apierrors.IsNotFound(err) {
				continue
			}
			return claimed, err
		}
		list, err := client.Resource(workloads).Namespace(namespace).List(ctx, madeForThem)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			claimed.Insert(list.Items[i].Labels[kueue.JobUIDLabel])
		}
		break
	}
	return claimed, nil
}
