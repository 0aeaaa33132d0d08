package read

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Scope says which queues to read.
type Scope int

const (
	// NoScope reads no queues.
	NoScope Scope = iota
	// ClusterScope reads all ClusterQueues.
	ClusterScope
	// NamespaceScope reads the LocalQueues of each context's namespace, and AllNamespaces those of
	// all. A user with rights in one namespace gets its LocalQueues, and those of their
	// ClusterQueues that may be read by name.
	NamespaceScope
	AllNamespaces
)

// readLocals reads, for one namespace or by name, the objects that may not be listed for all
// namespaces. Unreadable ClusterQueues already have a gap.
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

// readClaimsWithin reads the Workloads of a namespace. That all may not be listed is already a gap.
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
