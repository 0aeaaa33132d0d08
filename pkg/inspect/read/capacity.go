package read

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// errPartial is why the Workloads in a snapshot of some namespaces cannot be added up.
var errPartial = errors.New("the snapshot covers only some namespaces; record it with -A")

// newCapacity returns a Capacity without facts, for Jobs in these namespaces.
func newCapacity(namespaces ...string) *inspect.Capacity {
	return &inspect.Capacity{
		Requested: sets.New(namespaces...), Places: map[string]types.NamespacedName{}, Gaps: map[inspect.Part]error{},
		Templates: map[types.UID]*kueue.PodTemplates{}, Namespaces: map[string]*inspect.Namespace{}, LimitRangesRead: sets.New[string](),
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
		r.readLimitRanges(ctx, c, namespace)
	}
}

// readLimitRanges reads the LimitRanges of a namespace, which add requests to Pods.
func (r *factReader) readLimitRanges(ctx context.Context, c *inspect.Capacity, namespace string) {
	r.wg.Go(func() {
		var all []*corev1.LimitRange
		resource := corev1.SchemeGroupVersion.WithResource("limitranges")
		err := listObjects(ctx, r.cluster, resource, namespace, metav1.ListOptions{}, func(o *corev1.LimitRange) { all = append(all, o) })
		r.store(func() {
			if err != nil {
				c.AddGap(inspect.PartLimitRanges, err)
				return
			}
			c.LimitRanges = append(c.LimitRanges, all...)
			c.LimitRangesRead.Insert(namespace)
		})
	})
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
	if r.cluster.IsPartial {
		r.store(func() { c.AddGap(inspect.PartClaims, errPartial) })
	}
}

// readClaims reads the Workloads within a namespace, or in all, in one pass: the claims of all, and
// the whole Workloads of the requested namespaces.
func (r *factReader) readClaims(ctx context.Context, c *inspect.Capacity, within string) {
	if k := r.known; k != nil && k.ListsClaims {
		c.Claims, c.Workloads = k.Claims, k.Workloads
		return
	}
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
	// The next requests change the gaps.
	lacksQueues := k.Capacity.Gaps[inspect.PartClusterQueues] != nil
	if k.Capacity.Gaps[inspect.PartClaims] != nil {
		r.wg.Go(func() { r.readClaimsWithin(ctx, namespace) })
	}
	if !lacksQueues {
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

// readClaimsWithin reads the Workloads of a namespace. That all may not be listed is already a gap. If
// those of the namespace may not be either, that is the gap.
func (r *factReader) readClaimsWithin(ctx context.Context, namespace string) {
	var claims []*kueue.Claim
	err := listObjects(ctx, r.cluster, r.resource("workloads"), namespace, metav1.ListOptions{}, func(w *kueue.ClaimedWorkload) {
		if claim := w.Claim(); claim != nil {
			claims = append(claims, claim)
		}
	})
	r.store(func() {
		if err != nil {
			r.facts.Kueue.Capacity.Gaps[inspect.PartClaims] = err
			return
		}
		r.facts.Kueue.Capacity.ClaimsWithin, r.facts.Kueue.Capacity.Within = claims, namespace
	})
}

// readOwnClaims reads the claims of the only namespace of the Jobs, if those of all could not be read. These
// may be all that hold the quota of a queue.
func (r *factReader) readOwnClaims(ctx context.Context, namespaces []string) {
	c := r.facts.Kueue.Capacity
	if c == nil || c.Gaps[inspect.PartClaims] == nil || len(namespaces) != 1 {
		return
	}
	why := c.Gaps[inspect.PartClaims]
	r.readClaimsWithin(ctx, namespaces[0])
	r.store(func() { c.Gaps[inspect.PartClaims] = why })
}

const (
	// orderPage is Kueue's default limit for one page of a queue (kueue: apis/visibility,
	// DefaultPendingWorkloadsLimit).
	orderPage = 1000
	// first is how many of the first Workloads in a queue are requested.
	first = 3
	// orderWait is the timeout for Kueue's answer. A firewall may block it between the API server
	// and Kueue, and must not delay other reads.
	orderWait = 5 * time.Second
)

// readOrder reads the order of a queue from Kueue, and the positions of waiting Workloads in it. If
// Kueue does not answer, the order can be computed, so there is no gap.
func (r *factReader) readOrder(ctx context.Context, queue *kueue.LocalQueue) {
	if len(r.waiting) == 0 || queue.Spec.ClusterQueue == "" {
		return
	}
	r.wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, orderWait)
		defer cancel()
		at := types.NamespacedName{Namespace: queue.Namespace, Name: queue.Name}
		order, err := cache.Keep(r.cluster.Cache(ctx), "order\n"+at.String(), cache.Soon, func() (*kueue.Order, error) {
			return askOrder(ctx, r.cluster, queue, r.waiting)
		})
		if err != nil || order == nil {
			return
		}
		r.store(func() {
			if r.facts.Kueue.Orders == nil {
				r.facts.Kueue.Orders = kueue.Orders{}
			}
			r.facts.Kueue.Orders[at] = order
		})
	})
}

// askOrder reads the order of a LocalQueue, which its users may read, and then the first Workloads
// of its ClusterQueue, which administrators may read.
func askOrder(ctx context.Context, c *fleet.Cluster, queue *kueue.LocalQueue, names []string) (*kueue.Order, error) {
	version, err := servedVersion(ctx, c, kueue.VisibilityGroup)
	if err != nil || version == "" {
		return nil, err
	}
	order := &kueue.Order{Before: map[string]int{}}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	gvr := schema.GroupVersionResource{Group: kueue.VisibilityGroup, Version: version}
	gvr.Resource = "localqueues"
	for offset := 0; ; offset += orderPage {
		page, err := pending(ctx, c, gvr, queue.Namespace, queue.Name, orderPage, offset)
		if err != nil && len(order.Before) > 0 {
			break // The others may be in another queue.
		}
		if err != nil {
			return nil, err
		}
		for i := range page {
			w := page[i]
			if len(order.First) < first {
				order.First = append(order.First, w)
			}
			if wanted[w.Name] {
				order.Before[w.Name] = w.Before
			}
		}
		if len(page) < orderPage || len(order.Before) == len(wanted) {
			break
		}
	}
	if len(order.Before) == 0 {
		return nil, nil
	}
	gvr.Resource = "clusterqueues"
	if all, err := pending(ctx, c, gvr, "", queue.Spec.ClusterQueue, first, 0); err == nil {
		order.First = all
	}
	return order, nil
}

// pending returns one page of the pending Workloads of a queue, in order.
func pending(ctx context.Context, c *fleet.Cluster, queues schema.GroupVersionResource, namespace, name string, limit, offset int) ([]kueue.PendingWorkload, error) {
	request, err := c.JSON(queues, namespace)
	if err != nil {
		return nil, err
	}
	var summary struct {
		Items []kueue.PendingWorkload `json:"items"`
	}
	request = request.Name(name).SubResource("pendingworkloads").Param("limit", strconv.Itoa(limit)).Param("offset", strconv.Itoa(offset))
	return summary.Items, wire.Decode(request.Do(ctx), &summary)
}
