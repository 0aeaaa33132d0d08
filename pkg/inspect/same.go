package inspect

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// joined makes one of the facts that were read of one cluster, through several
// contexts. That it is one is known by its identity, or because an object that has the
// same uid was seen through both: a uid is given once. The first of the contexts
// stands for the others, which as tells.
func joined(all []*Facts) (kept []*Facts, as map[string]string) {
	as = map[string]string{}
	if !mayRepeat(all) {
		return all, as
	}
	all = slices.Clone(all)
	names := make([]string, len(all))
	// holders are where the facts are that hold a uid.
	holders := map[string][]int{}
	for at, f := range all {
		names[at] = f.Context
		if f.Err != nil {
			continue
		}
		for _, uid := range f.uids() {
			for _, i := range holders[uid] {
				unite(all, i, at)
			}
			if !slices.ContainsFunc(holders[uid], func(i int) bool { return all[i] == all[at] }) {
				holders[uid] = append(holders[uid], at)
			}
		}
	}
	for i, f := range all {
		if f.Context != names[i] {
			as[names[i]] = f.Context
		}
		if !slices.Contains(kept, f) {
			kept = append(kept, f)
		}
	}
	return kept, as
}

// unite puts what was read of one cluster in both places, and wherever a part of it
// stands, unless they are two.
func unite(all []*Facts, i, j int) {
	a, b := all[i], all[j]
	if a == b || !mayBeOne(a, b) {
		return
	}
	if slices.Index(all, b) < slices.Index(all, a) {
		a, b = b, a
	}
	one := a.With(b)
	for k := range all {
		if all[k] == a || all[k] == b {
			all[k] = one
		}
	}
}

// mayBeOne says whether two clusters are not known to be two.
func mayBeOne(a, b *Facts) bool {
	return a.ClusterUID == b.ClusterUID || a.ClusterUID == "" || b.ClusterUID == ""
}

// mayRepeat says whether there can be two of one cluster.
func mayRepeat(all []*Facts) bool {
	var read []*Facts
	for _, f := range all {
		if f.Err == nil {
			if slices.ContainsFunc(read, func(other *Facts) bool { return mayBeOne(f, other) }) {
				return true
			}
			read = append(read, f)
		}
	}
	return false
}

// uids are those of the objects that were read, and the cluster's own.
func (f *Facts) uids() []string {
	var uids []string
	add := func(uid string) {
		if uid != "" {
			uids = append(uids, uid)
		}
	}
	add(f.ClusterUID)
	for _, j := range f.Jobs {
		add(j.UID)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Namespaces)) {
		add(f.Namespaces[name].UID)
	}
	if f.Past != nil {
		for _, w := range f.Past.Workloads {
			add(w.UID)
		}
	}
	if k := f.Kueue; k != nil {
		for _, o := range k.Workloads {
			add(string(o.UID))
		}
		for _, o := range k.ClusterQueues {
			add(string(o.UID))
		}
		for _, o := range k.Checks {
			add(string(o.UID))
		}
		for _, o := range k.Clusters {
			add(string(o.UID))
		}
	}
	return uids
}

// With are the facts with what was read of the same cluster through another context.
// Of what both have read, f's reading counts.
func (f *Facts) With(g *Facts) *Facts {
	c := *f
	c.ClusterUID, c.Version = cmp.Or(f.ClusterUID, g.ClusterUID), cmp.Or(f.Version, g.Version)
	c.NamespaceUIDs = union(f.NamespaceUIDs, g.NamespaceUIDs)
	c.Namespaces = union(f.Namespaces, g.Namespaces)
	c.Leases = union(f.Leases, g.Leases)
	c.Jobs = withJobs(f, g)
	c.Pods = added(f.Pods, g.Pods, func(p *Pod) string { return p.UID })
	c.Events = slices.Clone(f.Events)
	for _, e := range g.Events {
		if !slices.ContainsFunc(c.Events, func(other *Event) bool { return *other == *e }) {
			c.Events = append(c.Events, e)
		}
	}
	c.Kinds = slices.Clone(f.Kinds)
	for i := range g.Kinds {
		if !f.LookedFor(g.Kinds[i]) {
			c.Kinds = append(c.Kinds, g.Kinds[i])
		}
	}
	c.Kueue, c.Past = f.Kueue.with(g.Kueue), f.Past.with(g.Past)
	c.NoKueue = c.Kueue == nil && (f.NoKueue || g.NoKueue)
	c.Setup = f.Setup.with(g.Setup)
	c.Gaps, c.Unasked = stillLacking(f, g)
	if c.Namespace != g.Namespace && g.Namespace == "" {
		c.Namespace = ""
	}
	c.index, c.podUIDs = nil, nil
	return &c
}

// stillLacking is what could not be read, and what was not asked for, through either of
// two contexts of a cluster: what one lacks is no gap where the other has read it.
func stillLacking(f, g *Facts) (gaps map[Part]error, unasked map[Part]bool) {
	gaps, unasked = map[Part]error{}, map[Part]bool{}
	for _, part := range slices.Concat(f.parts(), g.parts()) {
		switch {
		case gaps[part] != nil:
		case f.Gaps[part] != nil && !g.covers(f, part):
			gaps[part] = f.Gaps[part]
		case g.Gaps[part] != nil && !f.covers(g, part):
			gaps[part] = g.Gaps[part]
		}
		if f.Unasked[part] && g.Unasked[part] {
			unasked[part] = true
		}
	}
	return gaps, unasked
}

// covers says whether f has wholly read a part that other facts of the same cluster
// lack, wherever those looked.
func (f *Facts) covers(g *Facts, part Part) bool {
	return f.Gaps[part] == nil && !f.Unasked[part] && (f.Namespace == "" || f.Namespace == g.Namespace)
}

// withJobs are the objects of both, each once, as objects of f. One whose status
// depends on what could not be read is taken from where it could be.
func withJobs(f, g *Facts) []*Job {
	at, uid := map[string]int{}, cmp.Or(f.ClusterUID, g.ClusterUID)
	var jobs []*Job
	for i, j := range f.Jobs {
		at[j.UID] = i
		if j.ClusterUID != uid {
			same := *j
			same.ClusterUID = uid
			j = &same
		}
		jobs = append(jobs, j)
	}
	isBetter := f.Gaps[PartWorkloads] != nil && g.Gaps[PartWorkloads] == nil
	for _, j := range g.Jobs {
		same := *j
		same.Context, same.ClusterUID = f.Context, uid
		switch i, known := at[j.UID]; {
		case !known || j.UID == "":
			jobs = append(jobs, &same)
		case isBetter:
			jobs[i] = &same
		}
	}
	return jobs
}

func (k *KueueFacts) with(other *KueueFacts) *KueueFacts {
	if k == nil || other == nil {
		if k == nil {
			return other
		}
		return k
	}
	c := *k
	c.Workloads = added(k.Workloads, other.Workloads, func(o *kueue.Workload) types.UID { return o.UID })
	c.LocalQueues = added(k.LocalQueues, other.LocalQueues, func(o *kueue.LocalQueue) types.UID { return o.UID })
	c.ClusterQueues = added(k.ClusterQueues, other.ClusterQueues, func(o *kueue.ClusterQueue) types.UID { return o.UID })
	c.Checks = added(k.Checks, other.Checks, func(o *kueue.AdmissionCheck) types.UID { return o.UID })
	c.Configs = added(k.Configs, other.Configs, func(o *kueue.MultiKueueConfig) types.UID { return o.UID })
	c.Clusters = added(k.Clusters, other.Clusters, func(o *kueue.MultiKueueCluster) types.UID { return o.UID })
	c.Addresses = union(k.Addresses, other.Addresses)
	c.Orders = union(k.Orders, other.Orders)
	c.Capacity = k.Capacity.with(other.Capacity)
	c.Release = cmp.Or(k.Release, other.Release)
	c.QueuesAsked = slices.Concat(k.QueuesAsked, other.QueuesAsked)
	return &c
}

// added are those of a and those of b that are not among them.
func added[T any, K comparable](a, b []*T, uid func(*T) K) []*T {
	known := map[K]bool{}
	for _, o := range a {
		known[uid(o)] = true
	}
	all := slices.Clone(a)
	for _, o := range b {
		if k := uid(o); !known[k] || reflect.ValueOf(k).IsZero() {
			all = append(all, o)
		}
	}
	return all
}

// union is nil where both are.
func union[K comparable, V any](a, b map[K]V) map[K]V {
	if a == nil {
		return b
	}
	all := maps.Clone(b)
	if all == nil {
		all = map[K]V{}
	}
	maps.Copy(all, a)
	return all
}

// object is what an object is known by.
type objectID struct{ uid, clusterUID string }

// isSame says whether two readings are of one object: they have the same uid, and
// their clusters are not known to be two.
func (o objectID) isSame(other objectID) bool {
	return o.uid == other.uid && (o.clusterUID == other.clusterUID || o.clusterUID == "" || other.clusterUID == "")
}

// objects are those that were seen, by their uids.
type objectIDs map[string][]objectID

// add adds one, unless it is there already or has no uid, and says whether it was new.
func (s objectIDs) add(o objectID) (isNew bool) {
	if o.uid == "" {
		return true
	}
	if slices.ContainsFunc(s[o.uid], o.isSame) {
		return false
	}
	s[o.uid] = append(s[o.uid], o)
	return true
}

func idOf(j *Job) objectID { return objectID{j.UID, j.ClusterUID} }

// Distinct leaves out the readings of objects that are there already.
func Distinct(jobs []*Job) []*Job {
	seen := objectIDs{}
	return slices.DeleteFunc(slices.Clone(jobs), func(j *Job) bool { return !seen.add(idOf(j)) })
}

// Cluster is which one the cluster is, as far as that is known.
func (f *Facts) Cluster() delegation.Cluster {
	c := delegation.Cluster{UID: f.ClusterUID, Namespaces: maps.Clone(f.NamespaceUIDs)}
	if c.Namespaces == nil {
		c.Namespaces = map[string]string{}
	}
	for name := range f.Namespaces {
		c.Namespaces[name] = f.Namespaces[name].UID
	}
	return c
}
