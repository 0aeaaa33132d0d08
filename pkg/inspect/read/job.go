package read

import (
	"maps"

	"k8s.io/utils/ptr"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// readJob converts a batch/v1 Job to the model. kind is its row in the table of kinds.
func readJob(kind *delegation.Kind, o *batchv1.Job) read {
	r := read{kind: kind, state: stateOf(o)}
	apiVersion, kindName := kind.GroupVersionKind().ToAPIVersionAndKind()
	r.job = inspect.Job{
		APIVersion: apiVersion, Kind: kindName,
		Namespace: o.Namespace, Name: o.Name, UID: string(o.UID),
		ManagedBy:   kind.OwnerOf(ptr.Deref(o.Spec.ManagedBy, "")),
		Completions: o.Spec.Completions, Parallelism: o.Spec.Parallelism,
		Succeeded: o.Status.Succeeded, Failed: o.Status.Failed, Active: o.Status.Active, Ready: o.Status.Ready,
		StartTime: o.Status.StartTime, CompletionTime: o.Status.CompletionTime,
		CreationTimestamp: o.CreationTimestamp,
		Suspended:         ptr.Deref(o.Spec.Suspend, false),
		StatusWrittenAt:   inspect.StatusWrittenAt(o.ManagedFields),
		Marks:             delegation.MarksOf(o.Labels, o.Annotations),
		Generation:        o.Generation,
		SpecWrittenAt:     inspect.SpecWrittenAt(o.ManagedFields),
		DeletedAt:         o.DeletionTimestamp, Finalizers: o.Finalizers,
		TTL: o.Spec.TTLSecondsAfterFinished, ManualSelector: ptr.Deref(o.Spec.ManualSelector, false),
		Controller: metav1.GetControllerOf(o),
	}
	if !r.job.ManagedBy.IsBuiltIn() {
		r.job.StatusWriters = inspect.StatusWriters(o.ManagedFields)
	} else if r.job.IsMirror() {
		r.job.SpecWriters = inspect.SpecWriters(o.ManagedFields)
	}
	if since, ok := kind.Finished(r.state); ok && !since.IsZero() {
		r.job.FinishedTime = &metav1.Time{Time: since}
	}
	return r
}

// drop removes the fields that readJob does not read, which are most, and all labels except marks
// and the given ones.
func drop(o *batchv1.Job, labels []string) {
	o.Spec.Template = corev1.PodTemplateSpec{}
	isKept := keepsLabel(labels)
	maps.DeleteFunc(o.Labels, func(key, _ string) bool { return !isKept(key) })
	maps.DeleteFunc(o.Annotations, func(key, _ string) bool { return !delegation.IsMark(key) })
	for i := range o.ManagedFields {
		o.ManagedFields[i].FieldsV1 = nil
	}
}

func stateOf(o *batchv1.Job) delegation.State {
	s := delegation.State{
		Deleting: o.DeletionTimestamp != nil,
		Suspend:  ptr.Deref(o.Spec.Suspend, false),
		Active:   o.Status.Active, Succeeded: o.Status.Succeeded, Failed: o.Status.Failed,
		Ready:         o.Status.Ready,
		StatusWritten: !isEmpty(&o.Status) || inspect.StatusWrittenAt(o.ManagedFields) != nil,
	}
	for _, c := range o.Status.Conditions {
		s.Conditions = append(s.Conditions, delegation.Condition{
			Type: string(c.Type), Reason: c.Reason, Message: c.Message,
			True: c.Status == corev1.ConditionTrue, Status: string(c.Status), Since: c.LastTransitionTime.Time,
		})
	}
	return s
}

// isEmpty says whether a status is as the API server creates it.
func isEmpty(s *batchv1.JobStatus) bool {
	return len(s.Conditions) == 0 && s.StartTime == nil && s.CompletionTime == nil &&
		s.Active == 0 && s.Succeeded == 0 && s.Failed == 0 && s.Ready == nil && s.Terminating == nil &&
		s.CompletedIndexes == "" && s.FailedIndexes == nil && s.UncountedTerminatedPods == nil
}
