package inspect

import (
	"fmt"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Verdict reports whether a waiting Job could run on a cluster.
type Verdict string

// The verdicts, the best first.
const (
	// Fits means that enough quota is free now. Other Jobs may still come first.
	Fits Verdict = "fits"
	// Waits means that the Job may run later: the quota is in use, or something else must happen
	// first.
	Waits Verdict = "waits"
	// Unknown means that the readable objects do not show it.
	Unknown Verdict = "unknown"
	// Never means that the Job cannot run unless you or an administrator changes something.
	Never Verdict = "never"
)

// Verdicts returns all verdicts, the best first.
func Verdicts() []Verdict { return []Verdict{Fits, Waits, Unknown, Never} }

// Placement is a candidate cluster for a waiting Job, and whether the Job could run there.
type Placement struct {
	// Context is the context of the cluster; empty if unknown.
	Context string `json:"context"`
	// Cluster is the name of the MultiKueueCluster; empty for the manager itself, or if there is
	// none.
	Cluster string `json:"cluster"`
	// Manager is whether this is the management cluster, which dispatches to the others and must
	// reserve quota first.
	Manager bool `json:"manager"`
	// SumsWorkers is whether this is the management cluster, and the sum of its connected workers is its quota.
	SumsWorkers bool `json:"-"`
	// Chosen is whether the Job would be dispatched to this cluster.
	Chosen bool `json:"chosen,omitempty"`
	// Verdict is whether the Job could run on the cluster.
	Verdict Verdict `json:"verdict"`
	// Reason is why, in one word.
	Reason PlacementReason `json:"reason"`
	// Message says why, with numbers.
	Message string `json:"message"`
	// Resource is the scarcest resource that the Job requests; empty if none decides.
	Resource string `json:"resource"`
	// Flavor is the ResourceFlavor that decides.
	Flavor string `json:"flavor"`
	// Needs is how much of the resource the Job requests, as a quantity.
	Needs string `json:"needs"`
	// Partial is with how few Pods the Job may start; absent if it must start with all. Needs is
	// then for these Pods.
	Partial *PartialStart `json:"partial,omitempty"`
	// PodsAtOnce is how many of the Pods could run at the same time; absent if that is all, or if it
	// is unknown.
	PodsAtOnce *PodsAtOnce `json:"podsAtOnce,omitempty"`
	// Short are the resources that are short together, Resource first: a change of one alone does not
	// help. It is empty if none is.
	Short []ResourceRoom `json:"-"`
	// Uncovered are the requested resources that no flavor of the ClusterQueue has, Resource first.
	Uncovered []string `json:"-"`
	// Free is how much the flavor can give now, as a quantity.
	Free string `json:"free"`
	// Limit is the most that the flavor can ever give, as a quantity.
	Limit string `json:"limit"`
	// IsBorrowing is whether a limit that is short includes quota that the ClusterQueue would borrow.
	IsBorrowing bool `json:"-"`
	// Closed says which queues are also closed, if the Job exceeds a limit there.
	Closed string `json:"-"`
	// Conditions are what the Job needs to run there, in the order of checks. Conditions after the
	// first that does not hold may not have been checked.
	Conditions []PlacementCondition `json:"conditions"`
	// Flavors are the flavors that were tried.
	Flavors []FlavorTried `json:"flavors"`
	// Holders are the Workloads that hold the missing quota, the largest first.
	Holders []Holder `json:"holders"`
	// Blockers are the first Workloads ahead of the Job in a StrictFIFO queue, in their order: none behind one of them starts
	// before Kueue admits that. Holders has the first, too. It is empty in other queues.
	Blockers []Holder `json:"-"`
	// HoldersUnread is why the Workloads that hold the missing quota are unknown; nil if they are known.
	HoldersUnread error `json:"-"`
	// Position is the Job's position in the queue there; null if unknown.
	Position *QueuePosition `json:"position"`
	// StartsBy is when the Job starts there at the latest, if no Job of higher priority arrives and
	// the quota stays; null if unknown. It is known if all running Jobs have a
	// maximumExecutionTimeSeconds and the queue is StrictFIFO, without a cohort and AdmissionChecks.
	// Their Pods may take a while to stop.
	StartsBy *metav1.Time `json:"startsBy"`
	// Said is the message of Kueue on that cluster.
	Said string `json:"said"`
	// SaidAt is when Kueue wrote the message; null if it wrote none.
	SaidAt *metav1.Time `json:"saidAt"`
	// Wait is the meaning of Said; nil if Kueue wrote no message.
	Wait *kueue.Wait `json:"-"`
	// Judging is whether Kueue has just given quota to others in the queue or its cohorts, so that a message older than the
	// quota is normal.
	Judging bool `json:"-"`
	// Preempts is whether preempting some of the holders would free the lacking quota, which the
	// queue's policy allows.
	Preempts bool `json:"preempts"`
	// RefusesMirror is whether a ResourceQuota allows no further object of the Job's kind there. Quotas for Pods allow the
	// mirror, and refuse its Pods.
	RefusesMirror bool `json:"-"`
	// Changes are changes that would let the Job run there, each sufficient alone, the smallest
	// first.
	Changes []PlacementChange `json:"changes"`
}

// PartialStart is a Job that Kueue may start with fewer Pods than it requests.
type PartialStart struct {
	// Pods is with how many Pods it may start.
	Pods int64 `json:"pods"`
	// Of is how many Pods it requests.
	Of int64 `json:"of"`
}

// PodsAtOnce is a Job whose Pods cannot all run at the same time.
type PodsAtOnce struct {
	// Pods is how many Pods of a Pod set could run at the same time.
	Pods int64 `json:"pods"`
	// Of is how many Pods the Pod set starts with.
	Of int64 `json:"of"`
	// ResourceQuota is the ResourceQuota that limits them now; empty if the nodes do, even without
	// other Pods.
	ResourceQuota string `json:"resourceQuota,omitempty"`
}

// Text says which limit the Pods exceed. owner is the cluster with "'s", or "its".
func (p *PodsAtOnce) Text(owner string) string {
	if p.ResourceQuota != "" {
		return fmt.Sprintf("%s ResourceQuota %s allows %d of %d Pods now", owner, p.ResourceQuota, p.Pods, p.Of)
	}
	return fmt.Sprintf("%s nodes run at most %d of %d Pods at once", owner, p.Pods, p.Of)
}

// NewPlacement returns a placement of which nothing is known.
func NewPlacement(context string) *Placement {
	return &Placement{
		Context: context, Verdict: Unknown, Reason: Unreadable,
		Conditions: []PlacementCondition{}, Flavors: []FlavorTried{}, Holders: []Holder{}, Changes: []PlacementChange{},
	}
}

// State reports whether a condition of a placement holds.
type State string

// The states.
const (
	Yes      State = "yes"
	No       State = "no"
	NotKnown State = "unknown"
	// NotAsked means that the condition was not checked, because an earlier one does not hold, or
	// because there is nothing to check.
	NotAsked State = "-"
)

// States returns all states.
func States() []State { return []State{Yes, No, NotKnown, NotAsked} }

// PlacementCondition is something that a Job needs to run on a cluster.
type PlacementCondition struct {
	// Name is the name of the condition.
	Name string `json:"name"`
	// State is whether the condition holds.
	State State `json:"state"`
	// Text says more in a few words.
	Text string `json:"text"`
}

// The names of conditions, in the order of checks.
const (
	ConditionReached   = "reached"
	ConditionNamespace = "namespace"
	ConditionQueue     = "queue"
	ConditionFlavor    = "flavor"
	ConditionQuota     = "quota"
	ConditionChecks    = "checks"
	// ConditionPods is how many nodes could run the Pods if they were empty.
	ConditionPods = "pods"
	// ConditionPreflight is the result of the checks that the command dispatch makes before it
	// creates anything.
	ConditionPreflight = "preflight"
)

// PlacementConditions returns the names of all conditions.
func PlacementConditions() []string {
	return []string{ConditionReached, ConditionNamespace, ConditionQueue, ConditionFlavor, ConditionQuota, ConditionChecks, ConditionPods, ConditionPreflight}
}

// Condition returns the condition with this name; its state is NotAsked if the placement has none.
func (p *Placement) Condition(name string) PlacementCondition {
	i := slices.IndexFunc(p.Conditions, func(c PlacementCondition) bool { return c.Name == name })
	if i < 0 {
		return PlacementCondition{Name: name, State: NotAsked}
	}
	return p.Conditions[i]
}

// LeastChange returns the share of the smallest change that would help, as a part of the request. It is
// infinite if no change would.
func (p *Placement) LeastChange() float64 {
	least := math.Inf(1)
	for i := range p.Changes {
		least = min(least, p.Changes[i].Share)
	}
	return least
}

// FlavorTried is a flavor for one Pod set, and why the Pod set fits or not.
type FlavorTried struct {
	// PodSet is the name of the Pod set.
	PodSet string `json:"podSet"`
	// Flavor is the name of the ResourceFlavor.
	Flavor string `json:"flavor"`
	// Verdict is whether the Pod set fits into the flavor.
	Verdict Verdict `json:"verdict"`
	// Message says why, with numbers.
	Message string `json:"message"`
	// Resources are what the Pod set requests of the flavor and what the flavor has.
	Resources []ResourceRoom `json:"resources"`
}

// ResourceRoom compares the request for a resource with the free and the total quota, both
// including what can be borrowed.
type ResourceRoom struct {
	// Resource is the name of the resource.
	Resource string `json:"resource"`
	// Asked is how much the Pod set requests, as a quantity, including earlier Pod sets of the same
	// Job.
	Asked string `json:"asked"`
	// Free is how much the flavor can give now, as a quantity.
	Free string `json:"free"`
	// Most is the most that the flavor can ever give, as a quantity.
	Most string `json:"most"`
}

// Amounts lists an amount of each resource, such as "30 cpu and 18 nvidia.com/gpu".
func Amounts(all []ResourceRoom, of func(*ResourceRoom) string) string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = of(&all[i])
	}
	return And(texts)
}

// Holder is a Workload that holds missing quota.
type Holder struct {
	// Kind is the kind of the object that holds the quota.
	Kind string `json:"kind"`
	// Namespace is the namespace of the object that holds the quota.
	Namespace string `json:"namespace"`
	// Name is the name of the object that holds the quota.
	Name string `json:"name"`
	// ClusterQueue is the ClusterQueue whose quota is used.
	ClusterQueue string `json:"clusterQueue"`
	// Flavor is the ResourceFlavor of the quota.
	Flavor string `json:"flavor"`
	// Resource is the name of the resource.
	Resource string `json:"resource"`
	// Amount is how much the object holds, as a quantity.
	Amount string `json:"amount"`
	// Priority is the priority of the object's Workload.
	Priority int32 `json:"priority"`
	// Since is when the Workload reserved the quota.
	Since *metav1.Time `json:"since"`
	// Admitted is whether the Workload is admitted. Otherwise it holds the quota without running.
	Admitted bool `json:"admitted"`
	// Orphan is whether the same manager created the Workload there and no longer has a Workload of
	// that name.
	Orphan bool `json:"orphan"`
	// OriginUnread are the contexts that were not read and may have the object's origin, if no
	// other context has it. It is then an orphan or not.
	OriginUnread []string `json:"originUnread"`
	// IsLocal is whether the cluster itself has the object. Otherwise only the manager of the Workload has it:
	// the object of this name on the cluster, if any, is another one.
	IsLocal bool `json:"-"`
	// Preemptible is whether the queue's policy lets the waiting Job preempt this Workload.
	Preemptible bool `json:"preemptible"`
}

// QueuePosition is a position in a ClusterQueue.
type QueuePosition struct {
	// ClusterQueue is the name of the queue.
	ClusterQueue string `json:"clusterQueue"`
	// Place is the position, from 1.
	Place int `json:"place"`
	// Of is how many Workloads wait in the queue; 0 if unknown.
	Of int `json:"of"`
	// Ahead are the Jobs of the first Workloads that come before the Job, as namespace/name; the
	// name of the Workload if its Job is unknown. It can have fewer entries than Place-1.
	Ahead []string `json:"ahead"`
	// Source is the source of the position: the visibility API of Kueue, or a computation of this
	// plugin from the objects read.
	Source PositionSource `json:"source"`
}

// PositionSource is the source of a position in a queue.
type PositionSource string

// The sources.
const (
	ByKueue  PositionSource = "visibility"
	Computed PositionSource = "computed"
)

// PositionSources returns all sources.
func PositionSources() []PositionSource { return []PositionSource{ByKueue, Computed} }

// deepCopy returns a copy that shares no mutable part with p.
func (p *Placement) deepCopy() Placement {
	c := *p
	c.Conditions, c.Holders, c.Changes = slices.Clone(p.Conditions), slices.Clone(p.Holders), slices.Clone(p.Changes)
	c.Flavors, c.Short, c.Blockers = slices.Clone(p.Flavors), slices.Clone(p.Short), slices.Clone(p.Blockers)
	c.Uncovered = slices.Clone(p.Uncovered)
	if p.Partial != nil {
		partial := *p.Partial
		c.Partial = &partial
	}
	for i := range c.Changes {
		c.Changes[i].Then = slices.Clone(p.Changes[i].Then)
	}
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
