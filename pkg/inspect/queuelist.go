package inspect

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// QueueList is what the queues of clusters have of each resource, use, and are asked for.
type QueueList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the quotas, in the order of the table.
	Items []QueueQuota `json:"items"`
	// Unchecked is what the list depends on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Errors are the contexts that were not read completely.
	Errors []ContextError `json:"errors"`
}

// QueueQuota is what a queue, a cohort or a whole cluster has of one resource in one
// flavor. Amounts are quantities, as Kubernetes writes them; null is one that is not known.
type QueueQuota struct {
	// Context is where the queue is.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// Kind is ClusterQueue, Cohort or LocalQueue, or Cluster for a sum.
	Kind QueueKind `json:"kind"`
	// Namespace is that of a LocalQueue, "" for others.
	Namespace string `json:"namespace"`
	// Name is that of the queue, the cohort or the context.
	Name string `json:"name"`
	// ClusterQueue is where a LocalQueue leads, and whose quota it shares; "" for others.
	ClusterQueue string `json:"clusterQueue"`
	// Cohorts are those that it is in, the nearest first.
	Cohorts []string `json:"cohorts"`
	// Flavor and Resource are what the quota is of; both "" where there is no quota at
	// all, and Flavor where it is of all flavors.
	Flavor string `json:"flavor"`
	// Resource is the name of the resource.
	Resource string `json:"resource"`
	// Nominal is what it has of its own: of a cohort, with what its members have.
	Nominal *string `json:"nominal"`
	// Borrowed is what of Used is not its own.
	Borrowed *string `json:"borrowed"`
	// Used is what Workloads hold that have quota reserved, whether they run or not.
	Used *string `json:"used"`
	// Free is what it can give now, with what it may borrow.
	Free *string `json:"free"`
	// Pending is what waits for the resource, in whatever flavor; it stands with the first
	// flavor of the resource, and is null with the others.
	Pending *string `json:"pending"`
	// Workers are the queues of other clusters that it gives to; null where it gives to
	// none, and with all but the first flavor of a resource.
	Workers *WorkersQuota `json:"workers"`
	// Problem is why it gives nothing to anybody now, "" if it does.
	Problem string `json:"problem"`
	// Cluster is what is known of a whole cluster; null but for a Cluster.
	Cluster *ClusterState `json:"cluster"`

	// HasMore says that Pending and Workers stand with another flavor of the resource.
	HasMore bool `json:"-"`
}

// WorkersQuota is what the queues of workers that stand behind a manager's queue have of a
// resource, in all flavors together.
type WorkersQuota struct {
	// Clusters are those that were counted, and Unknown those that could not be looked
	// at, by what the manager calls them.
	Clusters []string `json:"clusters"`
	// Unknown are the clusters that could not be read, by the names that the manager uses.
	Unknown []string `json:"unknown"`
	// Nominal is the sum of the nominal quotas, as a quantity.
	Nominal string `json:"nominal"`
	// Used is null where it is not known of all that were counted.
	Used *string `json:"used"`
}

// ClusterState is the state of a cluster, and what its Workloads do with one resource.
type ClusterState struct {
	// Names are the MultiKueueClusters that lead to it.
	Names []string `json:"names"`
	// State is one of Manager, Active, Lost, NoManager, Unread and Unknown.
	State ClusterCondition `json:"state"`
	// Since is since when it is Lost; null for other states.
	Since *metav1.Time `json:"since"`
	// Message is why it is Lost or Unread, "" for other states.
	Message string `json:"message"`
	// Kueue is the version of Kueue's controller; empty if unknown.
	Kueue string `json:"kueue"`
	// Running is the number of Workloads with quota of the resource; null if it is not known.
	Running *int `json:"running"`
	// Waiting is the number of Workloads that request it and have no quota; null if it is not known.
	Waiting *int `json:"waiting"`
	// LargestFit is the most that one ClusterQueue could give in one flavor now; null if it is not known.
	LargestFit *string `json:"largestFit"`
	// LastAdmittedAt is when the last running Workload got its quota; null if none runs.
	LastAdmittedAt *metav1.Time `json:"lastAdmittedAt"`
}

// ClusterCondition is the state of a cluster.
type ClusterCondition string

// The states. What a manager says about its worker comes first: it is the manager that uses it.
const (
	// ClusterManager is a cluster that gives Jobs to others.
	ClusterManager ClusterCondition = "Manager"
	// ClusterActive is a worker that its manager reaches, ClusterLost one that it does not.
	ClusterActive ClusterCondition = "Active"
	ClusterLost   ClusterCondition = "Lost"
	// ClusterNoManager is a cluster with Kueue that no manager names that was read.
	ClusterNoManager ClusterCondition = "NoManager"
	// ClusterUnread is a cluster that could not be read, and of which no manager says anything.
	ClusterUnread ClusterCondition = "Unread"
	// ClusterUnknown is a worker of which its manager has not said anything yet.
	ClusterUnknown ClusterCondition = "Unknown"
)

// deepCopy returns a copy that shares no mutable part.
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

// QueueKind is what has quota.
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

// NewQueueList makes an empty list.
func NewQueueList() *QueueList {
	return &QueueList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "QueueList"},
		Items:    []QueueQuota{}, Unchecked: []Unchecked{}, Errors: []ContextError{},
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
			w.Clusters, w.Unknown = slices.Clone(w.Clusters), slices.Clone(w.Unknown)
			q.Workers = &w
		}
		if q.Cluster != nil {
			q.Cluster = q.Cluster.deepCopy()
		}
	}
	return c
}

// QuotaGaps are the parts of Capacity that could not be read of a cluster, as errors.
func QuotaGaps(f *Facts) []ContextError {
	if f.Err != nil || f.Kueue == nil || f.Kueue.Capacity == nil {
		return nil
	}
	var errs []ContextError
	for _, part := range []Part{PartClusterQueues, PartQueues, PartCohorts, PartClaims} {
		isNeeded := part != PartQueues || f.Namespace == ""
		if part == PartCohorts {
			isNeeded = slices.ContainsFunc(f.Kueue.Capacity.ClusterQueues, func(q *kueue.ClusterQueue) bool { return q.Cohort() != "" })
		}
		if err := f.Kueue.Capacity.Gaps[part]; err != nil && isNeeded {
			errs = append(errs, NewPartError(f.Context, part, err))
		}
	}
	return errs
}
