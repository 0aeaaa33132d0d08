package view

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// View is an inventory as a rule sees it. A rule reads through its methods only. They note the
// parts that they read, so that a test can compare them with Rule.Reads. A second result that
// is false says that the part could not be read: then nothing follows from what is missing.
type View struct {
	inventory *inspect.Inventory
	read      sets.Set[inspect.Part]
	sightings []Sighting
	shared    *Shared
}

// Shared is what the views of one inventory compute once for all rules.
type Shared struct {
	submissions []Submission
	// records are the actions of all actors.
	records *liveness.Records
	// copies are those of submissions, by their Jobs.
	copies map[*inspect.Job][]Copy
	// workers are the MultiKueueClusters of each manager.
	workers map[*inspect.Facts][]NamedWorker
	// noKueue is what Kueue returns for clusters without Kueue. Callers must not change it.
	noKueue inspect.KueueFacts
	// noSetup is what Setup returns for clusters that doctor did not read. Callers must not
	// change it.
	noSetup inspect.Setup
	// memo are the results of Once.
	memo map[any]any
	// awaiting returns the sightings that wait for an actor.
	awaiting func() iter.Seq[Sighting]
}

// Once returns the result of compute for a key, and calls compute once for all rules. Callers
// must not change the result. The caller notes the parts that compute reads.
func Once[T any](v *View, key any, compute func() T) T {
	known, isKnown := v.shared.memo[key]
	if !isKnown {
		known = compute()
		if v.shared.memo == nil {
			v.shared.memo = map[any]any{}
		}
		v.shared.memo[key] = known
	}
	result, _ := known.(T)
	return result
}

// Awaiting returns the sightings that wait for an actor, of all rules that do not sum up.
func (v *View) Awaiting() iter.Seq[Sighting] { return v.shared.awaiting() }

// Reads notes that the rule reads parts of any cluster.
func (v *View) Reads(parts ...inspect.Part) { v.read.Insert(parts...) }

// NewShared returns what the views of an inventory share. awaiting returns the sightings that
// wait for an actor, of all rules that do not sum up.
func NewShared(v *inspect.Inventory, awaiting func() iter.Seq[Sighting]) *Shared {
	return &Shared{records: liveness.Of(v), awaiting: awaiting}
}

// Sightings returns what the rule has reported.
func (v *View) Sightings() []Sighting { return v.sightings }

// PartsRead returns the parts that the rule has read.
func (v *View) PartsRead() []inspect.Part { return v.read.UnsortedList() }

// New returns a view for one rule.
func New(v *inspect.Inventory, known *Shared) *View {
	return &View{inventory: v, read: sets.New[inspect.Part](), shared: known}
}

// Report adds a sighting.
func (v *View) Report(s Sighting) {
	if n := len(v.sightings); n == cap(v.sightings) {
		// Where there are thousands, append alone leaves five times as much garbage.
		v.sightings = slices.Grow(v.sightings, n+1)
	}
	v.sightings = append(v.sightings, s)
}

// Clusters returns the clusters that could be read.
func (v *View) Clusters() []*inspect.Facts {
	var clusters []*inspect.Facts
	for _, f := range v.inventory.Clusters {
		if f.Err == nil {
			clusters = append(clusters, f)
		}
	}
	return clusters
}

// Facts returns what was read through a context. ok is false if the context was not asked or
// did not answer.
func (v *View) Facts(context string) (f *inspect.Facts, ok bool) {
	f = v.inventory.Facts(context)
	return f, f != nil && f.Err == nil
}

// KueueHome returns where Kueue runs in a context.
func (v *View) KueueHome(context string) kueue.Home { return v.inventory.Facts(context).KueueHome() }

// Failed returns why a context could not be read, nil if it was read or not asked.
func (v *View) Failed(context string) error {
	if f := v.inventory.Facts(context); f != nil {
		return f.Err
	}
	return nil
}

// Selected returns the contexts that were asked.
func (v *View) Selected() []string {
	names := make([]string, len(v.inventory.Clusters))
	for i, f := range v.inventory.Clusters {
		names[i] = f.Context
	}
	return names
}

// UnreadContexts returns the contexts that were not asked or did not answer.
func (v *View) UnreadContexts() []string { return v.inventory.UnreadContexts() }

// CanRead notes that the rule reads parts of a cluster, and reports whether they could be
// read.
func (v *View) CanRead(f *inspect.Facts, parts ...inspect.Part) (ok bool) {
	v.read.Insert(parts...)
	ok = f != nil && f.Err == nil
	for _, p := range parts {
		ok = ok && f.Unread(p) == nil
	}
	return ok
}

// Pairs returns all origins with their mirrors.
func (v *View) Pairs() []inspect.Pair {
	v.read.Insert(inspect.PartJobs)
	return v.inventory.Pairs.Pairs
}

// MirrorsOfUnknown returns the mirrors whose origin may exist on a cluster that was not read.
func (v *View) MirrorsOfUnknown() []*inspect.Job {
	return slices.DeleteFunc(v.Orphans(), v.inventory.IsOrphan)
}

// Orphans returns the mirrors whose origin was not found. Objects that a mirror controls carry
// its marks and are not among them.
func (v *View) Orphans() []*inspect.Job {
	v.read.Insert(inspect.PartJobs)
	return slices.DeleteFunc(slices.Clone(v.inventory.Pairs.Orphans), (*inspect.Job).IsPart)
}

// FixTarget returns the target of fixes on a cluster, without Workload and queues.
func (v *View) FixTarget(f *inspect.Facts) kueue.FixTarget {
	return f.FixTarget(v.inventory.Flavors())
}

// Jobs returns all Jobs of a cluster, and the objects of other kinds that were read.
func (v *View) Jobs(f *inspect.Facts) []*inspect.Job {
	v.read.Insert(inspect.PartJobs)
	return f.Jobs
}

// KnowsAll reports whether all objects of a kind on a cluster were read, so that one that was
// not found does not exist. It is false for a kind of which only objects in queues are read.
func (v *View) KnowsAll(f *inspect.Facts, row delegation.Kind) bool {
	v.read.Insert(inspect.PartJobs)
	return f != nil && f.Err == nil && f.IsRequested(row) && row.Selector == ""
}

// HasKueue reports whether a cluster serves Kueue's API. ok is false if that is unknown.
func (v *View) HasKueue(f *inspect.Facts) (has, ok bool) {
	ok = v.CanRead(f, inspect.PartKueue)
	return f != nil && f.Kueue != nil, ok
}

// Kueue returns what was read of Kueue on a cluster, of which the rule reads a part. It is
// empty if Kueue is missing or was not read.
func (v *View) Kueue(f *inspect.Facts, part inspect.Part) (k *inspect.KueueFacts, ok bool) {
	if ok = v.CanRead(f, part); f == nil || f.Kueue == nil {
		return &v.shared.noKueue, ok
	}
	return f.Kueue, ok
}

// Workloads returns all Workloads of a cluster.
func (v *View) Workloads(f *inspect.Facts) ([]*kueue.Workload, bool) {
	k, ok := v.Kueue(f, inspect.PartWorkloads)
	return k.Workloads, ok
}

// Workload returns a Workload, nil if there is none.
func (v *View) Workload(f *inspect.Facts, namespace, name string) (*kueue.Workload, bool) {
	ok := v.CanRead(f, inspect.PartWorkloads)
	return f.Workload(namespace, name), ok
}

// MissingPrebuilt returns why the Workload that an origin names is not its own, "" for no known reason.
func (v *View) MissingPrebuilt(f *inspect.Facts, j *inspect.Job) string {
	v.CanRead(f, inspect.PartWorkloads)
	return f.MissingPrebuilt(j)
}

// WorkloadsOf returns the Workloads of a pair on one cluster, its own or a worker's.
func (v *View) WorkloadsOf(p inspect.Pair, f *inspect.Facts) ([]*kueue.Workload, bool) {
	ok := v.CanRead(f, inspect.PartWorkloads)
	return v.inventory.WorkloadsOf(p, f), ok
}

// LocalQueue returns a LocalQueue, nil if there is none.
func (v *View) LocalQueue(f *inspect.Facts, namespace, name string) (*kueue.LocalQueue, bool) {
	v.CanRead(f, inspect.PartQueues)
	local, unread := f.Lookup().LocalQueue(namespace, name)
	return local, unread == nil
}

// ClusterQueue returns a ClusterQueue, nil if there is none.
func (v *View) ClusterQueue(f *inspect.Facts, name string) (*kueue.ClusterQueue, bool) {
	k, ok := v.Kueue(f, inspect.PartQueues)
	return k.ClusterQueueNamed(name), ok
}

// ClusterQueues returns all ClusterQueues of a cluster.
func (v *View) ClusterQueues(f *inspect.Facts) ([]*kueue.ClusterQueue, bool) {
	k, ok := v.Kueue(f, inspect.PartQueues)
	return k.ClusterQueues, ok
}

// Checks returns all AdmissionChecks of a cluster.
func (v *View) Checks(f *inspect.Facts) ([]*kueue.AdmissionCheck, bool) {
	k, ok := v.Kueue(f, inspect.PartChecks)
	return k.Checks, ok
}

// Check returns an AdmissionCheck, nil if there is none.
func (v *View) Check(f *inspect.Facts, name string) (*kueue.AdmissionCheck, bool) {
	k, ok := v.Kueue(f, inspect.PartChecks)
	return k.CheckNamed(name), ok
}

// Configs returns all MultiKueueConfigs of a cluster.
func (v *View) Configs(f *inspect.Facts) ([]*kueue.MultiKueueConfig, bool) {
	k, ok := v.Kueue(f, inspect.PartConfigs)
	return k.Configs, ok
}

// MultiKueueClusters returns all MultiKueueClusters of a cluster.
func (v *View) MultiKueueClusters(f *inspect.Facts) ([]*kueue.MultiKueueCluster, bool) {
	k, ok := v.Kueue(f, inspect.PartClusters)
	return k.Clusters, ok
}

// MultiKueueCluster returns a MultiKueueCluster, nil if there is none.
func (v *View) MultiKueueCluster(f *inspect.Facts, name string) (*kueue.MultiKueueCluster, bool) {
	k, ok := v.Kueue(f, inspect.PartClusters)
	return k.ClusterNamed(name), ok
}

// ContextOf returns the context that reaches a MultiKueueCluster of a manager, "" if unknown.
func (v *View) ContextOf(f *inspect.Facts, cluster string) string {
	v.CanRead(f, inspect.PartSecrets)
	return v.inventory.ContextOf(f, cluster)
}

// IsContextProven reports whether the result of ContextOf is not a guess.
func (v *View) IsContextProven(f *inspect.Facts, cluster string) bool {
	v.CanRead(f, inspect.PartSecrets)
	return v.inventory.IsContextProven(f, cluster)
}

// IsElsewhere reports whether a context certainly reaches another cluster than a MultiKueueCluster of a
// manager.
func (v *View) IsElsewhere(f *inspect.Facts, cluster, context string) bool {
	v.CanRead(f, inspect.PartSecrets)
	return v.inventory.IsElsewhere(f, cluster, context)
}

// UnreadWorkersOf returns the workers that may run a submission, and of which the Workloads were not read.
func (v *View) UnreadWorkersOf(s Submission) []inspect.WorkerGap {
	v.Reads(inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets)
	return v.inventory.UnreadWorkersOf(s.Manager, s.Workload)
}

// IsAdmittedElsewhere reports whether a cluster has admitted a copy of a submission's Workload. MultiKueue
// then deletes the other copies.
func (v *View) IsAdmittedElsewhere(s Submission) bool {
	v.Reads(inspect.PartWorkloads)
	return v.inventory.AdmittedCopy(s.Manager, s.Workload) != nil
}

// WhyNoContext describes why the context of MultiKueueClusters of a manager is unknown. called is what the
// sentence calls them.
func (v *View) WhyNoContext(f *inspect.Facts, called string, clusters ...string) string {
	v.CanRead(f, inspect.PartSecrets)
	return v.inventory.WhyNoContext(f, called, clusters...)
}

// Worker returns what was read of a MultiKueueCluster of a manager, and its context. The
// context is "" if unknown. f is nil if the context was not asked or did not answer.
func (v *View) Worker(manager *inspect.Facts, cluster string) (f *inspect.Facts, known string) {
	if known = v.ContextOf(manager, cluster); known == "" {
		return nil, ""
	}
	if f, ok := v.Facts(known); ok {
		return f, known
	}
	return nil, known
}

// Pods returns the Pods that a Job controls.
func (v *View) Pods(f *inspect.Facts, j *inspect.Job) ([]*inspect.Pod, bool) {
	ok := v.CanRead(f, inspect.PartPods)
	return f.PodsOf(j), ok
}

// LastWarning returns the latest warning about a Job, nil if there is none.
func (v *View) LastWarning(f *inspect.Facts, j *inspect.Job) (*inspect.Event, bool) {
	ok := v.CanRead(f, inspect.PartEvents)
	return f.LastWarning(j), ok
}

// ClassOf returns the class that decides the priority of a Job without a Workload; ok is false if it was
// not read.
func (v *View) ClassOf(f *inspect.Facts, j *inspect.Job) (class inspect.Class, ok bool) {
	class, isRequested := f.Classes[j.UID]
	return class, isRequested && class.Unread == ""
}

// Namespace returns a Namespace of a cluster, nil if there is none.
func (v *View) Namespace(f *inspect.Facts, name string) (*inspect.Namespace, bool) {
	ok := v.CanRead(f, inspect.PartNamespaces)
	if ns, found := f.Namespaces[name]; found {
		return &ns, ok
	}
	return nil, ok
}

// Version returns the version of a cluster's API server, "" if unknown.
func (v *View) Version(f *inspect.Facts) string {
	v.CanRead(f, inspect.PartVersion)
	return f.Version
}

// Differences returns the fields in which a mirror differs from its origin.
func (v *View) Differences(p inspect.Pair, m inspect.Mirror) []inspect.Difference {
	v.read.Insert(inspect.PartJobs)
	return v.inventory.Differences(p.Origin, m)
}

// Addresses returns the API servers of contexts.
func (v *View) Addresses() []kubecontext.Address { return v.inventory.Addresses }

// Quotas returns a finder of missing quota on the workers of queues. The caller notes the
// parts that it reads.
func (v *View) Quotas() *queues.Finder { return queues.NewFinder(v.inventory) }

// OwnerOf returns the controller that reconciles a Job.
func (v *View) OwnerOf(j *inspect.Job) liveness.Actor { return liveness.OwnerOf(v.inventory, j) }

// RecordOf returns the actions of an actor that were seen.
func (v *View) RecordOf(a liveness.Actor) *liveness.Record { return v.shared.records.RecordOf(a) }

// Group is some values that have a key in common.
type Group[K comparable, V any] struct {
	Key    K
	Values []V
}

// GroupBy groups values by a key, in the order in which the keys first appear.
func GroupBy[K comparable, V any](values []V, by func(V) K) []Group[K, V] {
	if len(values) == 0 {
		return nil
	}
	var groups []Group[K, V]
	at := map[K]int{}
	for _, v := range values {
		key := by(v)
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key], groups = i, append(groups, Group[K, V]{Key: key})
		}
		groups[i].Values = append(groups[i].Values, v)
	}
	return groups
}
