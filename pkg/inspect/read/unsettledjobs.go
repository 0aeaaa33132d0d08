package read

import (
	"context"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

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
	settler := newSettler(c, func(inspect.Job) {})
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
