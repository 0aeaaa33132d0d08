package read

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// claimable is a Job as it is if no Workload was made for it, and what it is otherwise.
type claimable struct {
	job    *inspect.Job
	status delegation.Status
	since  *metav1.Time
}

// claimable is for what needs a claim.
func (r *read) claimable() claimable {
	otherwise, job := r.settle(true), r.settle(false)
	return claimable{job: &job, status: otherwise.Status, since: otherwise.Since}
}

// claim notes that there is a Workload.
func (c *claimable) claim() { c.job.Status, c.job.Since = c.status, c.since }

// settler gives Jobs their status and passes them on. It collects those whose
// status depends on whether Kueue made a Workload for them and looks that up
// for many at once; a cluster without such Jobs is not asked about Workloads at
// all.
type settler struct {
	cluster *fleet.Cluster
	visit   func(inspect.Job)
	// later, if it is set, takes such Jobs in place of that: the Workloads are read anyway.
	later   func(claimable)
	waiting []claimable
	// limit is how many are waited for before Workloads are asked for, and count how often
	// they were. known are the uids that Workloads had been made for when all were listed.
	limit, count int
	known        sets.Set[string]
	// err is why Workloads could not be read. After the first error they are not asked for
	// again.
	err error
}

func newSettler(c *fleet.Cluster, visit func(inspect.Job)) *settler {
	s := &settler{cluster: c, limit: batch}
	s.visit = func(j inspect.Job) {
		j.Context, j.ClusterUID = c.Context, c.UID()
		visit(j)
	}
	return s
}

func (s *settler) add(ctx context.Context, r *read) {
	switch {
	case !r.needsClaim():
		s.visit(r.settle(false))
	case s.later != nil:
		c := r.claimable()
		c.job.Context, c.job.ClusterUID = s.cluster.Context, s.cluster.UID()
		s.later(c)
	default:
		s.wait(ctx, r.claimable())
	}
}

// wait settles a Job once it is known whether it was claimed.
func (s *settler) wait(ctx context.Context, c claimable) {
	if s.known.Has(c.job.UID) {
		c.claim()
		s.visit(*c.job)
		return
	}
	s.waiting = append(s.waiting, c)
	if len(s.waiting) >= s.limit {
		s.flush(ctx)
	}
}

// finish settles what still waits and says if Workloads could not be read.
func (s *settler) finish(ctx context.Context) error {
	s.flush(ctx)
	return claimsUnknown(s.err)
}

// claimsUnknown is that it is not known whether Jobs were claimed, since Workloads could not be
// read; nil if they could.
func claimsUnknown(err error) error {
	if err == nil {
		return nil
	}
	return &kubecontext.Error{Doing: "list workloads.kueue.x-k8s.io", Err: fmt.Errorf("%w; %w", err, inspect.ErrClaimsUnknown)}
}

func (s *settler) flush(ctx context.Context) {
	if len(s.waiting) == 0 {
		return
	}
	claimed := sets.New[string]()
	if s.err == nil {
		claimed = s.ask(ctx)
	}
	for _, c := range s.waiting {
		// What cannot be looked up is not called unclaimed.
		if s.err != nil || claimed.Has(c.job.UID) {
			c.claim()
		}
		s.visit(*c.job)
	}
	s.waiting = s.waiting[:0]
}

// ask asks which of those that wait were claimed. In place of many requests about a few
// each it lists all Workloads; those Jobs that come then and were in no list may be newer,
// and are asked about again, twice as many each time.
func (s *settler) ask(ctx context.Context) (claimed sets.Set[string]) {
	jobs := make([]*inspect.Job, len(s.waiting))
	for i := range s.waiting {
		jobs[i] = s.waiting[i].job
	}
	s.count++
	if s.count >= batches {
		s.limit *= 2
	}
	if len(jobs) <= batch && !s.cluster.IsWatched() {
		claimed, s.err = claimedUIDs(ctx, s.cluster, commonNamespace(jobs), uidsOf(jobs))
		return claimed
	}
	s.known, s.err = claimedUIDs(ctx, s.cluster, commonNamespace(jobs), nil)
	return s.known
}
