package read

import (
	"context"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// unsettledJobs are the Jobs of a cluster whose status depends on Workloads that are read
// behind them. Until then they are as if nobody had claimed them.
type unsettledJobs struct{ waiting []claimable }

func (u *unsettledJobs) add(c claimable) { u.waiting = append(u.waiting, c) }

// settle gives the Jobs their status by the Workloads of the facts. Where these were read
// before the Jobs, or could not be, it asks for those that no Workload claims.
func (u *unsettledJobs) settle(ctx context.Context, c *fleet.Cluster, f *inspect.Facts, isNewer bool) {
	claimed := sets.New[string]()
	if f.Kueue != nil {
		for _, w := range f.Kueue.Workloads {
			claimed.Insert(w.Labels[delegation.JobUIDLabel])
		}
	}
	// Neither was anything left out where there is no Kueue.
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
