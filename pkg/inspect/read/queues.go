package read

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// Scope is whose queues are read.
type Scope int

const (
	// ClusterScope is all ClusterQueues.
	ClusterScope Scope = iota
	// NamespaceScope is the LocalQueues of each context's namespace, and AllNamespaces
	// those of all.
	NamespaceScope
	AllNamespaces
)

// Queues reads from every cluster what queues there are, what they have, and what is
// in use of it. Who may look into one namespace only gets to know its LocalQueues, and of
// the ClusterQueues behind them what may be read one by one.
func Queues(ctx context.Context, f *fleet.Fleet, scope Scope, addresses []kubecontext.Address, now func() time.Time) *inspect.Inventory {
	var clusters []*inspect.Facts
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*inspect.Facts, error) {
		facts := factsOf(c)
		if scope == NamespaceScope {
			facts.Namespace = c.Namespace
		}
		if r := openKueue(ctx, c, facts); r.hasKueue() {
			r.readConfig(ctx)
			r.readQuotas(ctx, newCapacity())
			r.wg.Wait()
			if scope == NamespaceScope {
				r.readLocals(ctx, c.Namespace)
				r.wg.Wait()
			}
		}
		facts.Skew = c.Skew()
		return facts, context.Cause(ctx)
	}) {
		facts := a.Value
		if facts == nil || a.Err != nil {
			facts = &inspect.Facts{Context: a.Context, Err: a.Err}
		}
		clusters = append(clusters, facts)
	}
	return inspect.NewInventory(now(), clusters, addresses)
}

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
			queue, err := getObject[kueue.ClusterQueue](ctx, r.cluster, r.resource("clusterqueues"), "", name)
			if err == nil && queue != nil {
				r.store(func() { k.ClusterQueues = append(k.ClusterQueues, queue) })
			}
		})
	}
}
