package inspect

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Facts is what was read of one cluster. A part that could not be read is empty, and Gaps has the
// reason.
type Facts struct {
	// Context is the context through which the cluster was read.
	Context string
	// ClusterUID identifies the cluster, "" if unknown. NamespaceUIDs are the UIDs of namespaces
	// that also identify it, as in delegation.Cluster.
	ClusterUID    string
	NamespaceUIDs map[string]string
	// Namespace is the namespace whose Jobs were read, "" for all.
	Namespace string
	Skew      kubecontext.Skew
	// LeastSkew is by how much the clock is ahead at least, if that is more than Skew. SkewProof names the object that
	// proves it; "" if none does.
	LeastSkew time.Duration
	SkewProof string
	// Err is why nothing at all could be read.
	Err error
	// RestErr is why nothing but the object requested by name could be read, although more was
	// requested.
	RestErr error
	// Version is the version of the API server, such as "v1.36.3"; "" if not requested.
	Version string
	// Namespaces are the existing namespaces; nil if not requested or not readable.
	Namespaces map[string]Namespace
	// Kinds are the requested kinds: apart from gaps, Jobs has all their objects. Nothing is known
	// about objects of other kinds.
	Kinds []delegation.Kind
	// Absent are the objects outside Namespace that were requested by name and do not exist.
	Absent map[ObjectName]bool
	Jobs   []*Job
	Pods   []*Pod
	Events []*Event
	// Leases are those of dispatched Jobs, by namespace and name; nil if not requested or not
	// readable.
	Leases map[string]*Lease
	// Kueue is nil if the cluster does not serve Kueue's API, or if it was not requested or not
	// readable.
	Kueue *KueueFacts
	// NoKueue is whether the cluster is known not to serve Kueue's API.
	NoKueue bool
	// Classes are the classes of Jobs without a Workload, by the UID of the Job, as far as they were
	// requested.
	Classes map[string]Class
	// Past is nil unless Jobs that finished were requested.
	Past *Past
	// Environment is what a cluster has for Pods; nil if not requested.
	Environment *Environment
	// Setup is how the cluster is set up; nil if not requested. Only doctor requests it.
	Setup *Setup
	Gaps  map[Part]error
	// Unrequested are the parts that were not requested, so that their absence means nothing.
	Unrequested map[Part]bool

	// Selected are the UIDs of the Jobs that match the query's label selector; nil if it has none.
	// Other Jobs are read too, because mirrors need not carry the labels of their origins.
	Selected sets.Set[string]

	index *index
	// podUIDs are the UIDs of Pods, for AddPod.
	podUIDs sets.Set[string]
}

// Namespace holds the needed fields of a Namespace.
type Namespace struct {
	Name, UID string
	Labels    map[string]string
	// CreatedAt is by the cluster's clock.
	CreatedAt time.Time
	// IsTerminating is whether it is being deleted, so that nothing can be created in it.
	IsTerminating bool
}

// Part is a part of what is read of a cluster.
type Part string

// The parts. Their values appear in messages.
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

// The parts of Capacity. They are read if a Job waits. A gap is reported together with the unknown
// quota, not as an error.
const (
	PartClusterQueues Part = "ClusterQueues"
	PartCohorts       Part = "Cohorts"
	PartFlavors       Part = "ResourceFlavors"
	PartTopologies    Part = "Topologies"
	PartClaims        Part = "workloads of all namespaces"
	PartLimitRanges   Part = "LimitRanges"
)

// Clone returns a copy that can be extended without changing f; nil if nothing could be read.
func (f *Facts) Clone() *Facts {
	if f == nil || f.Err != nil {
		return nil
	}
	c := *f
	c.Jobs, c.Pods, c.Events = slices.Clip(f.Jobs), slices.Clip(f.Pods), slices.Clip(f.Events)
	c.podUIDs, c.Environment = nil, f.Environment.clone()
	c.Leases, c.Gaps, c.Absent = maps.Clone(f.Leases), maps.Clone(f.Gaps), maps.Clone(f.Absent)
	return &c
}

// AddPod adds a Pod once. Several kinds may find it by their labels.
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

// Selects reports whether a Job matches the query's label selector.
func (f *Facts) Selects(j *Job) bool { return f.Selected == nil || f.Selected.Has(j.UID) }

// IsRequested reports whether objects of a kind were requested, in any version.
func (f *Facts) IsRequested(kind delegation.Kind) bool {
	return f != nil && slices.ContainsFunc(f.Kinds, func(k delegation.Kind) bool {
		return k.Kind == kind.Kind && k.Resource.Group == kind.Resource.Group
	})
}

// KindOf returns the kind of an object as the cluster serves it, otherwise as it was read.
func (f *Facts) KindOf(j *Job) delegation.Kind {
	for _, k := range f.Kinds {
		if k.GroupVersionKind() == j.GetObjectKind().GroupVersionKind() {
			return k
		}
	}
	return j.Row()
}

// PartOf returns the part for the objects of a kind.
func PartOf(kind delegation.Kind) Part {
	return Part(kind.ResourceName())
}

// parts returns all parts, including the kinds with gaps.
func (f *Facts) parts() []Part {
	parts := f.KindParts()
	for _, part := range Parts() {
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// KindParts returns the gaps that are kinds of objects, sorted.
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

// SortJobs sorts the Jobs by name, because lists have no fixed order.
func (f *Facts) SortJobs() {
	slices.SortFunc(f.Jobs, byName)
}

// AddGap records that a part could not be read. Of several reasons it keeps the alphabetically
// first: pieces of a part are read in parallel, so the first to fail would be random.
func (f *Facts) AddGap(part Part, err error) {
	if err != nil && comesFirst(err, f.Gaps[part]) {
		f.Gaps[part] = err
	}
}

// Unread returns why a part is unknown; nil if it was read. A nil Facts was not read.
func (f *Facts) Unread(part Part) error {
	switch {
	case f == nil || f.Err == nil && f.Unrequested[part]:
		return ErrNotRequested
	case f.Err != nil:
		return f.Err
	}
	return f.Gaps[part]
}

// ErrNotRequested means that a part was never requested.
var ErrNotRequested = errors.New("not requested")

// comesFirst reports whether err replaces other, which may be nil.
func comesFirst(err, other error) bool { return other == nil || err.Error() < other.Error() }

// Parts returns all parts, in the order of reports.
func Parts() []Part {
	return append([]Part{
		PartKinds, PartKueue, PartWorkloads, PartQueues, PartChecks, PartConfigs, PartClusters, PartSecrets, PartNamespaces, PartJobs, PartPods, PartEvents, PartLeases, PartVersion,
	}, setupParts()...)
}

// doing describes the request that failed, for errors.
func (p Part) doing() string { return fmt.Sprintf("read %s", p) }

// ErrClaimsUnknown is wrapped by the gap for unreadable Workloads. Without them, Jobs of MultiKueue
// without a status may or may not be unclaimed. All Jobs were read nevertheless.
var ErrClaimsUnknown = errors.New("jobs of MultiKueue without a status may be unclaimed")

// ClassName names a class of a kind. It is zero for none.
type ClassName struct {
	Kind, Name string
	// Resource is the kind's resource for kubectl.
	Resource string
}

// WorkloadPriorityClass returns the name of one of Kueue's classes.
func WorkloadPriorityClass(name string) ClassName {
	return ClassName{Kind: "WorkloadPriorityClass", Name: name, Resource: "workloadpriorityclasses.kueue.x-k8s.io"}
}

// Class is the class that gives a Job its priority: a WorkloadPriorityClass or, without one, a
// PriorityClass. Kueue creates no Workload without it.
type Class struct {
	// Name is zero if the Job names no class.
	Name ClassName
	// IsMissing is whether the class does not exist.
	IsMissing bool
	// Unread is why nothing is known about it, "" if it was read.
	Unread string
}

// MissingClass returns the class that a Job names and that does not exist; ok is false if it exists, or
// if that is unknown.
func (f *Facts) MissingClass(j *Job) (name ClassName, ok bool) {
	if f == nil {
		return ClassName{}, false
	}
	class := f.Classes[j.UID]
	return class.Name, class.IsMissing
}

// AddClass records the class of a Job.
func (f *Facts) AddClass(j *Job, class Class) {
	if f.Classes == nil {
		f.Classes = map[string]Class{}
	}
	f.Classes[j.UID] = class
}
