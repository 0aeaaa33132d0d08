package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Job is a Job, or an object of another kind that runs to completion and can be
// delegated, as the model keeps it: a few hundred bytes, whatever the size of
// its pod template. Its JSON form is part of the output that scripts may rely
// on.
type Job struct {
	// Context is the kubeconfig context it was read through.
	Context string `json:"context"`
	// ClusterUID is the identity of its cluster, "" where that may not be read.
	ClusterUID string `json:"clusterUID"`
	// APIVersion is that of the object.
	APIVersion string `json:"apiVersion"`
	// Kind is that of the object.
	Kind string `json:"kind"`
	// Namespace is that of the object.
	Namespace string `json:"namespace"`
	// Name is that of the object.
	Name string `json:"name"`
	// UID is that of the object.
	UID string `json:"uid"`
	// ManagedBy is its owner, "built-in" where it is not delegated.
	ManagedBy delegation.Owner `json:"managedBy"`
	// Status is its actual status.
	Status delegation.Status `json:"status"`
	// Completions is how many pods have to succeed; null means that any one
	// that succeeds ends it.
	Completions *int32 `json:"completions"`
	// Parallelism is how many Pods may run at once.
	Parallelism *int32 `json:"parallelism"`
	// Succeeded is how many Pods succeeded.
	Succeeded int32 `json:"succeeded"`
	// Failed is how many Pods failed.
	Failed int32 `json:"failed"`
	// Active is how many Pods are pending or running.
	Active int32 `json:"active"`
	// Ready is null where the server does not count ready pods.
	Ready *int32 `json:"ready"`
	// StartTime is when it started; null if it has not.
	StartTime *metav1.Time `json:"startTime"`
	// CompletionTime is when it completed; null if it has not.
	CompletionTime *metav1.Time `json:"completionTime"`
	// FinishedTime is when it completed or failed; a failed Job has no
	// completionTime.
	FinishedTime *metav1.Time `json:"finishedTime"`
	// CreationTimestamp is when it was created.
	CreationTimestamp metav1.Time `json:"creationTimestamp"`
	// Suspended is spec.suspend.
	Suspended bool `json:"suspended"`
	// StatusWrittenAt is when its status last changed, by managedFields.
	StatusWrittenAt *metav1.Time `json:"statusWrittenAt"`
	// Since is when it came into the state that status tells; null where nobody
	// wrote that down.
	Since *metav1.Time `json:"since"`
	// Mirrors are its copies on other clusters that stand for it now; null means
	// that they were not looked for, or that it could not be known. A mirror on a
	// context that was not asked has no uid.
	Mirrors []Ref `json:"mirrors"`
	// Dispatcher is who looks after it, where it is dispatched; null where it is
	// not, where nobody looked, as in a watch, or where it could not be known.
	Dispatcher *Dispatcher `json:"dispatcher"`
	// Findings are the codes of the Job's findings. The field is absent where they were not
	// judged, as in a watch, or where not all contexts were read.
	Findings []string `json:"findings,omitzero"`
	// Reason says in one word why it is in its state, as its trace does, "" if its status says
	// it all; null where that was not asked for. Message is the same as a text.
	Reason *JobReason `json:"reason"`
	// Message says why it is in its state, with numbers; null if that was not asked for.
	Message *string `json:"message"`

	// Labels are those of its labels that were asked for; nil if it has none of them. Jobs share
	// them, and nobody may change them.
	Labels map[string]string `json:"-"`
	// Marks are what its labels and annotations tell of its copies; nil if
	// nothing.
	Marks *delegation.Marks `json:"-"`
	// Generation counts the changes of its spec.
	Generation int64 `json:"-"`
	// Sizes are the fields that say how many pods it wants, by their paths, of other kinds
	// than Job.
	Sizes map[string]int64 `json:"-"`
	// DeletedAt is when its deletion was asked for; Finalizers are what it waits for.
	DeletedAt  *metav1.Time `json:"-"`
	Finalizers []string     `json:"-"`
	// TTL is after how many seconds it is deleted once it has finished.
	TTL *int32 `json:"-"`
	// ManualSelector is spec.manualSelector.
	ManualSelector bool `json:"-"`
	// StatusWriters are the managers that have written its status, by
	// managedFields.
	StatusWriters []string `json:"-"`
	// SpecWriters are the managers that have written anything but the status of a mirror, by
	// its managed fields.
	SpecWriters []string `json:"-"`
	// Object is the whole object, where one Job was asked for and not a list of
	// them.
	Object *unstructured.Unstructured `json:"-"`
	// SpecWrittenAt is when anything but its status last changed, by managedFields.
	SpecWrittenAt *metav1.Time `json:"-"`
	// Controller is what controls it, such as the JobSet of a Job; nil if nothing.
	Controller *metav1.OwnerReference `json:"-"`
	// WrittenAs are the API versions through which it was written, by managedFields.
	WrittenAs []string `json:"-"`
	// Concurrency is the concurrencyPolicy of a template, "" if it has none.
	Concurrency string `json:"-"`
	// PodValue is what its kind's PodValue leads to.
	PodValue string `json:"-"`

	// KindRow is its kind, where that was read along with it; Row tells it always.
	KindRow *delegation.Kind `json:"-"`
}

// Row is the Job's kind, with all that is known of it.
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

// PodLabelValue is the value of its kind's PodLabel on its pods; "" where it has none
// so far.
func (j *Job) PodLabelValue() string {
	if len(j.Row().PodValue) == 0 {
		return j.Name
	}
	return j.PodValue
}

// IsDelegated says whether another controller than its kind's own reconciles it.
// Of a template the owner is told too, but the template itself is not delegated.
func (j *Job) IsDelegated() bool { return !j.ManagedBy.IsBuiltIn() && !j.Row().Template }

// IsOpen says whether an object has neither come to its end nor is being deleted.
func (j *Job) IsOpen() bool { return !j.Status.IsFinished() && j.DeletedAt == nil }

// Waits says whether an object is meant to run, and has no pods.
func (j *Job) Waits() bool { return j.IsOpen() && j.Active == 0 }

// AwaitsDispatch says whether an object is this plugin's to dispatch, and has not been.
func (j *Job) AwaitsDispatch() bool {
	return j.ManagedBy == delegation.Dispatch && j.Waits() && j.Pinned().IsZero()
}

// Ref names an object on one of the clusters.
type Ref struct {
	// Context is where the object is.
	Context string `json:"context"`
	// Namespace is that of the object.
	Namespace string `json:"namespace"`
	// Name is that of the object.
	Name string `json:"name"`
	// UID is that of the object.
	UID string `json:"uid"`
}

// RefOf names a Job.
func RefOf(j *Job) Ref {
	return Ref{Context: j.Context, Namespace: j.Namespace, Name: j.Name, UID: j.UID}
}

// Duration is how long it has been running: from its start until it finished,
// or until now. ok is false where it has not started.
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

// IsPart says whether the Job was made for another object that may be delegated, and
// is looked at by itself: a RayJob's RayCluster, say, which has the RayJob's labels
// and annotations too. What a template makes stands for itself.
func (j *Job) IsPart() bool {
	if j.Controller == nil {
		return false
	}
	row, known := delegation.KindOf(schema.FromAPIVersionAndKind(j.Controller.APIVersion, j.Controller.Kind))
	return known && !row.Template
}

// GetObjectKind and DeepCopyObject make a Job something that kubectl's printers
// take.
func (j *Job) GetObjectKind() schema.ObjectKind {
	return &metav1.TypeMeta{APIVersion: j.APIVersion, Kind: j.Kind}
}

// DeepCopyObject returns a copy that shares no mutable part with j, but for Object
// and KindRow, which nobody changes.
func (j *Job) DeepCopyObject() runtime.Object { return j.deepCopy() }

func (j *Job) deepCopy() *Job {
	c := *j
	c.Completions, c.Parallelism, c.Ready = clone(j.Completions), clone(j.Parallelism), clone(j.Ready)
	c.StartTime, c.CompletionTime = clone(j.StartTime), clone(j.CompletionTime)
	c.FinishedTime, c.StatusWrittenAt = clone(j.FinishedTime), clone(j.StatusWrittenAt)
	c.Since = clone(j.Since)
	c.Mirrors, c.Findings = slices.Clone(j.Mirrors), slices.Clone(j.Findings)
	c.Dispatcher, c.Reason = j.Dispatcher.deepCopy(), clone(j.Reason)
	c.Sizes = maps.Clone(j.Sizes)
	c.DeletedAt, c.TTL = clone(j.DeletedAt), clone(j.TTL)
	c.Finalizers, c.StatusWriters = slices.Clone(j.Finalizers), slices.Clone(j.StatusWriters)
	c.SpecWriters = slices.Clone(j.SpecWriters)
	c.Marks, c.SpecWrittenAt, c.Controller = clone(j.Marks), clone(j.SpecWrittenAt), clone(j.Controller)
	c.WrittenAs = slices.Clone(j.WrittenAs)
	return &c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// conditions are those of the whole object; none where there is only the model.
func (j *Job) conditions() []metav1.Condition {
	if j.Object == nil {
		return nil
	}
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	content, _ := j.Object.Object["status"].(map[string]any)
	// What the API server has validated converts; anything else tells nothing.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status)
	return status.Conditions
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Progress is how many pods have succeeded of how many have to, as kubectl has
// it; "-" where the Job's kind does not count them.
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
