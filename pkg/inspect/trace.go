package inspect

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Trace is the chain of one Job, from its origin to its Pods.
type Trace struct {
	metav1.TypeMeta `json:",inline"`
	// Origin is the origin; null if it was not found. Of a Job that trace read from a file, only the
	// kind, the namespace, the name and the owner are known.
	Origin *Job `json:"origin"`
	// Mirrors are the mirrors, the most important first.
	Mirrors []TraceMirror `json:"mirrors"`
	// State is the state of the Job, in one word. It is Unknown if trace lists all Jobs, because it follows no
	// chains then. Trace a single Job for its state.
	State JobState `json:"state"`
	// Reason says in one word why the Job is in its state.
	Reason JobReason `json:"reason"`
	// Message says why the Job is in its state, with numbers; "" if the state says it all.
	Message string `json:"message"`
	// Summary is the state and the message in one sentence.
	Summary string `json:"summary"`
	// Since is when the state began; null if unknown.
	Since *metav1.Time `json:"since"`
	// Fixes are ways to make the Job run, the best first.
	Fixes []command.Fix `json:"fixes"`
	// Remedy is Fixes as one text, with commands in backquotes.
	Remedy string `json:"remedy"`
	// Unchecked is what the answer depends on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Cost is the quota on the management cluster that the Job holds although no cluster can run
	// it; absent if it holds none, or could run.
	Cost *Cost `json:"cost,omitempty"`
	// Starts is what is known about when a waiting Job will start; absent if nothing is.
	Starts *Starts `json:"starts,omitempty"`
	// Hops are the objects on the chain, each before those that follow from it; null if the chain was not
	// followed.
	Hops []Hop `json:"hops"`
	// Placements are the candidate clusters, and whether the Job could run there; empty if the Job
	// does not wait, or its placement rules are unknown.
	Placements []Placement `json:"placements"`
	// Differences are the fields whose values on a mirror differ from the origin's.
	Differences []Difference `json:"differences"`
	// Timeline lists what happened, the oldest first.
	Timeline []TimelineEntry `json:"timeline"`
	// Life is the Job's states on each cluster over time, for a diagram.
	Life []Interval `json:"-"`
	// Clocks are the clusters with a noticeably wrong clock. Times from these clusters are wrong by
	// as much.
	Clocks []ClockSkew `json:"clocks"`
	// Findings are the problems of the Job; null if they were not checked.
	Findings []Finding `json:"findings"`
	// Errors are the contexts that were not read completely.
	Errors []ContextError `json:"errors"`
}

// TraceMirror is a mirror as a trace shows it.
type TraceMirror struct {
	Job `json:",inline"`
	// Relation says what shows that this is a mirror of the origin.
	Relation Relation `json:"relation"`
	// Current is false for the mirror of an older origin of the same name, and if the origin was not
	// found.
	Current bool `json:"current"`
	// InStep is whether the origin shows the state of the mirror, or has had only a few seconds to
	// do so; false if the origin was not found.
	InStep bool `json:"inStep"`
	// Lag is whether the origin does not show the state of the mirror yet, because that changed only
	// seconds ago.
	Lag bool `json:"lag"`
}

// TraceList is several traces. Those of Jobs that exist lack hops, findings, fixes, placements,
// differences and timeline: the trace of a single Job has them.
type TraceList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the traces.
	Items []Trace `json:"items"`
	// Unchecked is what the list depends on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Errors are the contexts that were not read completely.
	Errors []ContextError `json:"errors"`
}

// ClockSkew is the difference between a cluster's clock and that of this machine.
type ClockSkew struct {
	// Context is the context of the cluster.
	Context string `json:"context"`
	// AheadSeconds is by how many seconds the clock of the cluster is ahead of that of this
	// machine; negative if it is behind.
	AheadSeconds int `json:"aheadSeconds"`
	// AtLeast is whether the difference may be larger: only the dates of objects show it.
	AtLeast bool `json:"atLeast,omitempty"`
}

// NewTrace returns a trace that shows nothing.
func NewTrace() *Trace {
	return &Trace{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "Trace"},
		State:    StateUnknown, Fixes: []command.Fix{}, Unchecked: []Unchecked{},
		Mirrors: []TraceMirror{}, Placements: []Placement{}, Differences: []Difference{}, Timeline: []TimelineEntry{},
		Clocks: []ClockSkew{}, Errors: []ContextError{},
	}
}

// UnsubmittedTrace returns the trace of an object with this owner that is not on any cluster yet.
func UnsubmittedTrace(kind schema.GroupVersionKind, namespace, name string, owner delegation.Owner) *Trace {
	t := NewTrace()
	t.State = StateNotSubmitted
	t.Origin = &Job{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: namespace, Name: name, ManagedBy: owner, Status: delegation.Pending, Mirrors: []Ref{}, Findings: []string{}}
	return t
}

// NewTraceList returns an empty list.
func NewTraceList() *TraceList {
	return &TraceList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "TraceList"},
		Items:    []Trace{}, Unchecked: []Unchecked{}, Errors: []ContextError{},
	}
}

// DeepCopyObject returns a copy that shares no mutable part with t.
func (t *Trace) DeepCopyObject() runtime.Object {
	c := *t
	if t.Origin != nil {
		c.Origin = t.Origin.DeepCopy()
	}
	c.Cost, c.Starts = t.Cost.deepCopy(), t.Starts.deepCopy()
	c.Since, c.Fixes, c.Unchecked = t.Since.DeepCopy(), slices.Clone(t.Fixes), slices.Clone(t.Unchecked)
	c.Mirrors, c.Hops = slices.Clone(t.Mirrors), slices.Clone(t.Hops)
	for i := range c.Mirrors {
		c.Mirrors[i].Job = *t.Mirrors[i].DeepCopy()
	}
	c.Placements = slices.Clone(t.Placements)
	for i := range c.Placements {
		c.Placements[i] = t.Placements[i].deepCopy()
	}
	c.Differences, c.Timeline, c.Life = slices.Clone(t.Differences), slices.Clone(t.Timeline), slices.Clone(t.Life)
	c.Clocks, c.Findings, c.Errors = slices.Clone(t.Clocks), slices.Clone(t.Findings), slices.Clone(t.Errors)
	for i := range c.Findings {
		c.Findings[i] = t.Findings[i].deepCopy()
	}
	return &c
}

// DeepCopyObject returns a copy that shares no mutable part with l.
func (l *TraceList) DeepCopyObject() runtime.Object {
	c := &TraceList{TypeMeta: l.TypeMeta, Unchecked: slices.Clone(l.Unchecked), Errors: slices.Clone(l.Errors)}
	for i := range l.Items {
		if t, ok := l.Items[i].DeepCopyObject().(*Trace); ok {
			c.Items = append(c.Items, *t)
		}
	}
	return c
}

// Cost is the quota on the management cluster that a Job holds although no cluster can run it.
type Cost struct {
	// Context is the context of the management cluster.
	Context string `json:"context"`
	// ClusterQueue is the ClusterQueue whose quota the Job uses.
	ClusterQueue string `json:"clusterQueue"`
	// Holds is how much of each resource the Job holds, as the sum over all flavors.
	Holds map[string]string `json:"holds"`
	// Blocks are the Jobs that wait for this quota, in the ClusterQueue or its cohort, as
	// NAMESPACE/NAME.
	Blocks []string `json:"blocks"`
	// BlocksKnown is false if the Workloads of the cluster could not be read, so that more Jobs may
	// wait.
	BlocksKnown bool `json:"blocksKnown"`
	// Release is a command that frees the quota. It does not make the Job run.
	Release command.Fix `json:"release"`
}

// Text says how much the Job holds, and which Jobs wait for it.
func (c *Cost) Text() string {
	var holds []string
	for _, name := range slices.Sorted(maps.Keys(c.Holds)) {
		holds = append(holds, c.Holds[name]+" "+name)
	}
	text := fmt.Sprintf("%s of ClusterQueue %s on %s", And(holds), c.ClusterQueue, c.Context)
	switch {
	case len(c.Blocks) == 1:
		text += ", for which " + c.Blocks[0] + " waits"
	case len(c.Blocks) > 1:
		text += fmt.Sprintf(", for which %d Jobs wait: %s", len(c.Blocks), Some(c.Blocks))
	case !c.BlocksKnown:
		text += "; whether others wait for it is unknown"
	}
	return text
}

func (c *Cost) deepCopy() *Cost {
	if c == nil {
		return nil
	}
	d := *c
	d.Holds, d.Blocks, d.Release.Command = maps.Clone(c.Holds), slices.Clone(c.Blocks), slices.Clone(c.Release.Command)
	return &d
}

// Starts is what is known about when a waiting Job will start. There is no single estimate.
type Starts struct {
	// By is when the Job starts at the latest, if no Job of higher priority arrives and the quota
	// stays; null if unknown. Pods that have reached their time limit must stop first.
	By *metav1.Time `json:"by"`
	// Context is the context whose queue determines By, and whose clock it uses; "" without By.
	Context string `json:"context"`
	// Samples is how many Jobs the waits are measured from: the last ones of the same queue and
	// size that were admitted, at most 20; 0 if there are fewer than five.
	Samples int `json:"samples"`
	// WaitMedianSeconds is the median wait of the samples; null without samples.
	WaitMedianSeconds *int64 `json:"waitMedianSeconds"`
	// WaitP90Seconds is the 90th percentile of the waits of the samples; null without samples.
	WaitP90Seconds *int64 `json:"waitP90Seconds"`
}

func (s *Starts) deepCopy() *Starts {
	if s == nil {
		return nil
	}
	c := *s
	c.By, c.WaitMedianSeconds, c.WaitP90Seconds = s.By.DeepCopy(), clone(s.WaitMedianSeconds), clone(s.WaitP90Seconds)
	return &c
}

// Hop is one object on the chain from an origin to its Pods.
type Hop struct {
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Namespace is the namespace of the object; empty if it is cluster-scoped.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the object.
	Name string `json:"name"`
	// Context is the context of the object; empty if no known context reaches it.
	Context string `json:"context"`
	// State is a state in the object's own words, or NotFound, Forbidden, Unreachable or Unknown.
	State string `json:"state"`
	// Message says more, in the words of the object's controller.
	Message string `json:"message"`
	// Health is what State means for the chain.
	Health Health `json:"health"`
	// Since is when State began; null if unknown.
	Since *metav1.Time `json:"since"`
	// Depth is how many hops precede this one in the chain. Its parent is the last hop before it
	// with a smaller depth.
	Depth int `json:"depth"`
}

// Health reports whether the chain continues at a hop.
type Health string

// The values of Health.
const (
	// HealthOK means that the object is as it should be.
	HealthOK Health = "ok"
	// HealthWaiting means that the object is not ready yet.
	HealthWaiting Health = "waiting"
	// HealthBad means that the chain cannot continue without help.
	HealthBad Health = "bad"
	// HealthUnknown means that the object could not be checked.
	HealthUnknown Health = "unknown"
)

// Healths returns all values of Health.
func Healths() []Health { return []Health{HealthOK, HealthWaiting, HealthBad, HealthUnknown} }

// TimelineEntry is one event of an object on the chain.
type TimelineEntry struct {
	// Time is when it happened, by the clock of the cluster.
	Time metav1.Time `json:"time"`
	// Context is the context where it happened.
	Context string `json:"context"`
	// Object is the object, such as "Workload/job-train-1c348".
	Object string `json:"object"`
	// Event says what happened.
	Event string `json:"event"`
}

// LifeState is a state of a Job on a cluster.
type LifeState string

// The states of a Job's life.
const (
	// LifeEarlier is the time before the last eviction. Only a few events of it are kept, because
	// Kueue dates only the last admission.
	LifeEarlier LifeState = "earlier"
	// LifeWaiting is the time without quota, or before the start if there is no Workload.
	LifeWaiting LifeState = "waiting"
	// LifeEvicted is the time without quota after an eviction.
	LifeEvicted LifeState = "evicted"
	// LifeOffered is the time with quota, before the admission checks are done. On a management
	// cluster of MultiKueue, the Workload is then offered to the workers.
	LifeOffered LifeState = "offered"
	// LifeAdmitted is the time of admission without Pods on this cluster.
	LifeAdmitted LifeState = "admitted"
	// LifeRunning is the time from the first Pod on.
	LifeRunning LifeState = "running"
	// LifeLost is a time in which the management cluster has no connection to this cluster.
	LifeLost LifeState = "lost"
)

// LifeStates returns all states, in the order in which a Job goes through them.
func LifeStates() []LifeState {
	return []LifeState{LifeEarlier, LifeWaiting, LifeEvicted, LifeOffered, LifeAdmitted, LifeRunning, LifeLost}
}

// Interval is a time in which a Job was in one state on one cluster. Times are by the cluster's own
// clock.
type Interval struct {
	// Cluster is a context, or the name of a MultiKueueCluster that no context reaches.
	Cluster string
	State   LifeState
	From    time.Time
	// To is when the state ended, or when the cluster was read if it continues. Both times are by the
	// cluster's clock.
	To time.Time
	// IsOpen is whether the state continues.
	IsOpen bool
}
