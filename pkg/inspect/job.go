package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Job is a Job, or an object of another kind that runs to completion and can be delegated. It takes
// a few hundred bytes, whatever the size of the Pod template. Scripts may rely on its JSON form.
type Job struct {
	// Context is the kubeconfig context through which the Job was read.
	Context string `json:"context"`
	// ClusterUID identifies the cluster; "" if it may not be read.
	ClusterUID string `json:"clusterUID"`
	// APIVersion is the API version of the object.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Namespace is the namespace of the object.
	Namespace string `json:"namespace"`
	// Name is the name of the object.
	Name string `json:"name"`
	// UID is the UID of the object.
	UID string `json:"uid"`
	// ManagedBy is the owner of the Job, "built-in" if it is not delegated.
	ManagedBy delegation.Owner `json:"managedBy"`
	// NamesBuiltIn is whether the field that names the owner is set, to the value reserved for the
	// built-in controller.
	NamesBuiltIn bool `json:"-"`
	// Status is the actual status of the Job.
	Status delegation.Status `json:"status"`
	// Completions is how many Pods must succeed; null if the first success ends the Job.
	Completions *int32 `json:"completions"`
	// Parallelism is how many Pods may run at once.
	Parallelism *int32 `json:"parallelism"`
	// Indexed is whether each Pod of a Job has an index.
	Indexed bool `json:"-"`
	// Succeeded is how many Pods succeeded.
	Succeeded int32 `json:"succeeded"`
	// Failed is how many Pods failed.
	Failed int32 `json:"failed"`
	// Active is how many Pods are pending or running.
	Active int32 `json:"active"`
	// Ready is how many Pods are ready; null if the server does not count them.
	Ready *int32 `json:"ready"`
	// StartTime is when the Job started; null if it has not.
	StartTime *metav1.Time `json:"startTime"`
	// CompletionTime is when the Job completed; null if it has not.
	CompletionTime *metav1.Time `json:"completionTime"`
	// FinishedTime is when the Job completed or failed; a failed Job has no completionTime.
	FinishedTime *metav1.Time `json:"finishedTime"`
	// CreationTimestamp is when the Job was created.
	CreationTimestamp metav1.Time `json:"creationTimestamp"`
	// Suspended is spec.suspend.
	Suspended bool `json:"suspended"`
	// StatusWrittenAt is when the status last changed, according to managedFields.
	StatusWrittenAt *metav1.Time `json:"statusWrittenAt"`
	// Since is when the Job entered its current status; null if unknown.
	Since *metav1.Time `json:"since"`
	// Mirrors are the Job's current copies on other clusters; null if they were not searched, or
	// are unknown. A mirror in an unread context has no UID.
	Mirrors []Ref `json:"mirrors"`
	// Dispatcher is the process that serves a dispatched Job; null for other Jobs, in a watch, or
	// if unknown.
	Dispatcher *Dispatcher `json:"dispatcher"`
	// Findings are the codes of the Job's findings. The field is absent if they were not checked,
	// as in a watch, or if not all contexts were read.
	Findings []string `json:"findings,omitzero"`
	// Reason is why the Job has its status, in one word, as in its trace. It is "" if the status
	// says it all, and null if not requested.
	Reason *JobReason `json:"reason"`
	// Message says why the Job has its status, with numbers; null if not requested.
	Message *string `json:"message"`

	// Labels are the requested labels of the Job; nil if it has none of them. Jobs share these
	// maps, so they must not be modified.
	Labels map[string]string `json:"-"`
	// Marks are what the labels and annotations say about copies of the Job; nil if nothing.
	Marks *delegation.Marks `json:"-"`
	// Generation counts the changes of the spec.
	Generation int64 `json:"-"`
	// NodeSelector is the node selector of a Job's Pod template, such as "a=b,c=d", sorted.
	NodeSelector string `json:"-"`
	// HasNodeAffinity is whether a Job's Pod template has a required node affinity.
	HasNodeAffinity bool `json:"-"`
	// Requests are the resources that the Pods of a Job request, sorted. They are set only for a Job of
	// MultiKueue without a queue: which queue it can use depends on them. Otherwise, they are nil.
	Requests []string `json:"-"`
	// Sizes are the fields of kinds other than Job that say how many Pods the object needs, by
	// path.
	Sizes map[string]int64 `json:"-"`
	// DeletedAt is when the deletion was requested. Finalizers are what it waits for.
	DeletedAt  *metav1.Time `json:"-"`
	Finalizers []string     `json:"-"`
	// TTL is the number of seconds after which the finished Job is deleted.
	TTL *int32 `json:"-"`
	// Deadline is the number of seconds after its start at which a Job must have ended; nil without a deadline, and for
	// other kinds.
	Deadline *int64 `json:"-"`
	// ManualSelector is spec.manualSelector.
	ManualSelector bool `json:"-"`
	// StatusWriters are the managers that have written the status, according to managedFields.
	StatusWriters []string `json:"-"`
	// SpecWriters are the managers that have written anything but the status of a mirror, according
	// to managedFields.
	SpecWriters []SpecWriter `json:"-"`
	// Object is the whole object, if a single Job was requested and not a list.
	Object *unstructured.Unstructured `json:"-"`
	// SpecWrittenAt is when anything but the status last changed, according to managedFields.
	SpecWrittenAt *metav1.Time `json:"-"`
	// BackoffLimit is how many failures of Pods a Job tolerates, nil if it is none.
	BackoffLimit *int32 `json:"-"`
	// PerIndex is how often each index of a Job may fail, nil if only BackoffLimit counts.
	PerIndex *PerIndex `json:"-"`
	// Failure is why the Job failed: the reason and the message in its status. It is "" if it did
	// not fail, or does not say why.
	Failure string `json:"-"`
	// Invalid is what its controller says about an invalid spec, nil if it does not say that.
	Invalid *string `json:"-"`
	// Decision is how a Job will end, although Pods have not ended yet, or why it succeeded without all completions; nil
	// if that is not decided, or usual.
	Decision *Decision `json:"-"`
	// Restarts is how often its controller has restarted an object of another kind than Job; nil if never.
	Restarts *delegation.Restarts `json:"-"`
	// Controller is the controlling owner, such as the JobSet of a Job; nil if there is none.
	Controller *metav1.OwnerReference `json:"-"`
	// WrittenAs are the API versions through which the object was written, according to
	// managedFields.
	WrittenAs []string `json:"-"`
	// Concurrency is the concurrencyPolicy of a template, "" if it has none.
	Concurrency string `json:"-"`
	// PodValue is the value at the path PodValue of the kind.
	PodValue string `json:"-"`

	// KindRow is the kind, if it was read together with the Job. Row always returns it.
	KindRow *delegation.Kind `json:"-"`
}

// Row returns the Job's kind, with all that is known about it.
func (j *Job) Row() delegation.Kind {
	if j.KindRow != nil {
		return *j.KindRow
	}
	gvk := j.GetObjectKind().GroupVersionKind()
	if row := delegation.Job(); gvk == row.GroupVersionKind() {
		return row
	}
	if row, known := delegation.KindOf(gvk); known {
		return row
	}
	return delegation.Kind{Name: strings.ToLower(gvk.Kind), Kind: gvk.Kind, Resource: gvk.GroupVersion().WithResource("")}
}

// PodLabelValue returns the value that the kind's PodLabel has on the Job's Pods; "" if it has none
// so far.
func (j *Job) PodLabelValue() string {
	if len(j.Row().PodValue) == 0 {
		return j.Name
	}
	return j.PodValue
}

// IsDelegated reports whether another controller than the kind's own reconciles the Job. A template
// shows an owner too, but is not delegated itself.
func (j *Job) IsDelegated() bool { return !j.ManagedBy.IsBuiltIn() && !j.Row().Template }

// IsOpen reports whether an object has not finished and is not being deleted.
func (j *Job) IsOpen() bool { return !j.Status.IsFinished() && j.DeletedAt == nil }

// Waits reports whether an object should run, but has no Pods.
func (j *Job) Waits() bool { return j.IsOpen() && j.Active == 0 }

// IsSurelyIgnored reports whether the object alone, without Workloads, shows that Kueue ignores it: it
// has no queue label, and Kueue suspends each object for which it creates a Workload.
func (j *Job) IsSurelyIgnored() bool {
	isUntouched := !j.Suspended && j.StartTime == nil && j.StatusWrittenAt == nil
	return j.Queue() == "" && j.Prebuilt() == "" && isUntouched && j.Waits()
}

// AwaitsDispatch reports whether this plugin must dispatch an object, and has not yet.
func (j *Job) AwaitsDispatch() bool {
	return j.ManagedBy == delegation.Dispatch && j.Waits() && j.Pinned().IsZero()
}

// Ref identifies an object on one cluster.
type Ref struct {
	// Context is the context of the object.
	Context string `json:"context"`
	// Namespace is the namespace of the object.
	Namespace string `json:"namespace"`
	// Name is the name of the object.
	Name string `json:"name"`
	// UID is the UID of the object.
	UID string `json:"uid"`
}

// RefOf returns the Ref of a Job.
func RefOf(j *Job) Ref {
	return Ref{Context: j.Context, Namespace: j.Namespace, Name: j.Name, UID: j.UID}
}

// Duration returns how long the Job has been running: from its start to its end, or to now. ok is
// false if it has not started.
func (j *Job) Duration(now time.Time) (d time.Duration, ok bool) {
	if j.StartTime == nil {
		return 0, false
	}
	end := now
	if j.FinishedTime != nil {
		end = j.FinishedTime.Time
	}
	if j.CompletionTime != nil {
		end = j.CompletionTime.Time
	}
	return end.Sub(j.StartTime.Time), true
}

// IsPart reports whether the Job belongs to another object that may be delegated. A RayCluster of a
// RayJob, for example, also has the RayJob's labels and annotations. An object that a template
// creates is not a part.
func (j *Job) IsPart() bool {
	if j.Controller == nil {
		return false
	}
	row, known := delegation.KindOf(schema.FromAPIVersionAndKind(j.Controller.APIVersion, j.Controller.Kind))
	return known && !row.Template
}

// Template returns the field of the object that creates the Job from a template, like "spec.jobTemplate of CronJob
// ml/train", and that object, like "CronJob ml/train". Both are "" if no known kind with a template does.
func (j *Job) Template() (field, object string) {
	if j.Controller == nil {
		return "", ""
	}
	row, _ := delegation.KindOf(schema.FromAPIVersionAndKind(j.Controller.APIVersion, j.Controller.Kind))
	path := row.TemplatePath()
	if path == "" {
		return "", ""
	}
	object = j.Controller.Kind + " " + j.Namespace + "/" + j.Controller.Name
	return path + " of " + object, object
}

// GetObjectKind makes a Job, together with DeepCopyObject, a runtime.Object for kubectl's printers.
func (j *Job) GetObjectKind() schema.ObjectKind {
	return &metav1.TypeMeta{APIVersion: j.APIVersion, Kind: j.Kind}
}

// DeepCopyObject returns DeepCopy.
func (j *Job) DeepCopyObject() runtime.Object { return j.DeepCopy() }

// DeepCopy returns a copy that shares no mutable part with j. It shares Labels, Object and KindRow, which are
// never modified.
func (j *Job) DeepCopy() *Job {
	c := *j
	c.Completions, c.Parallelism, c.Ready = clone(j.Completions), clone(j.Parallelism), clone(j.Ready)
	c.StartTime, c.CompletionTime = clone(j.StartTime), clone(j.CompletionTime)
	c.FinishedTime, c.StatusWrittenAt = clone(j.FinishedTime), clone(j.StatusWrittenAt)
	c.Since = clone(j.Since)
	c.Mirrors, c.Findings = slices.Clone(j.Mirrors), slices.Clone(j.Findings)
	c.Dispatcher, c.Reason = j.Dispatcher.deepCopy(), clone(j.Reason)
	c.Sizes = maps.Clone(j.Sizes)
	c.DeletedAt, c.TTL, c.Deadline = clone(j.DeletedAt), clone(j.TTL), clone(j.Deadline)
	c.Finalizers, c.StatusWriters = slices.Clone(j.Finalizers), slices.Clone(j.StatusWriters)
	c.SpecWriters = slices.Clone(j.SpecWriters)
	for i := range c.SpecWriters {
		c.SpecWriters[i].At = clone(c.SpecWriters[i].At)
	}
	c.Marks, c.SpecWrittenAt, c.Controller = clone(j.Marks), clone(j.SpecWrittenAt), j.Controller.DeepCopy()
	c.Message, c.BackoffLimit, c.PerIndex = clone(j.Message), clone(j.BackoffLimit), clone(j.PerIndex)
	c.Invalid, c.Decision, c.Restarts = clone(j.Invalid), clone(j.Decision), clone(j.Restarts)
	c.WrittenAs, c.Requests = slices.Clone(j.WrittenAs), slices.Clone(j.Requests)
	return &c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// Condition returns a condition of the whole object, nil if it is not true or was not read.
func (j *Job) Condition(conditionType string) *metav1.Condition {
	if c := meta.FindStatusCondition(j.Conditions(), conditionType); c != nil && c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
}

// Conditions returns the conditions of the whole object; none if it was not read.
func (j *Job) Conditions() []metav1.Condition {
	if j.Object == nil {
		return nil
	}
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	content, _ := j.Object.Object["status"].(map[string]any)
	// A status that the API server has validated converts; any other has no conditions.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status)
	return status.Conditions
}

// Progress returns how many Pods have succeeded of how many must, in kubectl's format; "-" if the
// kind does not count them.
func (j *Job) Progress() string {
	if !j.Row().IsJob() {
		return "-"
	}
	if j.Completions != nil {
		return fmt.Sprintf("%d/%d", j.Succeeded, *j.Completions)
	}
	if j.Parallelism != nil && *j.Parallelism > 1 {
		return fmt.Sprintf("%d/1 of %d", j.Succeeded, *j.Parallelism)
	}
	return fmt.Sprintf("%d/1", j.Succeeded)
}

// MultiKueueOrigin returns the origin with which MultiKueue has labelled an object that it created,
// "" if there is none.
func (j *Job) MultiKueueOrigin() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.MultiKueueOrigin
}

// OriginUID returns the UID of the origin with which dispatch has labelled a mirror that it
// created, "" if there is none.
func (j *Job) OriginUID() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.OriginUID
}

// IsMirror reports whether an object has the mark of a mirror.
func (j *Job) IsMirror() bool { return j.OriginUID() != "" || j.MultiKueueOrigin() != "" }

// Pinned returns the mirror that an origin names, zero if it names none.
func (j *Job) Pinned() delegation.Place {
	if j.Marks == nil {
		return delegation.Place{}
	}
	return j.Marks.Mirror
}

// LeavesMirror reports whether cancel has ended an origin and left its mirror.
func (j *Job) LeavesMirror() bool {
	if j.Marks == nil {
		return false
	}
	_, leaves := delegation.ReadCancelledMark(j.Marks.Cancelled, j.UID)
	return leaves
}

// IsElastic reports whether an object may change its size while it runs.
func (j *Job) IsElastic() bool { return j.Marks != nil && j.Marks.Elastic }

// IsStopping reports whether Kueue has begun to stop a Job, and has not restored its Pod template. Kueue
// still counts it as not suspended, whatever spec.suspend is, and copies its status.
func (j *Job) IsStopping() bool { return j.Marks != nil && j.Marks.Stopping }

// Prebuilt returns the Workload that a mirror names as its own, or an origin whose user created the
// Workload; "" if the object names none.
func (j *Job) Prebuilt() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.Prebuilt
}

// Queue returns the LocalQueue that a Job is submitted to, "" if it names none.
func (j *Job) Queue() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.Queue
}
