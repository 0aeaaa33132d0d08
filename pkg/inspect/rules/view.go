package rules

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// View is an inventory as a rule sees it. Whatever a rule reads, it reads by one
// of its methods, which note the part, so that a test can hold what a rule says
// it reads against what it reads. A false in the second place says that the part
// could not be read: then nothing follows from what is not there.
type View struct {
	inventory *inspect.Inventory
	read      sets.Set[inspect.Part]
	sightings []Sighting
	shared    *shared
}

// shared is what several rules work out of the same inventory, once for all.
type shared struct {
	submissions []Submission
	// waiters are those that wait for a worker; hasWaiters is whether that was found out.
	waiters    []waiter
	hasWaiters bool
	// copies are those of submissions, by their Jobs.
	copies map[*inspect.Job][]Copy
	// submitted are the names of all origins of MultiKueue; nil where nobody has asked.
	submitted sets.Set[inspect.ObjectName]
	// workers are the MultiKueueClusters of each manager.
	workers map[*inspect.Facts][]workerOf
	// hanging are the Jobs that cannot go on without a worker.
	hanging map[worker][]*inspect.Job
	// noKueue is what there is to read of Kueue where that is not; nobody may change it.
	noKueue inspect.KueueFacts
	// noSetup is the Setup of clusters that doctor did not read; nobody may change it.
	noSetup inspect.Setup
	// marks are those of mirrors, by the contexts of their management clusters.
	marks map[string]marks
	// awaiting are the sightings of each rule that was asked which wait for an actor, by its
	// code.
	awaiting map[string][]Sighting
}

func newView(v *inspect.Inventory, known *shared) *View {
	return &View{inventory: v, read: sets.New[inspect.Part](), shared: known}
}

// Report tells what a rule has seen.
func (v *View) Report(s Sighting) {
	if n := len(v.sightings); n == cap(v.sightings) {
		// Where there are thousands, append alone leaves five times as much garbage.
		v.sightings = slices.Grow(v.sightings, n+1)
	}
	v.sightings = append(v.sightings, s)
}

// Now is when the inventory was read.
func (v *View) Now() time.Time { return v.inventory.Now }

// Age is how long ago something happened that the clock of a context's cluster
// dated.
func (v *View) Age(context string, t time.Time) time.Duration { return v.inventory.Age(context, t) }

// Clusters are those that could be read.
func (v *View) Clusters() []*inspect.Facts {
	var clusters []*inspect.Facts
	for _, f := range v.inventory.Clusters {
		if f.Err == nil {
			clusters = append(clusters, f)
		}
	}
	return clusters
}

// Facts is what was read through a context; ok is false if it was not asked, or
// did not answer.
func (v *View) Facts(context string) (f *inspect.Facts, ok bool) {
	f = v.inventory.Facts(context)
	return f, f != nil && f.Err == nil
}

// Failed is why a context could not be read, nil if it could be, or was not
// asked.
func (v *View) Failed(context string) error {
	if f := v.inventory.Facts(context); f != nil {
		return f.Err
	}
	return nil
}

// Unseen are the contexts there are that were not asked or did not answer.
func (v *View) Unseen() []string { return v.inventory.Unseen() }

// note says that a rule reads a part of a cluster, and whether it was read.
func (v *View) note(f *inspect.Facts, parts ...inspect.Part) (ok bool) {
	v.read.Insert(parts...)
	ok = f != nil && f.Err == nil
	for _, p := range parts {
		ok = ok && f.Gaps[p] == nil && !f.Unasked[p]
	}
	return ok
}

// Pairs are all origins with their mirrors.
func (v *View) Pairs() []inspect.Pair {
	v.read.Insert(inspect.PartJobs)
	return v.inventory.Pairs.Pairs
}

// Orphans are mirrors whose origin was not found. What a mirror has made, with its
// marks, is not one.
func (v *View) Orphans() []*inspect.Job {
	v.read.Insert(inspect.PartJobs)
	return slices.DeleteFunc(slices.Clone(v.inventory.Pairs.Orphans), (*inspect.Job).IsPart)
}

// Jobs are all Jobs of a cluster, and the objects of other kinds that were read.
func (v *View) Jobs(f *inspect.Facts) []*inspect.Job {
	v.read.Insert(inspect.PartJobs)
	return f.Jobs
}

// KnowsAll says whether all objects of a kind that a cluster has were read, so that
// what is not among them is not there. Of a kind of which only those are read that
// stand in a queue, it is never known.
func (v *View) KnowsAll(f *inspect.Facts, row delegation.Kind) bool {
	v.read.Insert(inspect.PartJobs)
	return f != nil && f.Err == nil && f.LookedFor(row) && row.Selector == ""
}

// HasKueue says whether a cluster serves Kueue's API; ok is false if that is not
// known.
func (v *View) HasKueue(f *inspect.Facts) (has, ok bool) {
	ok = v.note(f, inspect.PartKueue)
	return f != nil && f.Kueue != nil, ok
}

// kueue is what was read of Kueue on a cluster, a part of which a rule reads: nothing where
// it is not there, or where nobody could ask.
func (v *View) kueue(f *inspect.Facts, part inspect.Part) (k *inspect.KueueFacts, ok bool) {
	if ok = v.note(f, part); f == nil || f.Kueue == nil {
		return &v.shared.noKueue, ok
	}
	return f.Kueue, ok
}

// Workloads are all Workloads of a cluster.
func (v *View) Workloads(f *inspect.Facts) ([]*kueue.Workload, bool) {
	k, ok := v.kueue(f, inspect.PartWorkloads)
	return k.Workloads, ok
}

// Workload finds a Workload by namespace and name; nil if there is none.
func (v *View) Workload(f *inspect.Facts, namespace, name string) (*kueue.Workload, bool) {
	ok := v.note(f, inspect.PartWorkloads)
	return f.Workload(namespace, name), ok
}

// WorkloadsOf are the Workloads of a pair on one cluster, its own or a worker's.
func (v *View) WorkloadsOf(p inspect.Pair, f *inspect.Facts) ([]*kueue.Workload, bool) {
	ok := v.note(f, inspect.PartWorkloads)
	return v.inventory.WorkloadsOf(p, f), ok
}

// LocalQueue finds a LocalQueue; nil if there is none.
func (v *View) LocalQueue(f *inspect.Facts, namespace, name string) (*kueue.LocalQueue, bool) {
	k, ok := v.kueue(f, inspect.PartQueues)
	return k.LocalQueueNamed(namespace, name), ok
}

// ClusterQueue finds a ClusterQueue; nil if there is none.
func (v *View) ClusterQueue(f *inspect.Facts, name string) (*kueue.ClusterQueue, bool) {
	k, ok := v.kueue(f, inspect.PartQueues)
	return k.ClusterQueueNamed(name), ok
}

// ClusterQueues are all ClusterQueues of a cluster.
func (v *View) ClusterQueues(f *inspect.Facts) ([]*kueue.ClusterQueue, bool) {
	k, ok := v.kueue(f, inspect.PartQueues)
	return k.ClusterQueues, ok
}

// Checks are all AdmissionChecks of a cluster.
func (v *View) Checks(f *inspect.Facts) ([]*kueue.AdmissionCheck, bool) {
	k, ok := v.kueue(f, inspect.PartChecks)
	return k.Checks, ok
}

// Check finds an AdmissionCheck; nil if there is none.
func (v *View) Check(f *inspect.Facts, name string) (*kueue.AdmissionCheck, bool) {
	k, ok := v.kueue(f, inspect.PartChecks)
	return k.CheckNamed(name), ok
}

// Configs are all MultiKueueConfigs of a cluster.
func (v *View) Configs(f *inspect.Facts) ([]*kueue.MultiKueueConfig, bool) {
	k, ok := v.kueue(f, inspect.PartConfigs)
	return k.Configs, ok
}

// MultiKueueClusters are all MultiKueueClusters of a cluster.
func (v *View) MultiKueueClusters(f *inspect.Facts) ([]*kueue.MultiKueueCluster, bool) {
	k, ok := v.kueue(f, inspect.PartClusters)
	return k.Clusters, ok
}

// MultiKueueCluster finds a MultiKueueCluster; nil if there is none.
func (v *View) MultiKueueCluster(f *inspect.Facts, name string) (*kueue.MultiKueueCluster, bool) {
	k, ok := v.kueue(f, inspect.PartClusters)
	return k.ClusterNamed(name), ok
}

// ContextOf is the context that reaches a MultiKueueCluster of a manager, "" if
// that is not known.
func (v *View) ContextOf(f *inspect.Facts, cluster string) string {
	v.note(f, inspect.PartSecrets)
	return v.inventory.ContextOf(f, cluster)
}

// Worker is what was read of a MultiKueueCluster of a manager. known is the name
// of its context, "" if that cannot be told; f is nil where it was not asked or
// did not answer.
func (v *View) Worker(manager *inspect.Facts, cluster string) (f *inspect.Facts, known string) {
	if known = v.ContextOf(manager, cluster); known == "" {
		return nil, ""
	}
	if f, ok := v.Facts(known); ok {
		return f, known
	}
	return nil, known
}

// Pods are the pods that a Job controls.
func (v *View) Pods(f *inspect.Facts, j *inspect.Job) ([]*inspect.Pod, bool) {
	ok := v.note(f, inspect.PartPods)
	return f.PodsOf(j), ok
}

// LastWarning is the latest warning about a Job, nil if there is none.
func (v *View) LastWarning(f *inspect.Facts, j *inspect.Job) (*inspect.Event, bool) {
	ok := v.note(f, inspect.PartEvents)
	return f.LastWarning(j), ok
}

// Namespace finds a Namespace of a cluster; nil if there is none.
func (v *View) Namespace(f *inspect.Facts, name string) (*inspect.Namespace, bool) {
	ok := v.note(f, inspect.PartNamespaces)
	if ns, found := f.Namespaces[name]; found {
		return &ns, ok
	}
	return nil, ok
}

// Version is the version of a cluster's API server, "" if it is not known.
func (v *View) Version(f *inspect.Facts) string {
	v.note(f, inspect.PartVersion)
	return f.Version
}

// Differences are the fields in which a mirror is not as its origin says.
func (v *View) Differences(p inspect.Pair, m inspect.Mirror) []inspect.Difference {
	v.read.Insert(inspect.PartJobs)
	return v.inventory.Differences(p.Origin, m)
}

// Skew is how far a cluster's clock is off.
func (v *View) Skew(f *inspect.Facts) (aheadSeconds int, noticeable bool) {
	return inspect.NoticeableSkew(f.Skew)
}
