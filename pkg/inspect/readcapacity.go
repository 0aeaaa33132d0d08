package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	kjson "sigs.k8s.io/json"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// Capacity is what tells how much room the queues of a cluster have. All of it is of
// the whole cluster: a cohort goes beyond namespaces.
type Capacity struct {
	ClusterQueues []*kueue.ClusterQueue
	LocalQueues   []*kueue.LocalQueue
	Cohorts       []*kueue.Cohort
	Flavors       []*kueue.ResourceFlavor
	// Claims are the Workloads that hold quota or wait for it.
	Claims []*kueue.Claim
	// Workloads are all those of the namespaces that were asked for, whole: they came with
	// the others, and need not be asked for again.
	Workloads []*kueue.Workload
	// LimitRanges are those of the namespaces that were asked for, and Namespaces these
	// themselves, nil for one that is not there.
	LimitRanges []*corev1.LimitRange
	Namespaces  map[string]*Namespace
	// Templates are the pods of those Workloads that were asked for, by their uids.
	Templates map[types.UID]*kueue.PodTemplates
	// Gaps are the parts that could not be read, and why.
	Gaps map[Part]error

	// asked are the namespaces, and places where Workloads of other ones are, by uid.
	asked  sets.Set[string]
	places map[string]types.NamespacedName
}

// workloadsOf are all Workloads of a namespace; ok is false where not all of it were
// read.
func (c *Capacity) workloadsOf(namespace string) (found []*kueue.Workload, ok bool) {
	if c == nil || c.Gaps[PartClaims] != nil || !c.asked.Has(namespace) {
		return nil, false
	}
	for _, w := range c.Workloads {
		if w.Namespace == namespace {
			found = append(found, w)
		}
	}
	return found, true
}

// listedWorkload is a Workload of a list, of which a part is looked at before it is known
// whether the whole is wanted.
type listedWorkload struct {
	part kueue.ClaimedWorkload
	text []byte
}

// UnmarshalJSON decodes the part, and keeps the whole as it is.
func (w *listedWorkload) UnmarshalJSON(text []byte) error {
	w.text = bytes.Clone(text)
	return kjson.UnmarshalCaseSensitivePreserveInts(text, &w.part)
}

// Tree is the model of the quotas. What could not be read is not in it: see Gaps.
func (c *Capacity) Tree() *capacity.Tree {
	return capacity.New(capacity.Sources{
		Queues: c.ClusterQueues, Cohorts: c.Cohorts, Locals: c.LocalQueues,
		Claims: c.Claims, HasClaims: c.Gaps[PartClaims] == nil,
	})
}

// with is what was read of a cluster through either of two contexts: of each part, what
// is without a gap.
func (c *Capacity) with(o *Capacity) *Capacity {
	if c == nil || o == nil {
		if c == nil {
			return o
		}
		return c
	}
	one := *c
	one.Gaps = maps.Clone(c.Gaps)
	one.Templates = union(c.Templates, o.Templates)
	for part, take := range map[Part]func(){
		PartClusterQueues: func() { one.ClusterQueues = o.ClusterQueues },
		PartQueues:        func() { one.LocalQueues = o.LocalQueues },
		PartCohorts:       func() { one.Cohorts = o.Cohorts },
		PartFlavors:       func() { one.Flavors = o.Flavors },
		PartClaims:        func() { one.Claims, one.Workloads, one.asked, one.places = o.Claims, o.Workloads, o.asked, o.places },
		PartLimitRanges:   func() { one.LimitRanges = o.LimitRanges },
		PartNamespaces:    func() { one.Namespaces = o.Namespaces },
	} {
		if one.Gaps[part] != nil && o.Gaps[part] == nil {
			delete(one.Gaps, part)
			take()
		}
	}
	return &one
}

// Flavor is a ResourceFlavor by its name, nil if there is none.
func (c *Capacity) Flavor(name string) *kueue.ResourceFlavor {
	return named(c.Flavors, name, func(f *kueue.ResourceFlavor) string { return f.Name })
}

// errBounded is why Workloads out of a bundle of some namespaces cannot be added up.
var errBounded = errors.New("the bundle holds those of some namespaces only; make it with -A")

// newCapacity is one of which nothing is known, for what is submitted in namespaces.
func newCapacity(namespaces ...string) *Capacity {
	return &Capacity{
		asked: sets.New(namespaces...), places: map[string]types.NamespacedName{}, Gaps: map[Part]error{},
		Templates: map[types.UID]*kueue.PodTemplates{}, Namespaces: map[string]*Namespace{},
	}
}

// readCapacity reads what tells how much room there is. LimitRanges are read of the
// given namespaces, those where something waits.
func (r *factReader) readCapacity(ctx context.Context, namespaces []string) {
	c := newCapacity(namespaces...)
	r.readQuotas(ctx, c)
	readRoom(ctx, r, c, PartFlavors, r.resource("resourceflavors"), "", func(o *kueue.ResourceFlavor) { c.Flavors = append(c.Flavors, o) })
	for _, namespace := range namespaces {
		r.readNamespace(ctx, c, namespace)
		readRoom(ctx, r, c, PartLimitRanges, corev1.SchemeGroupVersion.WithResource("limitranges"), namespace, func(o *corev1.LimitRange) {
			c.LimitRanges = append(c.LimitRanges, o)
		})
	}
}

// readQuotas reads what queues there are, what they have, and what is in use of it.
func (r *factReader) readQuotas(ctx context.Context, c *Capacity) {
	r.store(func() { r.facts.Kueue.Capacity = c })
	readRoom(ctx, r, c, PartClusterQueues, r.resource("clusterqueues"), "", func(o *kueue.ClusterQueue) {
		o.ManagedFields = nil
		c.ClusterQueues = append(c.ClusterQueues, o)
	})
	readRoom(ctx, r, c, PartCohorts, r.resource("cohorts"), "", func(o *kueue.Cohort) { c.Cohorts = append(c.Cohorts, o) })
	readRoom(ctx, r, c, PartQueues, r.resource("localqueues"), "", func(o *kueue.LocalQueue) {
		o.ManagedFields = nil
		c.LocalQueues = append(c.LocalQueues, o)
	})
	r.readClaims(ctx, c)
	if r.cluster.Bounded {
		r.store(func() { c.gap(PartClaims, errBounded) })
	}
}

// readClaims reads the Workloads of all namespaces, once: what they hold or wait for, and
// those of the namespaces that were asked for as they are.
func (r *factReader) readClaims(ctx context.Context, c *Capacity) {
	names := interner{}
	readRoom(ctx, r, c, PartClaims, r.resource("workloads"), "", func(o *listedWorkload) {
		place := &o.part.Metadata
		if c.asked.Has(place.Namespace) {
			w := &kueue.Workload{}
			if err := kjson.UnmarshalCaseSensitivePreserveInts(o.text, w); err != nil {
				c.gap(PartClaims, err)
				return
			}
			c.Workloads = append(c.Workloads, w)
		} else {
			c.places[place.UID] = types.NamespacedName{Namespace: names.one(place.Namespace), Name: place.Name}
		}
		if claim := o.part.Claim(); claim != nil {
			names.claim(claim)
			c.Claims = append(c.Claims, claim)
		}
	})
}

// readTemplates reads the Workloads of these names with their pods' templates, which are
// not kept of any others.
func (r *factReader) readTemplates(ctx context.Context, namespaces, names []string) {
	for _, namespace := range namespaces {
		for _, name := range names {
			r.read(PartWorkloads, func() error {
				o, err := getObject[kueue.PodTemplates](ctx, r.cluster, r.resource("workloads"), namespace, name)
				if err == nil && o != nil {
					r.store(func() { r.facts.Kueue.Capacity.Templates[o.UID] = o })
				}
				return err
			})
		}
	}
}

// ReadCapacity reads from every cluster how much room there is, and where managers
// dispatch to. queues are LocalQueues that matter: they are asked for by name too, which
// takes fewer rights than to list all.
func ReadCapacity(ctx context.Context, f *fleet.Fleet, queues []types.NamespacedName, addresses []kubecontext.Address, now func() time.Time) *Inventory {
	namespaces := sets.New[string]()
	for _, q := range queues {
		namespaces.Insert(q.Namespace)
	}
	var clusters []*Facts
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*Facts, error) {
		facts := newFacts(c)
		if r := openKueue(ctx, c, facts); r.hasKueue() {
			r.readConfig(ctx)
			for _, q := range queues {
				r.readQueue(ctx, q.Namespace, q.Name)
			}
			r.readCapacity(ctx, sets.List(namespaces))
			r.wg.Wait()
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

// readNamespace reads one Namespace: a queue chooses by its labels.
func (r *factReader) readNamespace(ctx context.Context, c *Capacity, name string) {
	type object struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	r.wg.Go(func() {
		o, err := getObject[object](ctx, r.cluster, corev1.SchemeGroupVersion.WithResource("namespaces"), "", name)
		r.store(func() {
			switch {
			case err != nil:
				c.gap(PartNamespaces, err)
			case o == nil:
				c.Namespaces[name] = nil
			default:
				c.Namespaces[name] = &Namespace{Name: o.Name, UID: string(o.UID), Labels: o.Labels}
			}
		})
	})
}

// readRoom reads the objects of a kind beside the others. keep is called under the lock.
func readRoom[T any](ctx context.Context, r *factReader, c *Capacity, part Part, resource schema.GroupVersionResource, namespace string, keep func(*T)) {
	r.wg.Go(func() {
		err := listObjects(ctx, r.cluster, resource, namespace, metav1.ListOptions{}, func(o *T) {
			r.store(func() { keep(o) })
		})
		if err != nil {
			r.store(func() { c.gap(part, err) })
		}
	})
}

func (c *Capacity) gap(part Part, err error) {
	if c.Gaps[part] == nil {
		c.Gaps[part] = fmt.Errorf("%s could not be read: %w", part, err)
	}
}

// claim makes claims share the strings that many of them have in common.
func (in interner) claim(c *kueue.Claim) {
	for _, s := range []*string{&c.Namespace, &c.Kind, &c.LocalQueue, &c.ClusterQueue, &c.Reason, &c.Message, &c.Origin} {
		*s = in.one(*s)
	}
	for i := range c.Holds {
		c.Holds[i].Flavor, c.Holds[i].Resource = in.one(c.Holds[i].Flavor), in.one(c.Holds[i].Resource)
	}
}
