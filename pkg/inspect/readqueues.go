package inspect

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
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

// ReadQueues reads from every cluster what queues there are, what they have, and what is
// in use of it. Who may look into one namespace only gets to know its LocalQueues, and of
// the ClusterQueues behind them what may be read one by one.
func ReadQueues(ctx context.Context, f *fleet.Fleet, scope Scope, addresses []fleet.Address, now func() time.Time) *Inventory {
	var clusters []*Facts
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*Facts, error) {
		facts := newFacts(c)
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
			facts = &Facts{Context: a.Context, Err: a.Err}
		}
		clusters = append(clusters, facts)
	}
	return NewInventory(now(), clusters, addresses)
}

// readLocals reads what may not be listed for all namespaces of one, and by name.
func (r *factReader) readLocals(ctx context.Context, namespace string) {
	room := r.facts.Kueue.Capacity
	if room.Gaps[PartQueues] == nil && room.Gaps[PartClusterQueues] == nil {
		return
	}
	var names []string
	err := listObjects(ctx, r.cluster, r.resource("localqueues"), namespace, metav1.ListOptions{}, func(q *kueue.LocalQueue) { names = append(names, q.Name) })
	if err != nil {
		r.gap(PartQueues, err)
		return
	}
	for _, name := range names {
		r.readQueue(ctx, namespace, name)
	}
}
