package inspect

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Verdict says whether what waits could run on a cluster.
type Verdict string

// The verdicts, the best first.
const (
	// Fits: there is room now. It does not say that nobody else is first.
	Fits Verdict = "fits"
	// Waits: there can be room, and is none now, or something else has to come to pass.
	Waits Verdict = "waits"
	// Unknown: it cannot be told from what may be looked at.
	Unknown Verdict = "unknown"
	// Never: not unless somebody changes something.
	Never Verdict = "never"
)

// Verdicts returns all verdicts, the best first.
func Verdicts() []Verdict { return []Verdict{Fits, Waits, Unknown, Never} }

// Placement is a candidate cluster for what waits, and whether it could run there.
type Placement struct {
	// Context reaches the cluster, "" if it is not known which does; Cluster is what its
	// manager calls it, "" for the manager itself.
	Context string `json:"context"`
	// Cluster is the name of the MultiKueueCluster; empty if there is none.
	Cluster string `json:"cluster"`
	// Manager is whether it is the cluster that gives to others, and gives quota first.
	Manager bool `json:"manager"`
	// Chosen is whether a dispatch would go there.
	Chosen bool `json:"chosen,omitempty"`
	// Verdict is whether the Job could run there.
	Verdict Verdict `json:"verdict"`
	// Reason is why, in one word, and Message in a sentence.
	Reason PlacementReason `json:"reason"`
	// Message says why, with numbers.
	Message string `json:"message"`
	// Resource is the scarcest resource that the Job requests there, "" where none decides.
	// Needs is how much the Job requests of it, Free how much is free now, and Limit the most
	// that Flavor can give, all as Kubernetes quantities.
	Resource string `json:"resource"`
	// Flavor is the ResourceFlavor that decides.
	Flavor string `json:"flavor"`
	// Needs is what the Job requests of the resource, as a quantity.
	Needs string `json:"needs"`
	// Free is what the flavor can give now, as a quantity.
	Free string `json:"free"`
	// Limit is the most that the flavor can ever give, as a quantity.
	Limit string `json:"limit"`
	// Conditions are what has to hold, in the order in which it is asked. Behind the first
	// that does not hold, some may not have been looked at.
	Conditions []PlacementCondition `json:"conditions"`
	// Flavors are those that were tried.
	Flavors []FlavorTried `json:"flavors"`
	// Holders hold what it lacks, those that hold most of it first.
	Holders []Holder `json:"holders"`
	// Position is its place in the queue there, null where that is not known.
	Position *QueuePosition `json:"position"`
	// StartsBy is when it starts there at the latest, if no Job of higher priority arrives, and
	// the quota stays: what runs there now has a maximumExecutionTimeSeconds, and the queue is
	// StrictFIFO. Its Pods may take a while to stop. Null where nothing bounds that.
	StartsBy *metav1.Time `json:"startsBy"`
	// Said is what Kueue there says itself, and SaidAt since when.
	Said string `json:"said"`
	// SaidAt is when Kueue said so; null where it did not.
	SaidAt *metav1.Time `json:"saidAt"`
	// Wait is what Said means, nil where Kueue says nothing.
	Wait *kueue.Wait `json:"-"`
	// Changes are what would let it run there, each by itself, the smallest first.
	Changes []PlacementChange `json:"changes"`
}

// NewPlacement is a placement of which nothing is known.
func NewPlacement(context string) *Placement {
	return &Placement{
		Context: context, Verdict: Unknown, Reason: Unreadable,
		Conditions: []PlacementCondition{}, Flavors: []FlavorTried{}, Holders: []Holder{}, Changes: []PlacementChange{},
	}
}

// State says whether a condition of a placement holds.
type State string

// The states.
const (
	Yes      State = "yes"
	No       State = "no"
	NotKnown State = "unknown"
	// NotAsked: it was not looked at, since something before it does not hold, or since
	// there is nothing to ask.
	NotAsked State = "-"
)

// States returns all states.
func States() []State { return []State{Yes, No, NotKnown, NotAsked} }

// PlacementCondition is one thing that has to hold for a Job to run on a cluster.
type PlacementCondition struct {
	// Name is the name of the condition.
	Name string `json:"name"`
	// State is whether it holds.
	State State `json:"state"`
	// Text says more in a few words.
	Text string `json:"text"`
}

// The names of conditions, in the order in which they are asked.
const (
	ConditionReached   = "reached"
	ConditionNamespace = "namespace"
	ConditionQueue     = "queue"
	ConditionFlavor    = "flavor"
	ConditionQuota     = "quota"
	ConditionChecks    = "checks"
	// ConditionPods is how many nodes could take the pods, were they empty.
	ConditionPods = "pods"
	// ConditionPreflight is what the dispatch command finds out before it makes anything.
	ConditionPreflight = "preflight"
)

// PlacementConditions are their names.
func PlacementConditions() []string {
	return []string{ConditionReached, ConditionNamespace, ConditionQueue, ConditionFlavor, ConditionQuota, ConditionChecks, ConditionPods, ConditionPreflight}
}

// Condition is one of a placement's, by its name.
func (p *Placement) Condition(name string) PlacementCondition {
	i := slices.IndexFunc(p.Conditions, func(c PlacementCondition) bool { return c.Name == name })
	if i < 0 {
		return PlacementCondition{Name: name, State: NotAsked}
	}
	return p.Conditions[i]
}

// FlavorTried is a flavor for the pods of one kind, and why it suits or not.
type FlavorTried struct {
	// PodSet is the name of the Pod set.
	PodSet string `json:"podSet"`
	// Flavor is the name of the ResourceFlavor.
	Flavor string `json:"flavor"`
	// Verdict is whether the Pod set fits into the flavor.
	Verdict Verdict `json:"verdict"`
	// Message says why, with numbers.
	Message string `json:"message"`
	// Resources are what is asked of it and what it has.
	Resources []ResourceRoom `json:"resources"`
}

// ResourceRoom is what is asked of a resource, with what other pods of the same Job are
// given before, what is free, and what there is at most, all with what may be borrowed.
type ResourceRoom struct {
	// Resource is the name of the resource.
	Resource string `json:"resource"`
	// Asked is what the Pod set requests, as a quantity.
	Asked string `json:"asked"`
	// Free is what the flavor can give now, as a quantity.
	Free string `json:"free"`
	// Most is the most that the flavor can ever give, as a quantity.
	Most string `json:"most"`
}

// Holder is a Workload that holds what is lacking.
type Holder struct {
	// Kind is that of the object that holds the quota.
	Kind string `json:"kind"`
	// Namespace is that of the object that holds the quota.
	Namespace string `json:"namespace"`
	// Name is that of the object that holds the quota.
	Name string `json:"name"`
	// ClusterQueue is the queue that its quota counts in.
	ClusterQueue string `json:"clusterQueue"`
	// Flavor is the ResourceFlavor.
	Flavor string `json:"flavor"`
	// Resource is the name of the resource.
	Resource string `json:"resource"`
	// Amount is how much it holds, as a quantity.
	Amount string `json:"amount"`
	// Priority is the priority of its Workload.
	Priority int32 `json:"priority"`
	// Since is when it reserved the quota.
	Since *metav1.Time `json:"since"`
	// Orphan is whether the same manager sent it there and has no Workload of that name any more.
	Orphan bool `json:"orphan"`
	// Preemptible is whether the queue's policy lets it be preempted for this.
	Preemptible bool `json:"preemptible"`
}

// QueuePosition is a place in a ClusterQueue.
type QueuePosition struct {
	// ClusterQueue is the name of the queue.
	ClusterQueue string `json:"clusterQueue"`
	// Place counts from 1, and Of is how many wait there, 0 where that is not known.
	Place int `json:"place"`
	// Of is how many Workloads wait in the queue.
	Of int `json:"of"`
	// Ahead are the first of those that come before it, as namespace/name.
	Ahead []string `json:"ahead"`
	// Source is who says so: Kueue itself, by its visibility API, or this plugin, computed
	// from what was read.
	Source PositionSource `json:"source"`
}

// PositionSource is who says where in a queue something is.
type PositionSource string

// The sources.
const (
	ByKueue  PositionSource = "visibility"
	Computed PositionSource = "computed"
)

// PositionSources returns all sources.
func PositionSources() []PositionSource { return []PositionSource{ByKueue, Computed} }

// PlacementChange is what would let it run.
type PlacementChange struct {
	// Message says what has to change for it to fit.
	Message string `json:"message"`
	// Command does it, "" where no single one does.
	Command string `json:"command"`
	// Share is which part of what is asked would have to go, or to be added: how big the
	// change is, where that can be told.
	Share float64 `json:"-"`
}

// deepCopy is a copy that shares no mutable part with p.
func (p *Placement) deepCopy() Placement {
	c := *p
	c.Conditions, c.Holders, c.Changes = slices.Clone(p.Conditions), slices.Clone(p.Holders), slices.Clone(p.Changes)
	c.Flavors = slices.Clone(p.Flavors)
	for i := range c.Flavors {
		c.Flavors[i].Resources = slices.Clone(p.Flavors[i].Resources)
	}
	for i := range c.Holders {
		c.Holders[i].Since = p.Holders[i].Since.DeepCopy()
	}
	if p.Position != nil {
		position := *p.Position
		position.Ahead = slices.Clone(p.Position.Ahead)
		c.Position = &position
	}
	c.SaidAt, c.StartsBy = p.SaidAt.DeepCopy(), p.StartsBy.DeepCopy()
	return c
}

// Unsubmitted is the trace of what is in no cluster yet.
func Unsubmitted(kind, namespace, name string) *Trace {
	v := &Inventory{}
	t := v.brief(Pair{})
	t.State = StateNotSubmitted
	t.Origin = &Job{Kind: kind, Namespace: namespace, Name: name, Status: delegation.Pending, Mirrors: []Ref{}, Findings: []string{}}
	return t
}
