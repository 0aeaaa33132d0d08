package inspect

import "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"

// PlacementReason says in one word why a placement has its verdict.
type PlacementReason string

// The reasons of placements.
const (
	// NoContext means that no context reaches the cluster.
	NoContext PlacementReason = "NoContext"
	// Unreadable means that the cluster, or something that the verdict depends on, could not be
	// read.
	Unreadable PlacementReason = "Unreadable"
	// NotConnected means that the manager has no connection to the cluster.
	NotConnected PlacementReason = "NotConnected"
	// NotRequested means that an annotation of the Workload excludes the cluster.
	NotRequested PlacementReason = "NotRequested"
	// NoKueue means that the cluster does not serve Kueue's API.
	NoKueue PlacementReason = "NoKueue"
	// RefusedByServer means that the API server of the cluster refuses the object.
	RefusedByServer PlacementReason = "RefusedByServer"
	// NamespaceMissing means that the namespace does not exist, or is being deleted.
	NamespaceMissing PlacementReason = "NamespaceMissing"
	// NamespaceNotSelected means that the ClusterQueue does not select the namespace.
	NamespaceNotSelected PlacementReason = "NamespaceNotSelected"
	// NoQueueLabel means that the Job names no LocalQueue.
	NoQueueLabel PlacementReason = "NoQueueLabel"
	// QueueMissing means that the LocalQueue or its ClusterQueue does not exist.
	QueueMissing PlacementReason = "QueueMissing"
	// QueueStopped means that the LocalQueue or its ClusterQueue is stopped.
	QueueStopped PlacementReason = "QueueStopped"
	// QueueInactive means that the ClusterQueue is not active.
	QueueInactive PlacementReason = "QueueInactive"
	// OutsideLimits means that a LimitRange refuses the Pods.
	OutsideLimits PlacementReason = "OutsideLimits"
	// OverLimit means that the Job requests more than the ClusterQueue can ever give.
	OverLimit PlacementReason = "OverLimit"
	// NoSuchResource means that no flavor of the ClusterQueue has a requested resource.
	NoSuchResource PlacementReason = "NoSuchResource"
	// FlavorMismatch means that taints, labels or the topology of the flavors do not suit the Pods.
	FlavorMismatch PlacementReason = "FlavorMismatch"
	// QuotaInUse means that other Workloads hold the quota.
	QuotaInUse PlacementReason = "QuotaInUse"
	// BehindInQueue means that another Workload is first in a StrictFIFO queue.
	BehindInQueue PlacementReason = "BehindInQueue"
	// CheckPending means that an AdmissionCheck is pending.
	CheckPending PlacementReason = "CheckPending"
	// CheckRejected means that an AdmissionCheck has rejected the Workload.
	CheckRejected PlacementReason = "CheckRejected"
	// Deactivated means that spec.active of the Workload is false.
	Deactivated PlacementReason = "Deactivated"
	// OnHold means that Kueue holds the Workload back.
	OnHold PlacementReason = "OnHold"
	// DevicesUnresolved means that Kueue cannot resolve the ResourceClaims.
	DevicesUnresolved PlacementReason = "DevicesUnresolved"
	// SaidByKueue means that the verdict is Kueue's own.
	SaidByKueue PlacementReason = "SaidByKueue"
	// NotDispatched means that the ClusterQueue has no MultiKueue check, although the Job is
	// delegated to MultiKueue.
	NotDispatched PlacementReason = "NotDispatched"
	// NothingRequested means that the Job requests nothing that the ClusterQueue covers, so that Kueue
	// admits it without MultiKueue.
	NothingRequested PlacementReason = "NothingRequested"
	// OwnerRefused means that MultiKueue rejects Jobs of this owner.
	OwnerRefused PlacementReason = "OwnerRefused"
	// ClassMissing means that a priority class that the Job names does not exist.
	ClassMissing PlacementReason = "ClassMissing"
	// NameTaken means that the cluster has another object of this name.
	NameTaken PlacementReason = "NameTaken"
	// DependencyMissing means that the cluster lacks an object that the Pods or the Job name, such as a
	// ServiceAccount.
	DependencyMissing PlacementReason = "DependencyMissing"
	// NamespaceQuota means that a ResourceQuota of the namespace refuses the Job or its Pods.
	NamespaceQuota PlacementReason = "NamespaceQuota"
	// PodsRefused means that the PodSecurity level of the namespace refuses the Pods.
	PodsRefused PlacementReason = "PodsRefused"
	// NoPods means that spec.parallelism is 0.
	NoPods PlacementReason = "NoPods"
	// NoNode means that no node takes the Pods, according to the scheduler or to the nodes that
	// were read.
	NoNode PlacementReason = "NoNode"
	// NothingInTheWay means that no obstacle was found, as far as that shows without an attempt.
	NothingInTheWay PlacementReason = "NothingInTheWay"
	// HasQuota means that quota is reserved.
	HasQuota PlacementReason = "HasQuota"
	// HasRoom means that the quota is free.
	HasRoom PlacementReason = "HasRoom"
)

// PlacementReasons returns all reasons of placements.
func PlacementReasons() []PlacementReason {
	return []PlacementReason{
		"", NoContext, Unreadable, NotConnected, NotRequested, NoKueue, RefusedByServer, NamespaceMissing, NamespaceNotSelected,
		NoQueueLabel, QueueMissing, QueueStopped, QueueInactive, OutsideLimits, OverLimit, NoSuchResource,
		FlavorMismatch, QuotaInUse, BehindInQueue, CheckPending, CheckRejected, Deactivated, OnHold,
		DevicesUnresolved, SaidByKueue, NotDispatched, NothingRequested, OwnerRefused, ClassMissing, NameTaken, DependencyMissing, NamespaceQuota, PodsRefused, NoPods, NoNode, NothingInTheWay, HasQuota, HasRoom,
	}
}

// IsOutdated reports whether Kueue's message is older than the quota, which is enough now, although Kueue had time to judge
// again.
func (p *Placement) IsOutdated() bool {
	isWait := p.Verdict == Waits && p.Wait != nil && p.Wait.Reason == kueue.ReasonQuotaInUse
	return p.Reason == SaidByKueue && !p.Judging && (p.Verdict == Unknown || isWait) && p.Condition(ConditionQuota).State == Yes
}

// Why returns the reason in a few words for a table, without what its other columns show.
func (p *Placement) Why() string {
	switch {
	case p.Reason == OverLimit && p.Flavor != "":
		return p.overLimit()
	case p.Reason == QuotaInUse && len(p.Holders) > 0:
		return p.firstHolder()
	case p.Reason == SaidByKueue && p.Wait != nil && !p.IsOutdated():
		return p.Wait.Text()
	case p.Reason == NoSuchResource && len(p.Uncovered) > 0:
		return "no quota for " + And(p.Uncovered)
	case p.Reason == HasRoom && p.PodsAtOnce != nil:
		return "free quota; " + p.PodsAtOnce.Text("its")
	case p.Reason == HasRoom:
		return "free quota"
	case p.Reason == NoNode && p.Said != "":
		return p.Said
	}
	return p.Message
}

// firstHolder names the Job that holds most of the quota, and counts the others.
func (p *Placement) firstHolder() string {
	h := p.Holders[0]
	text := h.Namespace + "/" + h.Name + " holds " + h.Amount
	if h.Orphan {
		text = "orphan " + text
	}
	if more := len(p.Holders) - 1; more > 0 {
		text += ", and " + Count(more, "other")
	}
	return text
}

// overLimit names the limits that a Job exceeds, of a flavor or of several resources, and a queue that is closed
// besides.
func (p *Placement) overLimit() string {
	text := "over the limit of flavor " + p.Flavor
	if len(p.Short) > 1 {
		text = "over the limits of " + Amounts(p.Short, func(r *ResourceRoom) string { return r.Resource })
	}
	if p.Closed != "" {
		text += "; " + p.Closed
	}
	return text
}
