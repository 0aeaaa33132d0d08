package read

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// errBounded is why the Workloads in a snapshot of some namespaces cannot be added up.
var errBounded = errors.New("the snapshot covers only some namespaces; record it with -A")

// newCapacity returns a Capacity without facts, for Jobs in these namespaces.
func newCapacity(namespaces ...string) *inspect.Capacity {
	return &inspect.Capacity{
		Requested: sets.New(namespaces...), Places: map[string]types.NamespacedName{}, Gaps: map[inspect.Part]error{},
		Templates: map[types.UID]*kueue.PodTemplates{}, Namespaces: map[string]*inspect.Namespace{},
	}
}

// readCapacity reads what free quota depends on: the queues and Workloads within a namespace, or in
// all, and the LimitRanges of the given namespaces, which have waiting Jobs.
func (r *factReader) readCapacity(ctx context.Context, within string, namespaces []string) {
	c := newCapacity(namespaces...)
	c.Topologies = []*kueue.Topology{}
	if r.isWhole {
		r.passClasses(ctx)
	}
	r.readQuotas(ctx, c, within)
	readPart(ctx, r, c, inspect.PartFlavors, r.resource("resourceflavors"), "", func(o *kueue.ResourceFlavor) { c.Flavors = append(c.Flavors, o) })
	readPart(ctx, r, c, inspect.PartTopologies, r.resource("topologies"), "", func(o *kueue.Topology) { c.Topologies = append(c.Topologies, o) })
	for _, namespace := range namespaces {
		if !r.isWhole {
			r.readNamespace(ctx, c, namespace)
		}
		readPart(ctx, r, c, inspect.PartLimitRanges, corev1.SchemeGroupVersion.WithResource("limitranges"), namespace, func(o *corev1.LimitRange) {
			c.LimitRanges = append(c.LimitRanges, o)
		})
	}
}

// readQuotas reads the queues, their quotas, and their usage, within a namespace or in all.
func (r *factReader) readQuotas(ctx context.Context, c *inspect.Capacity, within string) {
	r.store(func() { r.facts.Kueue.Capacity = c })
	readPart(ctx, r, c, inspect.PartClusterQueues, r.resource("clusterqueues"), "", func(o *kueue.ClusterQueue) {
		o.ManagedFields = nil
		c.ClusterQueues = append(c.ClusterQueues, o)
	})
	readPart(ctx, r, c, inspect.PartCohorts, r.resource("cohorts"), "", func(o *kueue.Cohort) { c.Cohorts = append(c.Cohorts, o) })
	readPart(ctx, r, c, inspect.PartQueues, r.resource("localqueues"), within, func(o *kueue.LocalQueue) {
		o.ManagedFields = nil
		c.LocalQueues = append(c.LocalQueues, o)
	})
	r.readClaims(ctx, c, within)
	if r.cluster.Bounded {
		r.store(func() { c.AddGap(inspect.PartClaims, errBounded) })
	}
}

// readClaims reads the Workloads within a namespace, or in all, in one pass: the claims of all, and
// the whole Workloads of the requested namespaces.
func (r *factReader) readClaims(ctx context.Context, c *inspect.Capacity, within string) {
	share := newSharer()
	keep := func(o *kueue.ClaimedWorkload) {
		if place := &o.Metadata; !c.Requested.Has(place.Namespace) {
			c.Places[place.UID] = types.NamespacedName{Namespace: share.one(place.Namespace), Name: place.Name}
		}
		if claim := o.Claim(); claim != nil {
			share.claim(claim)
			c.Claims = append(c.Claims, claim)
		}
	}
	if r.cluster.IsWatched() {
		// A watch caches each object in the form requested, so the two forms are separate lists.
		readPart(ctx, r, c, inspect.PartClaims, r.resource("workloads"), within, keep)
		for _, namespace := range sets.List(c.Requested) {
			readPart(ctx, r, c, inspect.PartClaims, r.resource("workloads"), namespace, func(w *kueue.Workload) { c.Workloads = append(c.Workloads, w) })
		}
		return
	}
	readPart(ctx, r, c, inspect.PartClaims, r.resource("workloads"), within, func(o *listedWorkload) {
		if c.Requested.Has(o.Namespace) {
			share.workload(&o.Workload)
			w := o.Workload
			c.Workloads = append(c.Workloads, &w)
		}
		keep(o.claimed())
	})
}

// readTemplates reads the named Workloads with their Pod templates, which other reads drop.
func (r *factReader) readTemplates(ctx context.Context, namespaces, names []string) {
	for _, namespace := range namespaces {
		for _, name := range names {
			r.read(inspect.PartWorkloads, func() error {
				o, err := Get[kueue.PodTemplates](ctx, r.cluster, r.resource("workloads"), namespace, name)
				if err == nil && o != nil {
					r.store(func() { r.facts.Kueue.Capacity.Templates[o.UID] = o })
				}
				return err
			})
		}
	}
}

// readNamespace reads a Namespace, because ClusterQueues select namespaces by label.
func (r *factReader) readNamespace(ctx context.Context, c *inspect.Capacity, name string) {
	r.wg.Go(func() {
		o, err := getNamespace(ctx, r.cluster, name)
		r.store(func() {
			if err != nil {
				c.AddGap(inspect.PartNamespaces, err)
				return
			}
			c.Namespaces[name] = o
		})
	})
}

// readPart reads the objects of a kind in parallel with others. It calls keep under the lock.
func readPart[T any](ctx context.Context, r *factReader, c *inspect.Capacity, part inspect.Part, resource schema.GroupVersionResource, namespace string, keep func(*T)) {
	r.wg.Go(func() {
		err := listObjects(ctx, r.cluster, resource, namespace, metav1.ListOptions{}, func(o *T) {
			r.store(func() { keep(o) })
		})
		if err != nil {
			r.store(func() { c.AddGap(part, err) })
		}
	})
}
