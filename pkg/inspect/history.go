package inspect

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// HistoryList is the output of history: finished Jobs and their sums.
type HistoryList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the Jobs, the latest first; empty with --by, which returns groups instead.
	Items []PastJob `json:"items"`
	// By is the property that --by groups by; "" without groups.
	By string `json:"by"`
	// Groups are the sums of Jobs with a common property; empty without --by.
	Groups []HistorySum `json:"groups"`
	// Total is the sum of all Jobs.
	Total HistorySum `json:"total"`
	// Since is the time that --since gives; null without it.
	Since *metav1.Time `json:"since"`
	// Omitted counts the Jobs that are not listed, or whose values are unknown, with the reasons.
	Omitted []Omission `json:"omitted"`
	// Retention is how long the contexts with Kueue keep finished Workloads.
	Retention []ContextRetention `json:"retention"`
	// Unchecked is what the list depends on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Errors are the contexts that were not read completely.
	Errors []ContextError `json:"errors"`
	// IsUnread is whether no cluster could be read.
	IsUnread bool `json:"-"`
}

// PastJob is a delegated Job that finished.
type PastJob struct {
	// Context is the context of the Job.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// APIVersion is the API version of the Job.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the Job.
	Kind string `json:"kind"`
	// Namespace is the namespace of the Job.
	Namespace string `json:"namespace"`
	// Name is the name of the Job.
	Name string `json:"name"`
	// UID is the UID of the Job.
	UID string `json:"uid"`
	// ManagedBy is the owner of the Job.
	ManagedBy delegation.Owner `json:"managedBy"`
	// Queue is the LocalQueue of the Job; "" for none.
	Queue string `json:"queue"`
	// ClusterQueue is the ClusterQueue on the management cluster whose quota the Job used; "" if
	// unknown.
	ClusterQueue string `json:"clusterQueue"`
	// Labels are the labels of the Job that --by names.
	Labels map[string]string `json:"labels"`
	// Cluster is the cluster that ran the Job: the name of the MultiKueueCluster, or the context
	// that dispatch used. It is null if unknown, and "" if no cluster ran it.
	Cluster *string `json:"cluster"`
	// CreatedAt is when the Job was created, or its Workload if only that was read.
	CreatedAt metav1.Time `json:"createdAt"`
	// AdmittedAt is when the Job was last admitted, or without Kueue when it started; null if
	// unknown.
	AdmittedAt *metav1.Time `json:"admittedAt"`
	// FinishedAt is when the Job finished; null if unknown.
	FinishedAt *metav1.Time `json:"finishedAt"`
	// WaitSeconds is the time from the creation to the last admission, without LostSeconds; null if
	// the Job was never admitted, or the times are unknown.
	WaitSeconds *int64 `json:"waitSeconds"`
	// RunSeconds is the time from the last admission to the end; null if unknown.
	RunSeconds *int64 `json:"runSeconds"`
	// Evictions is how often the Job was evicted; null if unknown.
	Evictions *int32 `json:"evictions"`
	// EvictionReasons counts the evictions by Kueue's reasons; "" is a reason that Kueue did not
	// keep.
	EvictionReasons map[string]int32 `json:"evictionReasons"`
	// LostSeconds is how long the Job was admitted before evictions; null if unknown.
	LostSeconds *int64 `json:"lostSeconds"`
	// Result is how the Job ended.
	Result Result `json:"result"`
	// Reason is why the Job ended, from Kueue's condition Finished; "" without a Workload.
	Reason string `json:"reason"`
	// Resources are the resources that all Pods together were given; null if unknown.
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
	// ResultDeleted means that the Job was deleted before it finished.
	ResultDeleted Result = "Deleted"
	// ResultUnknown means that nothing shows how the Job ended.
	ResultUnknown Result = "Unknown"
)

// Results returns all results.
func Results() []Result { return []Result{ResultComplete, ResultFailed, ResultDeleted, ResultUnknown} }

// HistorySum sums up finished Jobs.
type HistorySum struct {
	// Group is the common property of the Jobs; "" if they lack it.
	Group string `json:"group"`
	// Jobs is how many Jobs the group has.
	Jobs int `json:"jobs"`
	// Failed is how many Jobs failed.
	Failed int `json:"failed"`
	// Deleted is how many Jobs were deleted before they finished.
	Deleted int `json:"deleted"`
	// Waits is how many Jobs have a known wait.
	Waits int `json:"waits"`
	// WaitMedianSeconds is the median of the known waits, in whole seconds; null if there are none.
	WaitMedianSeconds *int64 `json:"waitMedianSeconds"`
	// WaitP90Seconds is the 90th percentile of the known waits; null if there are none.
	WaitP90Seconds *int64 `json:"waitP90Seconds"`
	// Runs is how many Jobs have a known run time.
	Runs int `json:"runs"`
	// RunMedianSeconds is the median of the known run times, in whole seconds; null if there are none.
	RunMedianSeconds *int64 `json:"runMedianSeconds"`
	// Evictions is how many evictions are known; null if they are unknown for all Jobs.
	Evictions *int64 `json:"evictions"`
	// LostSeconds is the time that Jobs are known to have lost to evictions; null if it is unknown for
	// all Jobs.
	LostSeconds *int64 `json:"lostSeconds"`
	// Measured is how many Jobs ResourceHours include.
	Measured int `json:"measured"`
	// ResourceHours are the sums of the Jobs' resource hours, memory in GiB hours.
	ResourceHours map[string]float64 `json:"resourceHours"`
	// Clusters are the known clusters that ran the Jobs, sorted; null if they are unknown for all Jobs.
	Clusters []string `json:"clusters"`
}

// Omission counts Jobs that are not listed, or whose values are unknown, for one reason.
type Omission struct {
	// Count is how many Jobs there are.
	Count int `json:"count"`
	// Reason says which Jobs are counted, and why.
	Reason string `json:"reason"`
}

// ContextRetention is how long Kueue keeps finished Workloads in a context.
type ContextRetention struct {
	// Context is the context with Kueue.
	Context string `json:"context"`
	// Known is whether Kueue's configuration could be read.
	Known bool `json:"known"`
	// Seconds is objectRetentionPolicies.workloads.afterFinished; null if it is unknown, or unset,
	// so that finished Workloads are kept forever.
	Seconds *int64 `json:"seconds"`
}

// NewHistoryList returns an empty list.
func NewHistoryList() *HistoryList {
	return &HistoryList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "HistoryList"},
		Items:    []PastJob{}, Groups: []HistorySum{}, Total: HistorySum{ResourceHours: map[string]float64{}, Clusters: []string{}, Evictions: new(int64), LostSeconds: new(int64)},
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
	s.Evictions, s.LostSeconds = clone(s.Evictions), clone(s.LostSeconds)
	s.ResourceHours, s.Clusters = maps.Clone(s.ResourceHours), slices.Clone(s.Clusters)
	return s
}

// Past is what was read about finished Jobs on a cluster.
type Past struct {
	// Jobs are the delegated Jobs, with the facts from their own status.
	Jobs []*PastJob
	// Places are where dispatch ran Jobs, by their UIDs.
	Places map[string]delegation.Place
	// Open are the UIDs of delegated Jobs that exist and have not finished.
	Open sets.Set[string]
	// Workloads are the Workloads that were admitted or finished, without mirrors.
	Workloads []*kueue.Past
	// HasMirrors is whether the cluster also has Workloads that MultiKueue copied from another
	// cluster.
	HasMirrors bool
	// IsManager is whether the cluster dispatches Workloads to others, as far as that could be
	// read.
	IsManager bool
	// Retention is how long Kueue keeps finished Workloads.
	Retention Retention
}

// Retention is how long Kueue's configuration keeps finished Workloads.
type Retention struct {
	// Known is whether the configuration was read.
	Known bool
	// For is how long they are kept; nil means forever.
	For *time.Duration
}

// with merges what two contexts read of one cluster.
func (p *Past) with(other *Past) *Past {
	if p == nil || other == nil {
		if p == nil {
			return other
		}
		return p
	}
	both := &Past{
		Jobs:       added(p.Jobs, other.Jobs, func(j *PastJob) string { return j.UID }),
		Places:     union(p.Places, other.Places),
		Open:       p.Open.Union(other.Open),
		Workloads:  added(p.Workloads, other.Workloads, func(w *kueue.Past) string { return w.UID }),
		HasMirrors: p.HasMirrors || other.HasMirrors, IsManager: p.IsManager || other.IsManager, Retention: p.Retention,
	}
	if !both.Retention.Known {
		both.Retention = other.Retention
	}
	return both
}

// AddOpen keeps that a delegated Job exists and has not finished. A Job that is being deleted counts as gone.
func (p *Past) AddOpen(j *Job) {
	if j.DeletedAt != nil {
		return
	}
	if p.Open == nil {
		p.Open = sets.New[string]()
	}
	p.Open.Insert(j.UID)
}

// Add keeps only the needed fields of a finished Job, because there may be very many.
func (p *Past) Add(j *Job) {
	row := newPastJob(j)
	p.Jobs = append(p.Jobs, &row)
	if place := j.Pinned(); !place.IsZero() {
		if p.Places == nil {
			p.Places = map[string]delegation.Place{}
		}
		p.Places[j.UID] = place
	}
}

// newPastJob returns the facts that a finished Job itself has.
func newPastJob(j *Job) PastJob {
	row := PastJob{
		Context: j.Context, ClusterUID: j.ClusterUID, APIVersion: j.APIVersion, Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, UID: j.UID,
		ManagedBy: j.ManagedBy, Labels: j.Labels, CreatedAt: j.CreationTimestamp, Result: resultOf(j),
		AdmittedAt: j.StartTime, FinishedAt: cmp.Or(j.FinishedTime, j.CompletionTime),
	}
	if j.Marks != nil {
		row.Queue = j.Marks.Queue
	}
	return row
}

// resultOf returns how a Job ended, by its own status.
func resultOf(j *Job) Result {
	switch {
	case j.Status == delegation.Complete:
		return ResultComplete
	case j.Status == delegation.Failed:
		return ResultFailed
	case j.Row().IsJob() && j.CompletionTime != nil:
		// The status is Terminating.
		return ResultComplete
	case j.Row().IsJob() && j.FinishedTime != nil:
		return ResultFailed
	}
	return ResultUnknown
}

// Resized is a size field whose value on an origin differs from its mirror's.
type Resized struct {
	Field          string
	Origin, Mirror int64
}

// ResizedFrom returns the size fields in which an object differs from its mirror, sorted. It skips
// fields that only one of them has, because a server may have set a default.
func (j *Job) ResizedFrom(mirror *Job) []Resized {
	var found []Resized
	for _, field := range slices.Sorted(maps.Keys(j.Sizes)) {
		if there, known := mirror.Sizes[field]; known && there != j.Sizes[field] {
			found = append(found, Resized{field, j.Sizes[field], there})
		}
	}
	return found
}
