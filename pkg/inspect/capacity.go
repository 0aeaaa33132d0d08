package inspect

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Capacity is what was read about the quota of a cluster's queues. It covers the whole cluster,
// because cohorts span namespaces.
type Capacity struct {
	ClusterQueues []*kueue.ClusterQueue
	LocalQueues   []*kueue.LocalQueue
	Cohorts       []*kueue.Cohort
	Flavors       []*kueue.ResourceFlavor
	// Topologies are nil if they were not requested.
	Topologies []*kueue.Topology
	// Claims are the Workloads that hold quota or wait for it.
	Claims []*kueue.Claim
	// ClaimsWithin are the claims of one namespace, Within, for users who may not list all. Within
	// is "" if these were not requested or could not be listed either.
	ClaimsWithin []*kueue.Claim
	Within       string
	// Workloads are all Workloads of the requested namespaces, with all fields. They came with the
	// claims, so they need no further request.
	Workloads []*kueue.Workload
	// LimitRanges are those of the requested namespaces, LimitRangesRead the namespaces of which they
	// were read. Namespaces are the requested namespaces that were read, nil for one that does not exist.
	LimitRanges     []*corev1.LimitRange
	LimitRangesRead sets.Set[string]
	Namespaces      map[string]*Namespace
	// Templates are the Pod templates of the requested Workloads, by their UIDs.
	Templates map[types.UID]*kueue.PodTemplates
	// Gaps are the parts that could not be read, with the reasons.
	Gaps map[Part]error

	// Requested are the requested namespaces. Places are the names of Workloads in other
	// namespaces, by UID.
	Requested sets.Set[string]
	Places    map[string]types.NamespacedName
}

// WorkloadsOf returns all Workloads of a namespace; ok is false if they were not all read.
func (c *Capacity) WorkloadsOf(namespace string) (found []*kueue.Workload, ok bool) {
	if c == nil || c.Gaps[PartClaims] != nil || !c.Requested.Has(namespace) {
		return nil, false
	}
	for _, w := range c.Workloads {
		if w.Namespace == namespace {
			found = append(found, w)
		}
	}
	return found, true
}

// ForgetClaims frees the claims, of which there may be very many. They are not needed once
// placements are known.
func (v *Inventory) ForgetClaims() {
	for _, f := range v.Clusters {
		if f.Kueue == nil {
			continue
		}
		f.Kueue.Claims, f.Kueue.ListsClaims = nil, false
		if f.Kueue.Capacity != nil {
			f.Kueue.Capacity.Claims, f.Kueue.Capacity.ClaimsWithin = nil, nil
		}
	}
}

// Tree returns the model of the quotas, without the parts that could not be read (see Gaps).
func (c *Capacity) Tree() *capacity.Tree {
	return capacity.New(capacity.Sources{
		Queues: c.ClusterQueues, Cohorts: c.Cohorts, Locals: c.LocalQueues,
		Claims: c.Claims, HasClaims: c.Gaps[PartClaims] == nil,
	})
}

// with merges what two contexts read of one cluster. It takes each part from c, or from o if only o
// has read it.
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
		PartTopologies:    func() { one.Topologies = o.Topologies },
		PartClaims: func() {
			one.Claims, one.Workloads, one.Requested, one.Places = o.Claims, o.Workloads, o.Requested, o.Places
		},
		PartLimitRanges: func() { one.LimitRanges, one.LimitRangesRead = o.LimitRanges, o.LimitRangesRead },
		PartNamespaces:  func() { one.Namespaces = o.Namespaces },
	} {
		if one.Gaps[part] != nil && o.Gaps[part] == nil {
			delete(one.Gaps, part)
			take()
		}
	}
	if one.Gaps[PartClaims] != nil && one.Within == "" && o.Within != "" {
		one.ClaimsWithin, one.Within, one.Gaps[PartClaims] = o.ClaimsWithin, o.Within, o.Gaps[PartClaims]
	}
	return &one
}

// knownTopologies returns what was read about the topologies of the cluster.
func (c *Capacity) knownTopologies() kueue.Topologies {
	if c == nil {
		return kueue.Topologies{}
	}
	return kueue.Topologies{All: c.Topologies, IsRead: c.Topologies != nil && c.Gaps[PartTopologies] == nil, Flavors: c.Flavors}
}

// Flavor returns the ResourceFlavor with this name, nil if there is none.
func (c *Capacity) Flavor(name string) *kueue.ResourceFlavor {
	return named(c.Flavors, name, func(f *kueue.ResourceFlavor) string { return f.Name })
}

// Flavors returns the ResourceFlavors of all clusters, as far as they were read.
func (v *Inventory) Flavors() []kueue.FlavorOn {
	var all []kueue.FlavorOn
	for _, f := range v.Clusters {
		if f.Kueue == nil || f.Kueue.Capacity == nil {
			continue
		}
		for _, flavor := range f.Kueue.Capacity.Flavors {
			all = append(all, kueue.FlavorOn{Context: f.Context, ResourceFlavor: flavor})
		}
	}
	return all
}

// FixTarget returns the target of fixes on the cluster, without Workload and queues. flavors are those
// of all clusters.
func (f *Facts) FixTarget(flavors []kueue.FlavorOn) kueue.FixTarget {
	return kueue.FixTarget{
		Context: f.Context, Version: f.Kueue.Version, Topologies: f.Kueue.Capacity.knownTopologies(), Flavors: flavors,
		NamespaceLabels: f.namespaceLabels, MayNotRead: kubecontext.IsRefused(f.Unread(PartQueues)),
	}
}

// namespaceLabels returns the labels of a namespace, nil if it was not read.
func (f *Facts) namespaceLabels(name string) map[string]string {
	n, isRead := f.Namespaces[name]
	if c := f.Kueue.Capacity; !isRead && c != nil && c.Namespaces[name] != nil {
		n, isRead = *c.Namespaces[name], true
	}
	if !isRead || n.Labels != nil {
		return n.Labels
	}
	return map[string]string{}
}

// LimitsOf returns the LimitRanges of a namespace, as far as they were read.
func (c *Capacity) LimitsOf(namespace string) []corev1.LimitRange {
	var limits []corev1.LimitRange
	for _, l := range c.LimitRanges {
		if l.Namespace == namespace {
			limits = append(limits, *l)
		}
	}
	return limits
}

// UnreadLimitRanges returns why the LimitRanges of a namespace are unknown, nil if they were read.
func (c *Capacity) UnreadLimitRanges(namespace string) error {
	if c.LimitRangesRead.Has(namespace) {
		return nil
	}
	return c.Gaps[PartLimitRanges]
}

// UnreadNamespace returns why nothing is known about a namespace, nil if it was read.
func (c *Capacity) UnreadNamespace(name string) error {
	if _, isRead := c.Namespaces[name]; isRead {
		return nil
	}
	return c.Gaps[PartNamespaces]
}

// AddGap records that a part could not be read. It keeps one reason per part, as Facts.AddGap does.
func (c *Capacity) AddGap(part Part, err error) {
	var answer *apierrors.StatusError
	if _, isSnapshot := kubecontext.NotRecorded(err); isSnapshot && errors.As(err, &answer) {
		// The answer names the resource.
		err = answer
	}
	if err = fmt.Errorf("%s could not be read: %w", part, err); comesFirst(err, c.Gaps[part]) {
		c.Gaps[part] = err
	}
}

// Blocker explains a Workload that Kueue ignores although Kueue runs. The Workload waits behind
// another one, or equals one that does not fit. Kueue sets a condition in neither case (see
// docs/reference/scheduling.md#order).
type Blocker struct {
	Queue *kueue.ClusterQueue
	// Workload is the other Workload, and Condition its QuotaReserved condition.
	Workload  *kueue.Workload
	Condition *metav1.Condition
	// IsHead is whether the other Workload comes first in a StrictFIFO queue; if not, it is an
	// equal one.
	IsHead bool
}

// BlockerOf returns the Workload that a Workload without a QuotaReserved condition waits for; nil
// if it has the condition, nothing explains its absence, or it is not queued yet, as in a backoff. In a
// StrictFIFO queue it is the first one that Kueue has evaluated: it also shows that Kueue runs.
func (f *Facts) BlockerOf(w *kueue.Workload) *Blocker {
	if f == nil || f.Kueue == nil || !awaitsEvaluation(w) {
		return nil
	}
	queue := f.clusterQueueOf(w)
	if queue == nil {
		return nil
	}
	isStrict := queue.Spec.QueueingStrategy == kueue.StrictFIFO
	var first *kueue.Workload
	for _, o := range f.Kueue.withNeighbours() {
		switch {
		case o == w || !f.isHeldIn(queue, o, isStrict):
		case isStrict && comesBefore(queue, o, w) && (first == nil || o.Rank().Compare(first.Rank()) < 0), !isStrict && o.IsLike(w):
			first = o
		}
	}
	if first == nil {
		return nil
	}
	return &Blocker{Queue: queue, Workload: first, Condition: first.Condition(kueue.QuotaReserved), IsHead: isStrict}
}

// MayWait reports whether Kueue may rightly not have evaluated a Workload, although BlockerOf finds none that certainly comes
// first. Its scheduler stands until the Pods of all admitted Workloads are ready (waitForPodsReady.blockAdmission; kueue:
// pkg/scheduler/scheduler.go), or a held Workload is the head of a StrictFIFO queue that orders LocalQueues by their usage.
func (f *Facts) MayWait(w *kueue.Workload) bool {
	if f == nil || f.Kueue == nil {
		return false
	}
	queue := f.clusterQueueOf(w)
	isByUsage := queue.OrdersByUsage() && queue.Spec.QueueingStrategy == kueue.StrictFIFO
	return slices.ContainsFunc(f.Kueue.withNeighbours(), func(o *kueue.Workload) bool {
		wait := o.Waiting()
		return isInQueue(o) && wait.Reason == kueue.ReasonPodsNotReady || isByUsage && f.isHeldIn(queue, o, true)
	})
}

// withNeighbours returns the Workloads of all namespaces that were read.
func (k *KueueFacts) withNeighbours() []*kueue.Workload {
	if k.Neighbours == nil {
		return k.Workloads
	}
	return slices.Concat(k.Workloads, k.Neighbours.Workloads)
}

// KnowsBlockers reports whether everything was read that BlockerOf depends on, besides the queues
// and Workloads of the namespace that was read.
func (f *Facts) KnowsBlockers() bool { return f.Namespace == "" || f.Kueue.Neighbours != nil }

// hasWord reports whether Kueue has reported anything about a Workload's quota. A condition that says
// that Kueue has not evaluated it yet, as Kueue writes from 0.19 on, does not count.
func hasWord(w *kueue.Workload) bool {
	c := w.Condition(kueue.QuotaReserved)
	return c != nil && c.Reason != kueue.PendingEvaluation
}

// awaitsEvaluation reports whether Kueue has a Workload in its queue and has not evaluated it.
func awaitsEvaluation(w *kueue.Workload) bool {
	wait := w.Waiting()
	return isInQueue(w) && !hasWord(w) && wait.Blocks()
}

// UnevaluatedSince returns since when Kueue has had a Workload in its queue without evaluating it: since its creation, or
// since Kueue said that it waits for its evaluation (kueue: gate UnadmittedWorkloadsObservability, on since 0.19). That may
// have replaced another reason, which leaves the time of the condition unchanged, but writes the status. ok is false if
// Kueue has evaluated it, or does not have it in its queue.
func UnevaluatedSince(w *kueue.Workload) (since time.Time, ok bool) {
	c := w.Condition(kueue.QuotaReserved)
	switch {
	case len(w.Status.Conditions) == 0:
		return w.CreationTimestamp.Time, true
	case c == nil || hasWord(w) || !isInQueue(w) || w.Waiting().Reason != kueue.ReasonNotEvaluated:
		return time.Time{}, false
	}
	since = c.LastTransitionTime.Time
	if written := StatusWrittenAt(w.ManagedFields); written != nil && written.After(since) {
		since = written.Time
	}
	return since, true
}

// isHeldIn reports whether Kueue has evaluated a Workload of a queue, and others wait with it: those behind it
// if the queue is strict, equal ones otherwise.
func (f *Facts) isHeldIn(queue *kueue.ClusterQueue, w *kueue.Workload, isStrict bool) bool {
	if !isInQueue(w) || !hasWord(w) || w.Is(kueue.QuotaReserved) {
		return false
	}
	wait := w.Waiting()
	return (wait.IsForQuota() || isStrict && wait.Blocks()) && f.clusterQueueOf(w) == queue
}

// clusterQueueOf returns the ClusterQueue of a Workload's LocalQueue, nil if unknown.
func (f *Facts) clusterQueueOf(w *kueue.Workload) *kueue.ClusterQueue {
	return f.Lookup().Route(w.Namespace, w.Spec.QueueName).Cluster.Object
}

// IsIgnored reports whether a Workload is in a queue, and Kueue has not evaluated it.
func IsIgnored(w *kueue.Workload) bool { return isInQueue(w) && !hasWord(w) }

// isInQueue reports whether a queue should find quota for a Workload.
func isInQueue(w *kueue.Workload) bool {
	return w.IsActive() && w.DeletionTimestamp == nil && !w.Is(kueue.Finished)
}

// comesBefore reports whether a Workload certainly comes before another one in a queue.
func comesBefore(queue *kueue.ClusterQueue, a, b *kueue.Workload) bool {
	if queue.OrdersByUsage() && (a.Namespace != b.Namespace || a.Spec.QueueName != b.Spec.QueueName) {
		return false
	}
	return a.Rank().Compare(b.Rank()) < 0
}
