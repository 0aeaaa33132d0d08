package quote

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// NeverWritten quotes the owner of a Job whose status was never written.
func NeverWritten(j *inspect.Job) string {
	return fmt.Sprintf("%s; it was created at %s, and its status was never written", Owner(j), Time(j.CreationTimestamp))
}

// State quotes the status of an object, with its Pods if its kind counts them.
func State(j *inspect.Job) string {
	text := fmt.Sprintf("%s: %s is %s", j.Context, view.Of(j).String(), j.Status)
	if j.Row().IsJob() {
		text += fmt.Sprintf(", with %d active, %d succeeded and %d failed Pods", j.Active, j.Succeeded, j.Failed)
	}
	switch {
	case j.FinishedTime != nil:
		text += ", since " + Time(*j.FinishedTime)
	case j.StartTime != nil:
		text += ", started " + Time(*j.StartTime)
	}
	return text
}

// Finalizers names the finalizers of a Job.
func Finalizers(j *inspect.Job) string { return FinalizerNames(j.Finalizers) }

// FinalizerNames names some finalizers.
func FinalizerNames(names []string) string {
	if len(names) == 1 {
		return "finalizer " + names[0]
	}
	return "finalizers " + inspect.And(names)
}

// Mark quotes the label that makes a Job a mirror.
func Mark(j *inspect.Job) string {
	key, value := delegation.OriginUIDLabel, j.Marks.OriginUID
	if value == "" {
		key, value = delegation.MultiKueueOriginLabel, j.Marks.MultiKueueOrigin
	}
	return fmt.Sprintf("%s: label %s of %s is %s", j.Context, key, view.Of(j).String(), value)
}

// MirrorAnnotation quotes the annotation by which an origin names its mirror.
func MirrorAnnotation(j *inspect.Job) string {
	return fmt.Sprintf("%s: annotation %s of %s is %s", j.Context, delegation.MirrorAnnotation, view.Of(j).String(), j.Pinned())
}

// OwnerFieldOf returns the field of an object that names its owner.
func OwnerFieldOf(j *inspect.Job) string { return OwnerField(j.Row()) }

// OwnerField returns the field of a kind that names the owner.
func OwnerField(row delegation.Kind) string {
	if row.IsUnmanaged() {
		return "spec.managedBy"
	}
	return strings.Join(row.ManagedBy, ".")
}

// Owner quotes the owner of an object.
func Owner(j *inspect.Job) string {
	return fmt.Sprintf("%s: %s of %s %s", j.Context, OwnerFieldOf(j), view.Of(j).String(), OwnerValue(j))
}

// OwnerValue returns what the field is that names the owner of an object: "is X", or "is not set".
func OwnerValue(j *inspect.Job) string {
	switch {
	case j.NamesBuiltIn:
		return "is " + j.Row().Reserved
	case j.ManagedBy.IsBuiltIn():
		return "is not set"
	}
	return "is " + string(j.ManagedBy)
}

// TTL quotes the TTL of an object that has one.
func TTL(j *inspect.Job) string {
	return fmt.Sprintf("%s: %s of %s is %d", j.Context, strings.Join(j.Row().TTL(), "."), view.Of(j).String(), *j.TTL)
}

// Deletion quotes that a Job is being deleted, and its finalizers.
func Deletion(j *inspect.Job) []string {
	return []string{
		fmt.Sprintf("%s: metadata.deletionTimestamp of %s is %s", j.Context, view.Of(j).String(), Time(*j.DeletedAt)),
		fmt.Sprintf("%s: metadata.finalizers of %s is [%s]", j.Context, view.Of(j).String(), strings.Join(j.Finalizers, ", ")),
	}
}
