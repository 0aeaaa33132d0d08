package queues

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// PendingList lists the Workloads that wait in the queues of clusters, in the order of each queue.
type PendingList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the Workloads without quota, in the order in which their ClusterQueue considers
	// them.
	Items []PendingJob `json:"items"`
	// Unchecked is what the list depends on and could not be read.
	Unchecked []inspect.Unchecked `json:"unchecked"`
	// Errors are the contexts that were not read completely.
	Errors []inspect.ContextError `json:"errors"`
}

// PendingJob is a Workload that waits for quota.
type PendingJob struct {
	// Context is the context of the queue.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// Namespace is the namespace of the Workload.
	Namespace string `json:"namespace"`
	// Workload is the name of the Workload.
	Workload string `json:"workload"`
	// Kind is the kind of the Workload's Job; "" if unknown.
	Kind string `json:"kind"`
	// Name is the name of the Workload's Job; "" if unknown.
	Name string `json:"name"`
	// LocalQueue is the queue that the Job was submitted to.
	LocalQueue string `json:"localQueue"`
	// ClusterQueue is the queue that the LocalQueue points to; "" if the LocalQueue does not exist
	// or was not read.
	ClusterQueue string `json:"clusterQueue"`
	// Strategy is the queueing strategy of the ClusterQueue; "" if it was not read. In a StrictFIFO
	// queue no Workload starts before those ahead of it. In a BestEffortFIFO queue a Workload that
	// fits may.
	Strategy string `json:"strategy"`
	// Queued is whether the Workload is in the line of the ClusterQueue. It is not if its
	// LocalQueue is stopped or missing, or its admission is gated.
	Queued bool `json:"queued"`
	// Place is the position in the line of the ClusterQueue, from 1; null if the Workload is in no
	// line, not all Workloads were read, or the usage of LocalQueues orders the line.
	Place *int `json:"place"`
	// Of is how many Workloads are in the line; null if Place is null.
	Of *int `json:"of"`
	// Priority orders the line, higher first. It includes the boost from an annotation.
	Priority int32 `json:"priority"`
	// QueuedAt orders Workloads of the same priority: the creation, or the eviction by an
	// AdmissionCheck or because Pods were not ready.
	QueuedAt metav1.Time `json:"queuedAt"`
	// CreatedAt is when the Workload was created.
	CreatedAt metav1.Time `json:"createdAt"`
	// StartsBy is when all running Workloads have reached their time limits, by the clock of the
	// cluster; null if there are none. The Workload starts then at the latest, once the Pods have
	// stopped, unless a Job of higher priority arrives.
	StartsBy *metav1.Time `json:"startsBy"`
	// Requests are the resources that all Pods together request; null if unknown.
	Requests map[string]string `json:"requests"`
	// Reason is why the Workload has no quota, derived from Kueue's message.
	Reason kueue.WaitReason `json:"reason"`
	// Message is the message of Kueue; "" if it wrote none.
	Message string `json:"message"`
}

// NewPendingList returns an empty list.
func NewPendingList() *PendingList {
	return &PendingList{
		TypeMeta: metav1.TypeMeta{APIVersion: inspect.APIVersion, Kind: "PendingList"},
		Items:    []PendingJob{}, Unchecked: []inspect.Unchecked{}, Errors: []inspect.ContextError{},
	}
}

// DeepCopyObject returns a copy that shares no mutable part with l.
func (l *PendingList) DeepCopyObject() runtime.Object {
	c := &PendingList{TypeMeta: l.TypeMeta, Items: slices.Clone(l.Items), Unchecked: slices.Clone(l.Unchecked), Errors: slices.Clone(l.Errors)}
	for i := range c.Items {
		j := &c.Items[i]
		j.Place, j.Of, j.StartsBy, j.Requests = clone(j.Place), clone(j.Of), clone(j.StartsBy), maps.Clone(j.Requests)
	}
	return c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
