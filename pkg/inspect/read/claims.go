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

// claimable is a Job in the state that it has without a Workload, with its status if it has one.
type claimable struct {
	job    *inspect.Job
	status delegation.Status
	since  *metav1.Time
}

// read is an object whose status may still depend on another object.
type read struct {
	job   inspect.Job
	kind  *delegation.Kind
	state delegation.State
	// err is why the object cannot be decoded.
	err error
}

// claimable returns both states of a Job whose status depends on a Workload.
func (r *read) claimable() claimable {
	otherwise, job := r.settle(true), r.settle(false)
	return claimable{job: &job, status: otherwise.Status, since: otherwise.Since}
}

// claim records that the Job has a Workload.
func (c *claimable) claim() { c.job.Status, c.job.Since = c.status, c.since }

// claimSettler sets the status of Jobs and passes them on. It collects Jobs whose status depends on
// whether they have a Workload, and looks many up at once. It requests no Workloads from a cluster
// without such Jobs.
type claimSettler struct {
	cluster *fleet.Cluster
	visit   func(inspect.Job)
	// later, if set, receives these Jobs instead, for callers that read all Workloads anyway.
	later   func(claimable)
	waiting []claimable
	// limit is how many Jobs are collected before a request, and count how many requests there
	// were. known are the UIDs of the Jobs with Workloads in the last full list.
	limit, count int
	known        sets.Set[string]
	// err is why Workloads could not be read. After the first error there are no more requests.
	err error
}

func newClaimSettler(c *fleet.Cluster, visit func(inspect.Job)) *claimSettler {
	s := &claimSettler{cluster: c, limit: batch}
	s.visit = func(j inspect.Job) {
		j.Context, j.ClusterUID = c.Context, c.UID()
		visit(j)
	}
	return s
}

func (s *claimSettler) add(ctx context.Context, r *read) {
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

// wait collects a Job until it is known whether it has a Workload.
func (s *claimSettler) wait(ctx context.Context, c claimable) {
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

// finish settles the remaining Jobs, and returns an error if Workloads could not be read.
func (s *claimSettler) finish(ctx context.Context) error {
	s.flush(ctx)
	return claimsUnknown(s.err)
}

// claimsUnknown returns the error for Jobs whose claim is unknown because Workloads could not be
// read; nil if err is nil.
func claimsUnknown(err error) error {
	if err == nil {
		return nil
	}
	return &kubecontext.Error{Doing: "list workloads.kueue.x-k8s.io", Err: fmt.Errorf("%w; %w", err, inspect.ErrClaimsUnknown)}
}

func (s *claimSettler) flush(ctx context.Context) {
	if len(s.waiting) == 0 {
		return
	}
	claimed := sets.New[string]()
	if s.err == nil {
		claimed = s.ask(ctx)
	}
	for _, c := range s.waiting {
		// A Job whose Workload cannot be looked up does not count as unclaimed.
		if s.err != nil || claimed.Has(c.job.UID) {
			c.claim()
		}
		s.visit(*c.job)
	}
	s.waiting = s.waiting[:0]
}

// ask returns which of the waiting Jobs have a Workload. After a few requests by UID it lists all
// Workloads instead. Later Jobs that are not in a list may be newer, so it asks again, each time
// for twice as many.
func (s *claimSettler) ask(ctx context.Context) (claimed sets.Set[string]) {
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

// settle returns the object with its status. claimed is whether a Workload exists for it.
func (r *read) settle(claimed bool) inspect.Job {
	// An object that a silent controller runs on another cluster has no status to copy.
	claimed = claimed || r.kind.Indicators.ChildKind != "" && r.job.Marks != nil && !r.job.Marks.Mirror.IsZero()
	job := r.job
	job.Status = r.kind.StatusOf(job.ManagedBy, r.state, claimed)
	job.Since = r.since(&job)
	return job
}

// since returns when the object entered the status in j, as far as the object shows it.
func (r *read) since(j *inspect.Job) *metav1.Time {
	switch j.Status {
	case delegation.Complete, delegation.Failed:
		return j.FinishedTime
	case delegation.Unclaimed:
		return j.CreationTimestamp.DeepCopy()
	case delegation.Running:
		if j.StartTime != nil {
			return j.StartTime
		}
	case delegation.Suspended:
		if since := r.kind.SuspendedSince(r.state); !since.IsZero() {
			return &metav1.Time{Time: since}
		}
	default:
	}
	return j.StatusWrittenAt
}

// needsClaim reports whether the status depends on settle's argument.
func (r *read) needsClaim() bool {
	return delegation.NeedsClaim(r.job.ManagedBy, r.state) && !r.kind.Template
}

// unsettledJobs are a cluster's Jobs whose status depends on Workloads that are read later. Until
// then they count as unclaimed.
type unsettledJobs struct{ waiting []claimable }

func (u *unsettledJobs) add(c claimable) { u.waiting = append(u.waiting, c) }

// settle sets the Jobs' statuses from the Workloads in the facts. If these were read before the
// Jobs (isNewer is false), or could not be read, it requests the Workloads of Jobs that have none.
func (u *unsettledJobs) settle(ctx context.Context, c *fleet.Cluster, f *inspect.Facts, isNewer bool) {
	claimed := sets.New[string]()
	if f.Kueue != nil {
		for _, w := range f.Kueue.Workloads {
			claimed.Insert(w.Labels[delegation.JobUIDLabel])
		}
	}
	// Without Kueue the facts are complete, too.
	isComplete := isNewer && f.Gaps[inspect.PartWorkloads] == nil && f.Gaps[inspect.PartKueue] == nil
	settler := newClaimSettler(c, func(inspect.Job) {})
	for _, j := range u.waiting {
		switch {
		case claimed.Has(j.job.UID):
			j.claim()
		case !isComplete:
			settler.wait(ctx, j)
		}
	}
	f.AddGap(inspect.PartWorkloads, settler.finish(ctx))
}
