package read

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Scope is whose queues are read.
type Scope int

const (
	// NoScope is none's.
	NoScope Scope = iota
	// ClusterScope is all ClusterQueues.
	ClusterScope
	// NamespaceScope is the LocalQueues of each context's namespace, and AllNamespaces
	// those of all. Who may look into one namespace only gets to know its LocalQueues, and
	// of the ClusterQueues behind them what may be read one by one.
	NamespaceScope
	AllNamespaces
)

// readLocals reads what may not be listed for all namespaces of one, and by name. What may
// not be read of ClusterQueues is a gap of theirs already.
func (r *factReader) readLocals(ctx context.Context, namespace string) {
	k := r.facts.Kueue
	if k.Capacity.Gaps[inspect.PartQueues] != nil {
		err := listObjects(ctx, r.cluster, r.resource("localqueues"), namespace, metav1.ListOptions{}, func(q *kueue.LocalQueue) {
			k.LocalQueues = append(k.LocalQueues, q)
		})
		r.gap(inspect.PartQueues, err)
	}
	if k.Capacity.Gaps[inspect.PartClaims] != nil {
		r.wg.Go(func() { r.readClaimsWithin(ctx, namespace) })
	}
	if k.Capacity.Gaps[inspect.PartClusterQueues] == nil {
		return
	}
	asked := sets.New[string]()
	for _, q := range slices.Concat(k.Capacity.LocalQueues, k.LocalQueues) {
		name := q.Spec.ClusterQueue
		if q.Namespace != namespace || name == "" || asked.Has(name) {
			continue
		}
		asked.Insert(name)
		r.wg.Go(func() {
			queue, err := Get[kueue.ClusterQueue](ctx, r.cluster, r.resource("clusterqueues"), "", name)
			if err == nil && queue != nil {
				r.store(func() { k.ClusterQueues = append(k.ClusterQueues, queue) })
			}
		})
	}
}

// readClaimsWithin reads the Workloads of a namespace. That those of all may not be listed
// is a gap already.
func (r *factReader) readClaimsWithin(ctx context.Context, namespace string) {
	var claims []*kueue.Claim
	err := listObjects(ctx, r.cluster, r.resource("workloads"), namespace, metav1.ListOptions{}, func(w *kueue.ClaimedWorkload) {
		if claim := w.Claim(); claim != nil {
			claims = append(claims, claim)
		}
	})
	if err == nil {
		r.store(func() { r.facts.Kueue.Capacity.ClaimsWithin, r.facts.Kueue.Capacity.Within = claims, namespace })
	}
}
