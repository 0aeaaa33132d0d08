package read

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// readWorkloadsByUID reads the Workloads with these UIDs in all namespaces. It lists all, because
// servers cannot select by UID.
func (r *factReader) readWorkloadsByUID(ctx context.Context, uids sets.Set[string]) {
	r.read(inspect.PartWorkloads, func() error {
		known := sets.New[string]()
		for _, w := range r.facts.Kueue.Workloads {
			known.Insert(string(w.UID))
		}
		if known.IsSuperset(uids) {
			return nil
		}
		if c := r.facts.Kueue.Capacity; c != nil && c.Gaps[inspect.PartClaims] == nil {
			r.pickWorkloads(ctx, c, uids.Difference(known))
			return nil
		}
		// If others may not be read, that is no gap of the object itself.
		_ = listObjects(ctx, r.cluster, r.resource("workloads"), "", metav1.ListOptions{}, func(w *kueue.Workload) {
			if uid := string(w.UID); uids.Has(uid) && !known.Has(uid) {
				r.store(func() { r.facts.Kueue.Workloads = append(r.facts.Kueue.Workloads, w) })
			}
		})
		return nil
	})
}

// pickWorkloads finds the Workloads with these UIDs after all were listed, and requests those of
// which only the name was kept.
func (r *factReader) pickWorkloads(ctx context.Context, c *inspect.Capacity, uids sets.Set[string]) {
	keep := func(w *kueue.Workload) {
		r.store(func() { r.facts.Kueue.Workloads = append(r.facts.Kueue.Workloads, w) })
	}
	for _, w := range c.Workloads {
		if uids.Has(string(w.UID)) {
			keep(w)
		}
	}
	for _, uid := range sets.List(uids) {
		place, ok := c.Places[uid]
		if !ok {
			continue
		}
		// As above, a denial is no gap of the object itself.
		if w, err := Get[kueue.Workload](ctx, r.cluster, r.resource("workloads"), place.Namespace, place.Name); err == nil && w != nil && string(w.UID) == uid {
			keep(w)
		}
	}
}
