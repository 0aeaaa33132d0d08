package read

import (
	"context"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Dispatchers sets the Dispatcher of dispatched Jobs. It reads only clusters with such Jobs. If
// Leases may not be read, the Dispatcher stays nil.
func Dispatchers(ctx context.Context, f *fleet.Fleet, jobs []*inspect.Job, now func() time.Time) {
	wanted := map[string][]*inspect.Job{}
	for _, j := range inspect.DispatchedJobs(jobs) {
		wanted[j.Context] = append(wanted[j.Context], j)
	}
	if len(wanted) == 0 {
		return
	}
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*inspect.Facts, error) {
		jobs := wanted[c.Context]
		if len(jobs) == 0 {
			return nil, nil
		}
		facts := factsOf(c)
		var err error
		facts.Leases, err = listLeases(ctx, c, commonNamespace(jobs), delegation.OriginUIDLabel)
		facts.AddGap(inspect.PartLeases, err)
		facts.Skew = c.Skew()
		return facts, nil
	})
	for _, a := range answers {
		if a.Value != nil && a.Err == nil {
			a.Value.Jobs = wanted[a.Context]
			a.Value.SetDispatchers(now())
		}
	}
}
