package rules

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// few is how many of many are named.
const few = 3

// stamp is a time as evidence quotes it.
func stamp(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }

// named is an object as evidence quotes it.
func named(o Object) string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// dispatchTo is the command that dispatches a Job to a namespace of a context, or
// goes on with the mirror that it has there.
func dispatchTo(j *inspect.Job, context, namespace string) string {
	command := fmt.Sprintf("kubectl jobs-managedby dispatch %s -n %s --context %s --to %s", argument(j), j.Namespace, j.Context, context)
	if namespace != j.Namespace {
		command += " --namespace-to " + namespace
	}
	return command + ownerFlag(j)
}

// newMirror has dispatch make another mirror where somebody has removed one, or go
// on with one that was made so.
const newMirror = " --new-mirror"

// cancel is the command that ends a dispatch.
func cancel(j *inspect.Job) string {
	return fmt.Sprintf("kubectl jobs-managedby cancel %s -n %s --context %s", argument(j), j.Namespace, j.Context) + ownerFlag(j)
}

// ownerFlag says whose a Job is to commands that take it for our own.
func ownerFlag(j *inspect.Job) string {
	if j.ManagedBy == delegation.Dispatch {
		return ""
	}
	return " --managed-by " + string(j.ManagedBy)
}

// pinOf quotes where an origin says that its mirror is.
func pinOf(j *inspect.Job) string {
	return fmt.Sprintf("%s: annotation %s of %s is %s", j.Context, delegation.MirrorAnnotation, named(Of(j)), pinned(j))
}

// deleteJob is the command that deletes an object with its pods.
func deleteJob(j *inspect.Job) string { return onJob(j, "delete") }

// onJob is kubectl with a verb for an object.
func onJob(j *inspect.Job, verb string) string {
	return fmt.Sprintf("kubectl --context %s -n %s %s %s %s", j.Context, j.Namespace, verb, typeOf(j), j.Name)
}
