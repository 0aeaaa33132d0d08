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

// joined merges the facts that several contexts read of one cluster. Two contexts point to one
// cluster if its identity is the same, or if both saw an object with the same UID, because UIDs are
// unique. The merged facts have the name of the context that could read most, the first of equal
// ones. as maps the names of the others to it.
func joined(all []*Facts) (kept []*Facts, as map[string]string) {
	as = map[string]string{}
	if !mayHaveDuplicates(all) {
		return all, as
	}
	all = slices.Clone(all)
	names := make([]string, len(all))
	// holders are the indexes of the facts that have a UID.
	holders := map[string][]int{}
	for at, f := range all {
		names[at] = f.Context
		if f.Err != nil {
			continue
		}
		for _, uid := range f.uids() {
			for _, i := range holders[uid] {
				mergeAt(all, i, at)
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

// mergeAt merges the facts at i and j, and replaces both everywhere in all, unless the clusters are
// known to differ.
func mergeAt(all []*Facts, i, j int) {
	a, b := all[i], all[j]
	if a == b || !mayBeSameCluster(a, b) {
		return
	}
	if slices.Index(all, b) < slices.Index(all, a) {
		a, b = b, a
	}
	if b.lacks() < a.lacks() {
		a, b = b, a
	}
	one := a.With(b)
	for k := range all {
		if all[k] == a || all[k] == b {
			all[k] = one
		}
	}
}

// lacks returns how many parts a context could not read.
func (f *Facts) lacks() int {
	n := len(f.Gaps)
	if f.Kueue != nil && f.Kueue.Capacity != nil {
		n += len(f.Kueue.Capacity.Gaps)
	}
	return n
}

// mayBeSameCluster reports whether two facts may be of one cluster.
func mayBeSameCluster(a, b *Facts) bool {
	return a.ClusterUID == b.ClusterUID || a.ClusterUID == "" || b.ClusterUID == ""
}

// mayHaveDuplicates reports whether any two facts may be of one cluster.
func mayHaveDuplicates(all []*Facts) bool {
	var read []*Facts
	for _, f := range all {
		if f.Err == nil {
			if slices.ContainsFunc(read, func(other *Facts) bool { return mayBeSameCluster(f, other) }) {
				return true
			}
			read = append(read, f)
		}
	}
	return false
}

// uids returns the UIDs of the objects that were read, and of the cluster.
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

// With merges the facts that another context read of the same cluster. If both have an object, f's
// takes precedence.
func (f *Facts) With(g *Facts) *Facts {
	c := *f
	c.ClusterUID, c.Version = cmp.Or(f.ClusterUID, g.ClusterUID), cmp.Or(f.Version, g.Version)
	c.NamespaceUIDs = union(f.NamespaceUIDs, g.NamespaceUIDs)
	c.Namespaces = union(f.Namespaces, g.Namespaces)
	c.Absent = union(f.Absent, g.Absent)
	c.Leases = union(f.Leases, g.Leases)
	c.Classes = union(f.Classes, g.Classes)
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
		if !f.IsRequested(g.Kinds[i]) {
			c.Kinds = append(c.Kinds, g.Kinds[i])
		}
	}
	c.Kueue, c.Past = f.Kueue.with(g.Kueue), f.Past.with(g.Past)
	c.NoKueue = c.Kueue == nil && (f.NoKueue || g.NoKueue)
	c.Setup = f.Setup.with(g.Setup)
	c.Gaps, c.Unrequested = commonGaps(f, g)
	if c.Namespace != g.Namespace && g.Namespace == "" {
		c.Namespace = ""
	}
	c.index, c.podUIDs = nil, nil
	return &c
}

// commonGaps returns the gaps and the unrequested parts of two contexts of one cluster together.
// A gap of one does not count if the other has read the part.
func commonGaps(f, g *Facts) (gaps map[Part]error, unrequested map[Part]bool) {
	gaps, unrequested = map[Part]error{}, map[Part]bool{}
	for _, part := range slices.Concat(f.parts(), g.parts()) {
		switch {
		case gaps[part] != nil:
		case f.Gaps[part] != nil && !g.covers(f, part):
			gaps[part] = f.Gaps[part]
		case g.Gaps[part] != nil && !f.covers(g, part):
			gaps[part] = g.Gaps[part]
		}
		if f.Unrequested[part] && g.Unrequested[part] {
			unrequested[part] = true
		}
	}
	return gaps, unrequested
}

// covers reports whether f has read a part completely that g lacks, in at least g's namespaces.
func (f *Facts) covers(g *Facts, part Part) bool {
	return f.Gaps[part] == nil && !f.Unrequested[part] && (f.Namespace == "" || f.Namespace == g.Namespace)
}

// withJobs returns the objects of both without duplicates, with the context of f. If an object's
// status depends on Workloads that f could not read, g's reading replaces it.
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
	c.Addresses, c.Offers = union(k.Addresses, other.Addresses), slices.Concat(k.Offers, other.Offers)
	c.Orders = union(k.Orders, other.Orders)
	c.Capacity = k.Capacity.with(other.Capacity)
	c.Release, c.Home = cmp.Or(k.Release, other.Release), cmp.Or(k.Home, other.Home)
	c.QueuesByName = k.QueuesByName && other.QueuesByName
	c.RequestedQueues = slices.Concat(k.RequestedQueues, other.RequestedQueues)
	return &c
}

// added returns a, and the objects of b that are not in a.
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

// union merges two maps, with a's values first; nil if both are nil.
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

// objectID identifies an object in all contexts.
type objectID struct{ uid, clusterUID string }

// isSame reports whether two readings are of one object: they have the same UID, and their clusters
// are not known to differ.
func (o objectID) isSame(other objectID) bool {
	return o.uid == other.uid && (o.clusterUID == other.clusterUID || o.clusterUID == "" || other.clusterUID == "")
}

// objectIDs are known objects, by their UIDs.
type objectIDs map[string][]objectID

// add adds an object, unless it is known or has no UID. It says whether the object is new.
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

// DistinctJobs drops repeated readings of the same object.
func DistinctJobs(jobs []*Job) []*Job {
	seen := objectIDs{}
	return slices.DeleteFunc(slices.Clone(jobs), func(j *Job) bool { return !seen.add(idOf(j)) })
}

// Cluster returns the identity of the cluster, as far as it is known.
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
