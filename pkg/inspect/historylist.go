package inspect

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// HistoryList is what history prints: Jobs that finished, and their sums.
type HistoryList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the Jobs, the latest first. With --by there are groups instead.
	Items []PastJob `json:"items"`
	// By is what the groups have in common, as --by names it; "" without groups.
	By string `json:"by"`
	// Groups are the sums of Jobs that have something in common; empty without --by.
	Groups []HistorySum `json:"groups"`
	// Total is the sum of all Jobs.
	Total HistorySum `json:"total"`
	// Since is the time that --since names; null without it.
	Since *metav1.Time `json:"since"`
	// Omitted counts what is not among the Jobs, with the reasons.
	Omitted []Omission `json:"omitted"`
	// Retention is how long the contexts with Kueue keep finished Workloads.
	Retention []ContextRetention `json:"retention"`
	// Unchecked is what the answer depends on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Errors are the contexts that were not read completely.
	Errors []ContextError `json:"errors"`
}

// PastJob is a delegated Job that finished.
type PastJob struct {
	// Context is where the Job is.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// APIVersion is that of the Job.
	APIVersion string `json:"apiVersion"`
	// Kind is that of the Job.
	Kind string `json:"kind"`
	// Namespace is that of the Job.
	Namespace string `json:"namespace"`
	// Name is that of the Job.
	Name string `json:"name"`
	// UID is that of the Job.
	UID string `json:"uid"`
	// ManagedBy is the owner of the Job.
	ManagedBy delegation.Owner `json:"managedBy"`
	// Queue is the LocalQueue, "" for none.
	Queue string `json:"queue"`
	// ClusterQueue is where the quota came from on the management cluster; "" if unknown.
	ClusterQueue string `json:"clusterQueue"`
	// Labels are those of the Job that --by names.
	Labels map[string]string `json:"labels"`
	// Cluster is the cluster that ran the Job: the name of the MultiKueueCluster, or the
	// context that dispatch used. Null if it is unknown, "" if none ran it.
	Cluster *string `json:"cluster"`
	// CreatedAt is when the Job was created.
	CreatedAt metav1.Time `json:"createdAt"`
	// AdmittedAt is when the last admission was, or without Kueue when the Job started.
	AdmittedAt *metav1.Time `json:"admittedAt"`
	// FinishedAt is when the Job finished; null if nothing dates that.
	FinishedAt *metav1.Time `json:"finishedAt"`
	// WaitSeconds is the time from the creation to the last admission, without LostSeconds. Null
	// if the Job was never admitted, or nothing dates that.
	WaitSeconds *int64 `json:"waitSeconds"`
	// RunSeconds is the time from the last admission to the end.
	RunSeconds *int64 `json:"runSeconds"`
	// Evictions is how often the Job was evicted; null if nothing counts that.
	Evictions *int32 `json:"evictions"`
	// EvictionReasons counts the evictions by Kueue's reasons; "" is a reason that Kueue did
	// not keep.
	EvictionReasons map[string]int32 `json:"evictionReasons"`
	// LostSeconds is how long the Job was admitted before evictions. Null if unknown.
	LostSeconds *int64 `json:"lostSeconds"`
	// Result is how the Job ended.
	Result Result `json:"result"`
	// Reason is why it ended, as Kueue's condition Finished has it; "" without a Workload.
	Reason string `json:"reason"`
	// Resources are quantities of what all Pods together were given; null if unknown.
	Resources map[string]string `json:"resources"`
	// Flavors are the ResourceFlavors of the management cluster that Resources came from.
	Flavors map[string]string `json:"flavors"`
	// ResourceHours are Resources times the hours of RunSeconds, memory in GiB hours.
	ResourceHours map[string]float64 `json:"resourceHours"`
}

// Result is how a Job ended.
type Result string

// The results.
const (
	ResultComplete Result = "Complete"
	ResultFailed   Result = "Failed"
	// ResultDeleted: it was deleted before it finished.
	ResultDeleted Result = "Deleted"
	// ResultUnknown: nothing tells.
	ResultUnknown Result = "Unknown"
)

// Results returns all results.
func Results() []Result { return []Result{ResultComplete, ResultFailed, ResultDeleted, ResultUnknown} }

// HistorySum is the sum of Jobs that finished.
type HistorySum struct {
	// Group is what the Jobs have in common; "" if they have none of it.
	Group string `json:"group"`
	// Jobs is how many there are.
	Jobs int `json:"jobs"`
	// Failed is how many of them failed.
	Failed int `json:"failed"`
	// Deleted is how many were deleted before they finished.
	Deleted int `json:"deleted"`
	// Waits is how many of them have a known wait.
	Waits int `json:"waits"`
	// WaitMedianSeconds is the wait that half of those did not exceed. Null without any.
	WaitMedianSeconds *int64 `json:"waitMedianSeconds"`
	// WaitP90Seconds is the wait that nine of ten of those did not exceed.
	WaitP90Seconds *int64 `json:"waitP90Seconds"`
	// Runs is how many of them have a known run time.
	Runs int `json:"runs"`
	// RunMedianSeconds is the run time that half of those did not exceed.
	RunMedianSeconds *int64 `json:"runMedianSeconds"`
	// Evictions is how many evictions are known.
	Evictions int64 `json:"evictions"`
	// LostSeconds is the time lost to evictions, of all Jobs together.
	LostSeconds int64 `json:"lostSeconds"`
	// Measured is how many of the Jobs ResourceHours include.
	Measured int `json:"measured"`
	// ResourceHours are the sums of those of the Jobs, memory in GiB hours.
	ResourceHours map[string]float64 `json:"resourceHours"`
	// Clusters are those that ran the Jobs, sorted.
	Clusters []string `json:"clusters"`
}

// Omission is how many Jobs were left out for a reason.
type Omission struct {
	// Count is how many.
	Count int `json:"count"`
	// Reason says which, and why.
	Reason string `json:"reason"`
}

// ContextRetention is how long Kueue keeps finished Workloads in a context.
type ContextRetention struct {
	// Context is where Kueue is.
	Context string `json:"context"`
	// Known is whether Kueue's configuration could be read.
	Known bool `json:"known"`
	// Seconds is objectRetentionPolicies.workloads.afterFinished; null if it is unset, so that
	// finished Workloads are kept for ever, or unknown.
	Seconds *int64 `json:"seconds"`
}

// NewHistoryList makes an empty list.
func NewHistoryList() *HistoryList {
	return &HistoryList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "HistoryList"},
		Items:    []PastJob{}, Groups: []HistorySum{}, Total: HistorySum{ResourceHours: map[string]float64{}, Clusters: []string{}},
		Omitted: []Omission{}, Retention: []ContextRetention{}, Unchecked: []Unchecked{}, Errors: []ContextError{},
	}
}

// DeepCopyObject returns a copy that shares no mutable part with l.
func (l *HistoryList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items, c.Groups, c.Total, c.Since = slices.Clone(l.Items), slices.Clone(l.Groups), l.Total.deepCopy(), clone(l.Since)
	c.Omitted, c.Retention, c.Errors = slices.Clone(l.Omitted), slices.Clone(l.Retention), slices.Clone(l.Errors)
	for i := range c.Items {
		c.Items[i] = c.Items[i].deepCopy()
	}
	for i := range c.Groups {
		c.Groups[i] = c.Groups[i].deepCopy()
	}
	for i := range c.Retention {
		c.Retention[i].Seconds = clone(c.Retention[i].Seconds)
	}
	c.Unchecked = slices.Clone(l.Unchecked)
	for i := range c.Unchecked {
		c.Unchecked[i].Contexts = slices.Clone(c.Unchecked[i].Contexts)
	}
	return &c
}

func (j PastJob) deepCopy() PastJob {
	j.Cluster, j.AdmittedAt, j.FinishedAt = clone(j.Cluster), clone(j.AdmittedAt), clone(j.FinishedAt)
	j.WaitSeconds, j.RunSeconds, j.Evictions, j.LostSeconds = clone(j.WaitSeconds), clone(j.RunSeconds), clone(j.Evictions), clone(j.LostSeconds)
	j.Labels, j.EvictionReasons, j.Resources = maps.Clone(j.Labels), maps.Clone(j.EvictionReasons), maps.Clone(j.Resources)
	j.Flavors, j.ResourceHours = maps.Clone(j.Flavors), maps.Clone(j.ResourceHours)
	return j
}

func (s HistorySum) deepCopy() HistorySum {
	s.WaitMedianSeconds, s.WaitP90Seconds, s.RunMedianSeconds = clone(s.WaitMedianSeconds), clone(s.WaitP90Seconds), clone(s.RunMedianSeconds)
	s.ResourceHours, s.Clusters = maps.Clone(s.ResourceHours), slices.Clone(s.Clusters)
	return s
}
