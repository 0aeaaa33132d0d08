package inspect

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Facts is what was read of one cluster. What could not be read is a gap: the
// part is empty, and Gaps says why.
type Facts struct {
	// Context is the context it was read through.
	Context string
	// ClusterUID is its identity, "" where that is not known, and NamespaceUIDs the UIDs of
	// namespaces that identify it, too, as delegation.Cluster has them.
	ClusterUID    string
	NamespaceUIDs map[string]string
	// Namespace is where Jobs were looked for, "" for everywhere.
	Namespace string
	Skew      kubecontext.Skew
	// Err is why nothing at all could be read.
	Err error
	// Alone is why nothing beside the one object that was asked for by name could be read,
	// where that was wanted, too.
	Alone error
	// Version is the API server's, such as "v1.36.3"; "" where nobody asked.
	Version string
	// Namespaces are those there are; nil where nobody asked or could ask.
	Namespaces map[string]Namespace
	// Kinds are those whose objects were looked for, so that but for gaps all of them
	// are in Jobs. From there being none of another kind nothing follows.
	Kinds  []delegation.Kind
	Jobs   []*Job
	Pods   []*Pod
	Events []*Event
	// Leases are those of dispatched Jobs, by namespace and name; nil where nobody
	// asked or could ask.
	Leases map[string]*Lease
	// Kueue is nil where the cluster does not serve Kueue's API, or where nobody
	// asked or could ask.
	Kueue *KueueFacts
	// NoKueue is whether it was asked, and does not serve it.
	NoKueue bool
	// Past is nil unless Jobs that finished were requested.
	Past *Past
	// Site is nil where nobody asked what is there for pods.
	Site *Site
	// Setup is how the cluster is set up; only doctor asks for it, and it is nil otherwise.
	Setup *Setup
	Gaps  map[Part]error
	// Unasked are parts that nobody asked for, so that nothing follows from what is
	// not there.
	Unasked map[Part]bool

	// Selected are the uids of the Jobs that the query's label selector picks; nil if it
	// has none. All others are read, too: who judges a Job has to see its mirrors, which
	// need not carry its labels.
	Selected sets.Set[string]

	index *index
	// podUIDs are those of Pods, while they are read.
	podUIDs sets.Set[string]
}

// Namespace is what is kept of a Namespace.
type Namespace struct {
	Name, UID string
	Labels    map[string]string
	// IsTerminating is whether it is being deleted, so that nothing can be created in it.
	IsTerminating bool
}

// Part is a part of what is read of a cluster.
type Part string

// The parts. What they are called is what a person is told.
const (
	PartKueue      Part = "the Kueue API"
	PartWorkloads  Part = "workloads"
	PartQueues     Part = "queues"
	PartChecks     Part = "admission checks"
	PartConfigs    Part = "MultiKueueConfigs"
	PartClusters   Part = "MultiKueueClusters"
	PartSecrets    Part = "secrets"
	PartJobs       Part = "jobs"
	PartKinds      Part = "the kinds that it serves"
	PartNamespaces Part = "namespaces"
	PartPods       Part = "pods"
	PartEvents     Part = "events"
	PartLeases     Part = "leases"
	PartVersion    Part = "the server's version"
)

// The parts of Capacity. They are asked for where something waits, and a gap there is
// told with the room that is not known, not as an error.
const (
	PartClusterQueues Part = "ClusterQueues"
	PartCohorts       Part = "Cohorts"
	PartFlavors       Part = "ResourceFlavors"
	PartClaims        Part = "workloads of all namespaces"
	PartLimitRanges   Part = "LimitRanges"
)

// KueueFacts is what was read of Kueue's objects on one cluster.
type KueueFacts struct {
	// Version is the API version they were read in. ServesOld is whether the cluster serves the
	// oldest one, too, which Kueue does before 0.20.
	Version   string
	ServesOld bool
	// Release is the version of Kueue's controller, such as "v0.19.2"; "" if it is unknown or was
	// not requested.
	Release       string
	Workloads     []*kueue.Workload
	LocalQueues   []*kueue.LocalQueue
	ClusterQueues []*kueue.ClusterQueue
	Checks        []*kueue.AdmissionCheck
	Configs       []*kueue.MultiKueueConfig
	Clusters      []*kueue.MultiKueueCluster
	// Addresses tell where the MultiKueueClusters are, by their names, as far as
	// their Secrets could be read.
	Addresses map[string]kubecontext.Address
	// QueuesAsked are the LocalQueues that were asked for one by one, as namespace/name.
	QueuesAsked []string
	// Orders are what Kueue itself says of the order in LocalQueues, where it does.
	Orders kueue.Orders
	// Capacity tells how much room there is; nil where nobody asked.
	Capacity *Capacity
}

// TellsNominations is whether Kueue writes down to which clusters it offers a Workload, as
// far as can be seen: it does so from 0.13 on, and serves v1beta2 from 0.15 on.
func (k *KueueFacts) TellsNominations() bool {
	return k.Version != delegation.OldKueueVersion || slices.ContainsFunc(k.Workloads, func(w *kueue.Workload) bool {
		return len(w.Status.Nominated) > 0 || w.Status.ClusterName != nil
	})
}

// Clone is a copy to which can be added without changing f; nil where nothing
// could be read.
func (f *Facts) Clone() *Facts {
	if f == nil || f.Err != nil {
		return nil
	}
	c := *f
	c.Jobs, c.Pods, c.Events = slices.Clip(f.Jobs), slices.Clip(f.Pods), slices.Clip(f.Events)
	c.podUIDs, c.Site = nil, f.Site.clone()
	c.Leases, c.Gaps = maps.Clone(f.Leases), maps.Clone(f.Gaps)
	return &c
}

// AddPod keeps a pod, once: it may be found by the labels of several kinds.
func (f *Facts) AddPod(p *Pod) {
	if f.podUIDs == nil {
		f.podUIDs = sets.New[string]()
		for _, known := range f.Pods {
			f.podUIDs.Insert(known.UID)
		}
	}
	if !f.podUIDs.Has(p.UID) {
		f.podUIDs.Insert(p.UID)
		f.Pods = append(f.Pods, p)
	}
}

// Selects says whether a Job is one of those that were asked for by their labels.
func (f *Facts) Selects(j *Job) bool { return f.Selected == nil || f.Selected.Has(j.UID) }

// LookedFor says whether objects of a kind were looked for, in whatever version.
func (f *Facts) LookedFor(kind delegation.Kind) bool {
	return f != nil && slices.ContainsFunc(f.Kinds, func(k delegation.Kind) bool {
		return k.Kind == kind.Kind && k.Resource.Group == kind.Resource.Group
	})
}

// KindOf is the kind of an object as the cluster serves it, or else as it was read.
func (f *Facts) KindOf(j *Job) delegation.Kind {
	for _, k := range f.Kinds {
		if k.GroupVersionKind() == j.GetObjectKind().GroupVersionKind() {
			return k
		}
	}
	return j.Row()
}

// PartOf is the part that the objects of a kind are.
func PartOf(kind delegation.Kind) Part {
	return Part(kind.ResourceName())
}

// parts are all parts, with those kinds that are gaps.
func (f *Facts) parts() []Part {
	parts := f.KindParts()
	for _, part := range Parts() {
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// KindParts are the gaps that are kinds of objects, sorted.
func (f *Facts) KindParts() []Part {
	var parts []Part
	for part := range f.Gaps {
		if part == PartJobs || !slices.Contains(Parts(), part) {
			parts = append(parts, part)
		}
	}
	slices.Sort(parts)
	return parts
}

// SortJobs sorts the Jobs as they are shown: a list comes in no certain order.
func (f *Facts) SortJobs() {
	slices.SortFunc(f.Jobs, byName)
}

// AddGap notes that a part could not be read. Of several reasons the first in the order
// of the alphabet stays: a part is read in pieces at once, and which of them fails first
// is a matter of chance.
func (f *Facts) AddGap(part Part, err error) {
	if err != nil && comesFirst(err, f.Gaps[part]) {
		f.Gaps[part] = err
	}
}

// comesFirst says whether one reason is told in place of another, which may be none.
func comesFirst(err, other error) bool { return other == nil || err.Error() < other.Error() }

func named[T any](list []*T, name string, nameOf func(*T) string) *T {
	for _, item := range list {
		if nameOf(item) == name {
			return item
		}
	}
	return nil
}

// LocalQueueNamed finds a LocalQueue; nil if there is none.
func (k *KueueFacts) LocalQueueNamed(namespace, name string) *kueue.LocalQueue {
	for _, q := range k.LocalQueues {
		if q.Name == name && q.Namespace == namespace {
			return q
		}
	}
	return nil
}

// ClusterQueueNamed finds a ClusterQueue; nil if there is none.
func (k *KueueFacts) ClusterQueueNamed(name string) *kueue.ClusterQueue {
	return named(k.ClusterQueues, name, func(q *kueue.ClusterQueue) string { return q.Name })
}

// CheckNamed finds an AdmissionCheck; nil if there is none.
func (k *KueueFacts) CheckNamed(name string) *kueue.AdmissionCheck {
	return named(k.Checks, name, func(c *kueue.AdmissionCheck) string { return c.Name })
}

// ConfigNamed finds a MultiKueueConfig; nil if there is none.
func (k *KueueFacts) ConfigNamed(name string) *kueue.MultiKueueConfig {
	return named(k.Configs, name, func(c *kueue.MultiKueueConfig) string { return c.Name })
}

// ClusterNamed finds a MultiKueueCluster; nil if there is none.
func (k *KueueFacts) ClusterNamed(name string) *kueue.MultiKueueCluster {
	return named(k.Clusters, name, func(c *kueue.MultiKueueCluster) string { return c.Name })
}

// MultiKueueCheck is the first AdmissionCheck of MultiKueue's; nil if there is none.
func (k *KueueFacts) MultiKueueCheck() *kueue.AdmissionCheck {
	for _, c := range k.Checks {
		if c.IsMultiKueue() {
			return c
		}
	}
	return nil
}

// StateOf is how MultiKueue's check stands for a Workload, nil if it has none.
func (k *KueueFacts) StateOf(w *kueue.Workload) *kueue.CheckState {
	for i := range w.Status.AdmissionChecks {
		state := &w.Status.AdmissionChecks[i]
		if check := k.CheckNamed(state.Name); check != nil && check.IsMultiKueue() {
			return state
		}
	}
	return nil
}

// configOf is the name of the MultiKueueConfig that a check leads to; ok is false where
// there is no such check, or it is none of MultiKueue's, or names none.
func (k *KueueFacts) configOf(check string) (name string, ok bool) {
	c := k.CheckNamed(check)
	if c == nil || !c.IsMultiKueue() || c.Spec.Parameters == nil {
		return "", false
	}
	return c.Spec.Parameters.Name, true
}

// ClustersBehind are the MultiKueueClusters that some checks lead to, as far as these and
// their configs are known.
func (k *KueueFacts) ClustersBehind(checks []string) []string {
	var names []string
	for _, check := range checks {
		name, ok := k.configOf(check)
		if config := k.ConfigNamed(name); ok && config != nil {
			names = append(names, config.Spec.Clusters...)
		}
	}
	return names
}

// Parts are all of them, in the order in which they are told.
func Parts() []Part {
	return append([]Part{
		PartKinds, PartKueue, PartWorkloads, PartQueues, PartChecks, PartConfigs, PartClusters, PartSecrets, PartNamespaces, PartJobs, PartPods, PartEvents, PartLeases, PartVersion,
	}, SetupParts()...)
}

// doing tells what was read when a part failed.
func (p Part) doing() string { return fmt.Sprintf("read %s", p) }

// ErrClaimsUnknown is wrapped by the gap there is where Workloads could not be
// read, and so MultiKueue's Jobs without a status could not be told apart from
// unclaimed ones. All Jobs were visited nevertheless.
var ErrClaimsUnknown = errors.New("jobs of MultiKueue without a status may be unclaimed")
