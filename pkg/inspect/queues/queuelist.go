package queues

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// QueueList is the quota, usage and pending requests of the queues of clusters, by resource.
type QueueList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the quotas, in the order of the table.
	Items []QueueQuota `json:"items"`
	// Unchecked is what the list depends on and could not be read.
	Unchecked []inspect.Unchecked `json:"unchecked"`
	// Errors are the contexts that were not read completely.
	Errors []inspect.ContextError `json:"errors"`
}

// QueueQuota is the quota of a queue, a cohort or a whole cluster for one resource in one flavor.
// Amounts are Kubernetes quantities; null means unknown.
type QueueQuota struct {
	// Context is the context of the queue.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// Kind is ClusterQueue, Cohort or LocalQueue, or Cluster for a sum.
	Kind QueueKind `json:"kind"`
	// Namespace is the namespace of a LocalQueue; "" for other kinds.
	Namespace string `json:"namespace"`
	// Name is the name of the queue, the cohort or the context.
	Name string `json:"name"`
	// ClusterQueue is the queue that a LocalQueue points to, and whose quota it shares; "" for
	// other kinds.
	ClusterQueue string `json:"clusterQueue"`
	// Cohorts are the cohorts that the queue is in, the nearest first.
	Cohorts []string `json:"cohorts"`
	// Flavor is the ResourceFlavor of the quota; "" if there is no quota, or for the sum of all
	// flavors.
	Flavor string `json:"flavor"`
	// Resource is the name of the resource; "" if there is no quota.
	Resource string `json:"resource"`
	// Nominal is the queue's own quota; for a cohort it includes the quota of its members.
	Nominal *string `json:"nominal"`
	// Borrowed is the part of Used that exceeds the queue's own quota.
	Borrowed *string `json:"borrowed"`
	// Used is the quota reserved by Workloads, running or not.
	Used *string `json:"used"`
	// Free is what the queue can give now, including what it may borrow; for a cohort, the most that one of
	// its queues can give. For a cluster, it is the quota that no Workload uses.
	Free *string `json:"free"`
	// Pending is what waiting Workloads request of the resource, in any flavor. It is in the row of
	// the resource's first flavor, and null in the others.
	Pending *string `json:"pending"`
	// Workers are the queues of workers that the queue dispatches to; null if there are none, and
	// except in the row of a resource's first flavor.
	Workers *WorkersQuota `json:"workers"`
	// Problem is why the queue admits no Workloads now; "" if it does.
	Problem string `json:"problem"`
	// Cluster is the state of a whole cluster; null for other kinds.
	Cluster *ClusterState `json:"cluster"`

	// HasMore is whether Pending and Workers are in the row of another flavor of the resource.
	HasMore bool `json:"-"`
}

// WorkersQuota is the quota for a resource of the workers' queues behind a manager's queue, in all
// flavors together.
type WorkersQuota struct {
	// Clusters are the workers that were counted, by their MultiKueueClusters.
	Clusters []string `json:"clusters"`
	// Inactive are the workers whose queue admits no Workloads now, by their MultiKueueClusters. They
	// are not counted.
	Inactive []string `json:"inactive"`
	// Unknown are the workers that could not be read, by their MultiKueueClusters.
	Unknown []string `json:"unknown"`
	// Nominal is the sum of the nominal quotas, as a quantity.
	Nominal string `json:"nominal"`
	// Used is the used quota, as a quantity; null if it is unknown for a counted worker.
	Used *string `json:"used"`
}

// ClusterState is the state of a cluster, and how its Workloads use one resource.
type ClusterState struct {
	// Names are the MultiKueueClusters that point to the cluster.
	Names []string `json:"names"`
	// State is one of Manager, Active, Lost, NoManager, Unread and Unknown.
	State ClusterCondition `json:"state"`
	// Since is when the cluster became Lost; null for other states.
	Since *metav1.Time `json:"since"`
	// Message is why the cluster is Lost or Unread; "" for other states.
	Message string `json:"message"`
	// Kueue is the version of Kueue's controller; empty if unknown.
	Kueue string `json:"kueue"`
	// Running is the number of admitted Workloads with quota of the resource; null if unknown.
	Running *int `json:"running"`
	// Waiting is the number of Workloads that request the resource and are not admitted; null if
	// unknown.
	Waiting *int `json:"waiting"`
	// LargestFit is the most that one ClusterQueue could give in one flavor now; null if unknown.
	LargestFit *string `json:"largestFit"`
	// LastAdmittedAt is when the last running Workload was admitted; null if none runs, or if Running is
	// null.
	LastAdmittedAt *metav1.Time `json:"lastAdmittedAt"`

	// UnreadNames is whether Names may lack some, and UnreadQuota whether the cluster may have quota that
	// was not read.
	UnreadNames, UnreadQuota bool `json:"-"`
}

// ClusterCondition is the state of a cluster.
type ClusterCondition string

// The states of clusters. What the manager says about its worker takes precedence, because the
// manager uses it.
const (
	// ClusterManager is a cluster that dispatches Jobs to others.
	ClusterManager ClusterCondition = "Manager"
	// ClusterActive is a worker that its manager reaches. ClusterLost is one that it does not
	// reach.
	ClusterActive ClusterCondition = "Active"
	ClusterLost   ClusterCondition = "Lost"
	// ClusterNoManager is a cluster with Kueue that no manager names, of those that were read.
	ClusterNoManager ClusterCondition = "NoManager"
	// ClusterUnread is a cluster that could not be read, and of which no manager reports a state.
	ClusterUnread ClusterCondition = "Unread"
	// ClusterUnknown is a worker whose manager has not reported a state yet, or a cluster that may be one:
	// MultiKueueClusters of some cluster could not be read.
	ClusterUnknown ClusterCondition = "Unknown"
)

// deepCopy returns a copy that shares no mutable part with s.
func (s *ClusterState) deepCopy() *ClusterState {
	c := *s
	c.Names = slices.Clone(s.Names)
	c.Since, c.LastAdmittedAt = s.Since.DeepCopy(), s.LastAdmittedAt.DeepCopy()
	if s.LargestFit != nil {
		c.LargestFit = new(*s.LargestFit)
	}
	for _, number := range []**int{&c.Running, &c.Waiting} {
		if *number != nil {
			*number = new(**number)
		}
	}
	return &c
}

// QueueKind is the kind of an object with quota.
type QueueKind string

// The kinds.
const (
	KindClusterQueue QueueKind = "ClusterQueue"
	KindCohort       QueueKind = "Cohort"
	KindLocalQueue   QueueKind = "LocalQueue"
	KindCluster      QueueKind = "Cluster"
)

// QueueKinds returns all kinds.
func QueueKinds() []QueueKind {
	return []QueueKind{KindClusterQueue, KindCohort, KindLocalQueue, KindCluster}
}

// NewQueueList returns an empty list.
func NewQueueList() *QueueList {
	return &QueueList{
		TypeMeta: metav1.TypeMeta{APIVersion: inspect.APIVersion, Kind: "QueueList"},
		Items:    []QueueQuota{}, Unchecked: []inspect.Unchecked{}, Errors: []inspect.ContextError{},
	}
}

// DeepCopyObject returns a copy that shares no mutable part with l.
func (l *QueueList) DeepCopyObject() runtime.Object {
	c := &QueueList{TypeMeta: l.TypeMeta, Items: slices.Clone(l.Items), Unchecked: slices.Clone(l.Unchecked), Errors: slices.Clone(l.Errors)}
	for i := range c.Items {
		q := &c.Items[i]
		q.Cohorts = slices.Clone(q.Cohorts)
		for _, amount := range []**string{&q.Nominal, &q.Borrowed, &q.Used, &q.Free, &q.Pending} {
			if *amount != nil {
				*amount = new(**amount)
			}
		}
		if q.Workers != nil {
			w := *q.Workers
			w.Clusters, w.Inactive, w.Unknown = slices.Clone(w.Clusters), slices.Clone(w.Inactive), slices.Clone(w.Unknown)
			q.Workers = &w
		}
		if q.Cluster != nil {
			q.Cluster = q.Cluster.deepCopy()
		}
	}
	return c
}

// QuotaGaps returns an error for each part of Capacity that could not be read and that quotas, or what
// Pods request of them, depend on.
func QuotaGaps(f *inspect.Facts) []inspect.ContextError {
	if f.Err != nil || f.Kueue == nil || f.Kueue.Capacity == nil {
		return nil
	}
	var errs []inspect.ContextError
	for _, part := range []inspect.Part{inspect.PartClusterQueues, inspect.PartQueues, inspect.PartCohorts, inspect.PartClaims, inspect.PartLimitRanges, inspect.PartNamespaces} {
		isNeeded := part != inspect.PartQueues || f.Namespace == ""
		if part == inspect.PartCohorts {
			isNeeded = slices.ContainsFunc(f.Kueue.Capacity.ClusterQueues, func(q *kueue.ClusterQueue) bool { return q.Cohort() != "" })
		}
		if err := f.Kueue.Capacity.Gaps[part]; err != nil && isNeeded {
			errs = append(errs, inspect.NewPartError(f.Context, part, err))
		}
	}
	return errs
}
