package placement

import (
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// On judges a request on one cluster, without others around it.
func On(f *inspect.Facts, r *Request, own *kueue.Workload, now time.Time) *inspect.Placement {
	return newSite(f, r, &Surroundings{inventory: &inspect.Inventory{Now: now}}, role{}, own).judge()
}
