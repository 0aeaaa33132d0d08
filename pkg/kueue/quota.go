package kueue

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceGroup is a set of resources with the flavors that have quota of
// them (kueue: apis/kueue/v1beta2/clusterqueue_types.go).
type ResourceGroup struct {
	CoveredResources []string       `json:"coveredResources,omitempty"`
	Flavors          []FlavorQuotas `json:"flavors,omitempty"`
}

// FlavorQuotas are the quotas of one flavor.
type FlavorQuotas struct {
	Name      string          `json:"name"`
	Resources []ResourceQuota `json:"resources,omitempty"`
}

// ResourceQuota is how much there is of a resource, how much more may be
// borrowed, and how much may be lent. Nil means no limit.
type ResourceQuota struct {
	Name           string             `json:"name"`
	NominalQuota   resource.Quantity  `json:"nominalQuota"`
	BorrowingLimit *resource.Quantity `json:"borrowingLimit,omitempty"`
	LendingLimit   *resource.Quantity `json:"lendingLimit,omitempty"`
}

// EffectiveQuotas are quotas that something else than the spec sets. They
// override the spec (Kueue 0.20, gate DynamicQuotaOrchestration).
type EffectiveQuotas struct {
	OrchestratorRef *struct {
		Kind string `json:"kind,omitempty"`
		Name string `json:"name,omitempty"`
	} `json:"orchestratorRef,omitempty"`
	ResourceGroups []ResourceGroup `json:"resourceGroups,omitempty"`
}

// orchestrator describes what sets the quotas.
func (e *EffectiveQuotas) orchestrator() string {
	if e.OrchestratorRef == nil || e.OrchestratorRef.Name == "" {
		return "the quota orchestrator"
	}
	return strings.TrimSpace(e.OrchestratorRef.Kind + " " + e.OrchestratorRef.Name)
}

// nominal returns the quota of a resource in a flavor from the spec, nil if
// there is none. The ClusterQueue may be nil.
func (q *ClusterQueue) nominal(flavor, resourceName string) *ResourceQuota {
	if q == nil {
		return nil
	}
	for _, group := range q.Spec.ResourceGroups {
		for _, quotas := range group.Flavors {
			for i := range quotas.Resources {
				if quotas.Name == flavor && quotas.Resources[i].Name == resourceName {
					return &quotas.Resources[i]
				}
			}
		}
	}
	return nil
}

// Preemption says which Workloads a ClusterQueue's Workloads may preempt.
// Empty means Never.
type Preemption struct {
	WithinClusterQueue  string `json:"withinClusterQueue,omitempty"`
	ReclaimWithinCohort string `json:"reclaimWithinCohort,omitempty"`
	BorrowWithinCohort  *struct {
		Policy               string `json:"policy,omitempty"`
		MaxPriorityThreshold *int32 `json:"maxPriorityThreshold,omitempty"`
	} `json:"borrowWithinCohort,omitempty"`
}

// Borrows reports whether a request that borrows quota may preempt Workloads of other ClusterQueues.
func (p *Preemption) Borrows() bool {
	return p.BorrowWithinCohort != nil && p.BorrowWithinCohort.Policy != "" && p.BorrowWithinCohort.Policy != NeverPreempt
}

// BorrowsFrom reports whether a request that borrows quota may preempt a Workload of another ClusterQueue
// that has a lower priority than itself.
func (p *Preemption) BorrowsFrom(priority int32) bool {
	if !p.Borrows() {
		return false
	}
	most := p.BorrowWithinCohort.MaxPriorityThreshold
	return most == nil || priority <= *most
}

// Values of a preemption policy. LowerOrNewer includes newer Workloads of
// equal priority.
const (
	NeverPreempt  = "Never"
	LowerPriority = "LowerPriority"
	LowerOrNewer  = "LowerOrNewerEqualPriority"
	AnyPriority   = "Any"
)

// FlavorFungibility says where the search for a flavor stops, and which flavor Kueue prefers otherwise.
type FlavorFungibility struct {
	WhenCanBorrow  string `json:"whenCanBorrow,omitempty"`
	WhenCanPreempt string `json:"whenCanPreempt,omitempty"`
	Preference     string `json:"preference,omitempty"`
}

// StopsAtBorrowing reports whether Kueue tries no other flavor if it can borrow quota of one.
func (f *FlavorFungibility) StopsAtBorrowing() bool { return f.WhenCanBorrow != "TryNextFlavor" }

// StopsAtPreemption reports whether Kueue tries no other flavor if it can preempt Workloads in one.
// Preempt is the name of MayStopSearch in v1beta1.
func (f *FlavorFungibility) StopsAtPreemption() bool {
	return f.WhenCanPreempt == "MayStopSearch" || f.WhenCanPreempt == "Preempt"
}

// PrefersPreemption reports whether Kueue prefers preempting Workloads to borrowing quota from farther.
func (f *FlavorFungibility) PrefersPreemption() bool {
	return f.Preference == "PreemptionOverBorrowing"
}

// FlavorUsage is how much of a flavor's resources a ClusterQueue has given,
// according to its status.
type FlavorUsage struct {
	Name      string `json:"name"`
	Resources []struct {
		Name  string            `json:"name"`
		Total resource.Quantity `json:"total"`
	} `json:"resources,omitempty"`
}

// Cohort is a group of ClusterQueues that lend each other quota, and may be
// part of another cohort. A cohort that only its members name has no object.
type Cohort struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ParentName     string          `json:"parentName,omitempty"`
		ResourceGroups []ResourceGroup `json:"resourceGroups,omitempty"`
		FairSharing    *FairSharing    `json:"fairSharing,omitempty"`
	} `json:"spec"`
	Status struct {
		EffectiveQuotas *EffectiveQuotas `json:"effectiveQuotas,omitempty"`
	} `json:"status"`
}

// FairSharing has no fields: only its presence matters.
type FairSharing struct{}

// Groups returns the effective quotas.
func (c *Cohort) Groups() []ResourceGroup {
	if c.Status.EffectiveQuotas != nil {
		return c.Status.EffectiveQuotas.ResourceGroups
	}
	return c.Spec.ResourceGroups
}

// Cohort returns the name of the cohort of a ClusterQueue, "" if it is in
// none.
func (q *ClusterQueue) Cohort() string {
	if q.Spec.CohortName != "" {
		return q.Spec.CohortName
	}
	return q.Spec.CohortV1Beta1
}

// Groups returns the effective quotas.
func (q *ClusterQueue) Groups() []ResourceGroup {
	if q.Status.EffectiveQuotas != nil {
		return q.Status.EffectiveQuotas.ResourceGroups
	}
	return q.Spec.ResourceGroups
}

// Covered returns the resources of the quotas.
func (q *ClusterQueue) Covered() []string {
	var all []string
	for _, g := range q.Groups() {
		all = append(all, g.CoveredResources...)
	}
	return all
}

// flavorNames returns the names of all flavors that the queue has quota of.
func (q *ClusterQueue) flavorNames() []string {
	var names []string
	for _, g := range q.Groups() {
		for _, f := range g.Flavors {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// hasOneFlavor reports whether a ClusterQueue has a single flavor for a resource.
func (q *ClusterQueue) hasOneFlavor(name string) bool {
	return slices.ContainsFunc(q.Groups(), func(g ResourceGroup) bool {
		return slices.Contains(g.CoveredResources, name) && len(g.Flavors) == 1
	})
}

// PodTemplates has the fields of a Workload whose placement is judged.
type PodTemplates struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		PodSets []PodTemplate `json:"podSets"`
	} `json:"spec"`
	Status struct {
		ResourceRequests []PodSetRequests  `json:"resourceRequests,omitempty"`
		Reclaimable      []ReclaimablePods `json:"reclaimablePods,omitempty"`
	} `json:"status"`
}

// PodTemplate is one podset of a Workload.
type PodTemplate struct {
	Name     string                 `json:"name"`
	Count    int32                  `json:"count"`
	MinCount *int32                 `json:"minCount,omitempty"`
	Template corev1.PodTemplateSpec `json:"template"`
	// Topology is how the Pods must be placed. Every Workload of a Job has it,
	// with the label that has a Pod's index.
	Topology *TopologyRequest `json:"topologyRequest,omitempty"`
}

// TopologyRequest is how near to each other Pods must be.
type TopologyRequest struct {
	Required      *string           `json:"required,omitempty"`
	Preferred     *string           `json:"preferred,omitempty"`
	Unconstrained *bool             `json:"unconstrained,omitempty"`
	SliceRequired *string           `json:"podSetSliceRequiredTopology,omitempty"`
	SliceSize     *int32            `json:"podSetSliceSize,omitempty"`
	Slices        []json.RawMessage `json:"podsetSliceRequiredTopologyConstraints,omitempty"`
}

// IsExplicit reports whether the author of the Pods requested a topology
// (kueue: pkg/workload, IsExplicitlyRequestingTAS).
func (r *TopologyRequest) IsExplicit() bool {
	return r != nil && (r.Required != nil || r.Preferred != nil || r.Unconstrained != nil ||
		r.SliceRequired != nil || r.SliceSize != nil || len(r.Slices) > 0)
}
