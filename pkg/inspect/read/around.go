package read

import (
	"context"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Around reads, beside what ReadOne has read, all that ReadAll reads of the same
// kind and namespaces. Whether a controller is at work shows in other objects, and so
// does who holds the room that one waits for: with them, it is judged by the same
// evidence as all are. What may not be listed stays as ReadOne has found it.
func Around(ctx context.Context, f *fleet.Fleet, w Wanted, one *inspect.Inventory, addresses []kubecontext.Address, now func() time.Time) *inspect.Inventory {
	query := Query{AllNamespaces: w.Namespace == ""}
	if w.Kind != "" {
		query.Kinds = []string{w.Kind}
	}
	clusters := readAllFacts(ctx, f, query, one)
	for i, wide := range clusters {
		switch narrow := one.Facts(wide.Context); {
		case narrow == nil:
		case narrow.Err != nil || wide.Err != nil:
			clusters[i] = narrow
		default:
			clusters[i] = wide.With(narrow)
		}
	}
	return inspect.NewInventory(now(), clusters, addresses)
}
