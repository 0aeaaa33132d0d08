package inspect

import (
	"cmp"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// KueueFacts is what was read of Kueue's objects on one cluster.
type KueueFacts struct {
	// Version is the API version in which the objects were read. ServesOld is whether the cluster
	// also serves the oldest version, as Kueue before 0.20 does.
	Version   string
	ServesOld bool
	// Release is the version of Kueue's controller, such as "v0.19.2"; "" if it is unknown or was
	// not requested.
	Release string
	// Home is where Kueue runs, nil if that was not found. If only the namespace of its Secrets was found, the
	// other names are the default ones.
	Home          *kueue.Home
	Workloads     []*kueue.Workload
	LocalQueues   []*kueue.LocalQueue
	ClusterQueues []*kueue.ClusterQueue
	Checks        []*kueue.AdmissionCheck
	Configs       []*kueue.MultiKueueConfig
	Clusters      []*kueue.MultiKueueCluster
	// Addresses are the addresses of MultiKueueClusters, by name, if their Secrets could be read.
	Addresses map[string]kubecontext.Address
	// Offers show where MultiKueue copied Workloads that are not in Workloads.
	Offers []Offer
	// ListsLocalQueues is whether LocalQueues has all of the namespaces of the Jobs, although the
	// ClusterQueues may be a gap of PartQueues.
	ListsLocalQueues bool
	// QueuesByName is whether LocalQueues were requested one by one. RequestedQueues are these, as
	// namespace/name. Nothing is known about others.
	QueuesByName    bool
	RequestedQueues []string
	// Orders are the positions in LocalQueues that Kueue's visibility API reports, if it does.
	Orders kueue.Orders
	// Claims are all claims of the cluster, if ListsClaims is set: they came with the Workloads of all
	// namespaces, and need no request of their own once the Capacity is wanted.
	Claims      []*kueue.Claim
	ListsClaims bool
	// Capacity is what is known about quota; nil if not requested.
	Capacity *Capacity
	// Neighbours are what waits in the cluster's queues beyond Facts.Namespace; nil if all
	// namespaces were read anyway, or if they were not requested or not readable.
	Neighbours *Neighbours
}

// CountingRules returns how the Kueue of a cluster may count what a Pod requests, likeliest first. Only
// versions before 0.20 serve the older API. Some of them were patched to apply limits first.
func (k *KueueFacts) CountingRules() []kueue.CountingRules {
	if k.ServesOld {
		return []kueue.CountingRules{{}, {LimitsFirst: true}}
	}
	return []kueue.CountingRules{{LimitsFirst: true, Containers: true}}
}

// KueueHome returns where Kueue runs on the cluster: where it was found, otherwise where its manifests put it.
func (f *Facts) KueueHome() kueue.Home {
	switch {
	case f != nil && f.Setup != nil && f.Setup.Installation != nil:
		return f.Setup.Installation.Home
	case f != nil && f.Kueue != nil && f.Kueue.Home != nil:
		return *f.Kueue.Home
	}
	return kueue.HomeIn("")
}

// Neighbours are the Workloads without quota in other namespaces than the one that was read, with
// the LocalQueues there. ClusterQueues serve many namespaces, so these may explain why a Workload
// waits. They belong to no Job that was read.
type Neighbours struct {
	Workloads   []*kueue.Workload
	LocalQueues []*kueue.LocalQueue
}

// RecordsNominations guesses whether Kueue records to which clusters it offers a Workload. It does so
// from 0.13 on, and serves v1beta2 from 0.15 on.
func (k *KueueFacts) RecordsNominations() bool {
	return k.Version != delegation.OldKueueVersion || slices.ContainsFunc(k.Workloads, func(w *kueue.Workload) bool {
		return len(w.Status.Nominated) > 0 || w.Status.ClusterName != nil
	})
}

func named[T any](list []*T, name string, nameOf func(*T) string) *T {
	for _, item := range list {
		if nameOf(item) == name {
			return item
		}
	}
	return nil
}

// LocalQueueNamed returns a LocalQueue; nil if it does not exist.
func (k *KueueFacts) LocalQueueNamed(namespace, name string) *kueue.LocalQueue {
	return localQueueNamed(k.LocalQueues, namespace, name)
}

func localQueueNamed(queues []*kueue.LocalQueue, namespace, name string) *kueue.LocalQueue {
	for _, q := range queues {
		if q.Name == name && q.Namespace == namespace {
			return q
		}
	}
	return nil
}

// ClusterQueueNamed returns a ClusterQueue; nil if it does not exist.
func (k *KueueFacts) ClusterQueueNamed(name string) *kueue.ClusterQueue {
	return clusterQueueNamed(k.ClusterQueues, name)
}

func clusterQueueNamed(queues []*kueue.ClusterQueue, name string) *kueue.ClusterQueue {
	return named(queues, name, func(q *kueue.ClusterQueue) string { return q.Name })
}

// CheckNamed returns an AdmissionCheck; nil if it does not exist.
func (k *KueueFacts) CheckNamed(name string) *kueue.AdmissionCheck {
	return named(k.Checks, name, func(c *kueue.AdmissionCheck) string { return c.Name })
}

// ConfigNamed returns a MultiKueueConfig; nil if it does not exist.
func (k *KueueFacts) ConfigNamed(name string) *kueue.MultiKueueConfig {
	return named(k.Configs, name, func(c *kueue.MultiKueueConfig) string { return c.Name })
}

// ClusterNamed returns a MultiKueueCluster; nil if it does not exist.
func (k *KueueFacts) ClusterNamed(name string) *kueue.MultiKueueCluster {
	return named(k.Clusters, name, func(c *kueue.MultiKueueCluster) string { return c.Name })
}

// MultiKueueCheck returns the first AdmissionCheck of MultiKueue; nil if the cluster has none.
func (k *KueueFacts) MultiKueueCheck() *kueue.AdmissionCheck {
	for _, c := range k.Checks {
		if c.IsMultiKueue() {
			return c
		}
	}
	return nil
}

// StateOf returns the state of MultiKueue's check for a Workload of this cluster, nil if it has
// none. If AdmissionChecks could not be read, the messages of a check show whose it is. Only MultiKueue
// nominates workers, so the only check of a nominated Workload is MultiKueue's, too.
func (f *Facts) StateOf(w *kueue.Workload) *kueue.CheckState {
	if f == nil || f.Kueue == nil {
		return nil
	}
	states := w.Status.AdmissionChecks
	isKnown := func(s kueue.CheckState) bool {
		check := f.Kueue.CheckNamed(s.Name)
		return check != nil && check.IsMultiKueue()
	}
	i := slices.IndexFunc(states, isKnown)
	if i < 0 && f.Gaps[PartChecks] != nil {
		i = slices.IndexFunc(states, w.IsOfMultiKueue)
		if i < 0 && len(states) == 1 && len(offeredTo(w)) > 0 {
			i = 0
		}
	}
	if i < 0 {
		return nil
	}
	return &states[i]
}

// ConfigOf returns the name of the MultiKueueConfig of a check; ok is false if the check does not
// exist, is not MultiKueue's, or names no config.
func (k *KueueFacts) ConfigOf(check string) (name string, ok bool) {
	c := k.CheckNamed(check)
	if c == nil || !c.IsMultiKueue() || c.Spec.Parameters == nil {
		return "", false
	}
	return c.Spec.Parameters.Name, true
}

// ClustersBehind returns the MultiKueueClusters that checks point to, as far as the checks and
// their configs are known.
func (k *KueueFacts) ClustersBehind(checks []string) []string {
	var names []string
	for _, check := range checks {
		name, ok := k.ConfigOf(check)
		if config := k.ConfigNamed(name); ok && config != nil {
			names = append(names, config.Spec.Clusters...)
		}
	}
	return names
}

// QueueOf is a LocalQueue of a manager and its ClusterQueue.
type QueueOf struct {
	Local *kueue.LocalQueue
	// Cluster is nil if it does not exist.
	Cluster *kueue.ClusterQueue
	// Workers are the MultiKueueClusters that the queue dispatches to.
	Workers []string
}

// MultiKueueQueues returns the LocalQueues whose ClusterQueues use MultiKueue, sorted by namespace
// and name.
func (k *KueueFacts) MultiKueueQueues() []QueueOf {
	var found []QueueOf
	lookup := k.lookup(func(Part) error { return nil })
	for _, local := range k.LocalQueues {
		q := lookup.RouteFrom(local).Cluster.Object
		if q == nil || local.DeletionTimestamp != nil || lookup.MultiKueue(q).Object == nil {
			continue
		}
		workers := k.ClustersBehind(q.Checks())
		slices.Sort(workers)
		found = append(found, QueueOf{local, q, slices.Compact(workers)})
	}
	slices.SortFunc(found, func(a, b QueueOf) int {
		return cmp.Or(cmp.Compare(a.Local.Namespace, b.Local.Namespace), cmp.Compare(a.Local.Name, b.Local.Name))
	})
	return found
}

// HasMultiKueue reports whether MultiKueue has objects on a cluster: a check, a config or a
// MultiKueueCluster. A nil KueueFacts has none.
func (k *KueueFacts) HasMultiKueue() bool {
	return k != nil && (k.MultiKueueCheck() != nil || len(k.Configs)+len(k.Clusters) > 0)
}

// Lookup finds the queues and checks that were read of a cluster. A nil Facts has none.
func (f *Facts) Lookup() kueue.Lookup {
	k := &KueueFacts{}
	if f != nil && f.Kueue != nil {
		k = f.Kueue
	}
	return k.lookup(f.Unread)
}

// lookup finds the queues and checks that were read. unread returns why a part is unknown.
func (k *KueueFacts) lookup(unread func(Part) error) kueue.Lookup {
	return kueue.Lookup{
		LocalQueue: func(namespace, name string) (*kueue.LocalQueue, error) {
			local := k.LocalQueueNamed(namespace, name)
			if local == nil && k.Neighbours != nil {
				local = localQueueNamed(k.Neighbours.LocalQueues, namespace, name)
			}
			switch {
			case k.ListsLocalQueues:
				return local, nil
			case k.QueuesByName && !k.isRequested(namespace, name):
				return orUnread(local, ErrNotRequested)
			}
			return orUnread(local, unread(PartQueues))
		},
		ClusterQueue: func(name string) (*kueue.ClusterQueue, error) {
			return orUnread(k.ClusterQueueNamed(name), unread(PartQueues))
		},
		Check: func(name string) (*kueue.AdmissionCheck, error) {
			return orUnread(k.CheckNamed(name), unread(PartChecks))
		},
	}
}

// orUnread returns an object if it was found, otherwise why it may exist unread.
func orUnread[T any](o *T, why error) (*T, error) {
	if o != nil {
		return o, nil
	}
	return nil, why
}

// LookupAll is Lookup, and also finds the queues that were read with the quota of the cluster.
func (f *Facts) LookupAll() kueue.Lookup {
	l := f.Lookup()
	if f == nil || f.Kueue == nil || f.Kueue.Capacity == nil {
		return l
	}
	k, c, named := f.Kueue, f.Kueue.Capacity, l
	l.LocalQueue = func(namespace, name string) (*kueue.LocalQueue, error) {
		if local := localQueueNamed(c.LocalQueues, namespace, name); local != nil {
			return local, nil
		}
		local, err := named.LocalQueue(namespace, name)
		// A request by name needs a right in one namespace only, the list of all needs it in all.
		if why := c.Gaps[PartQueues]; why == nil || !k.isRequested(namespace, name) {
			err = why
		}
		return orUnread(local, err)
	}
	l.ClusterQueue = func(name string) (*kueue.ClusterQueue, error) {
		if q, err := named.ClusterQueue(name); q != nil {
			return q, err
		}
		return orUnread(clusterQueueNamed(c.ClusterQueues, name), c.Gaps[PartClusterQueues])
	}
	return l
}

// isRequested reports whether a LocalQueue was requested by its name.
func (k *KueueFacts) isRequested(namespace, name string) bool {
	return slices.Contains(k.RequestedQueues, namespace+"/"+name)
}

// OwnerFromTemplate returns the owner of the objects that are created from a template: Kueue's webhook gives Jobs
// without one to MultiKueue if their queue has its check (kueue: pkg/controller/jobframework/defaults.go).
func (f *Facts) OwnerFromTemplate(o *Job) delegation.Owner {
	if f == nil || f.Kueue == nil || !o.ManagedBy.IsBuiltIn() || o.Queue() == "" {
		return o.ManagedBy
	}
	lookup := f.Lookup()
	if queue := lookup.Route(o.Namespace, o.Queue()).Cluster.Object; queue != nil && lookup.MultiKueue(queue).Object != nil {
		return delegation.MultiKueue
	}
	return o.ManagedBy
}

// LacksLocalQueue reports whether a LocalQueue was requested of the cluster, and does not exist.
func (f *Facts) LacksLocalQueue(namespace, name string) bool {
	if f == nil || f.Kueue == nil || !f.Kueue.ListsLocalQueues && !f.Kueue.isRequested(namespace, name) {
		return false
	}
	return f.LookupAll().Route(namespace, name).Local.IsMissing()
}
