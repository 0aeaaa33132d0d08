package rules

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// stamp is a time as evidence quotes it.
func stamp(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }

// named is an object as evidence quotes it.
func named(o Object) string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// dispatchTo is the command that dispatches a Job, or goes on with the mirror that
// it has.
func dispatchTo(j *inspect.Job, context string) string {
	command := fmt.Sprintf("kubectl jobs-managedby dispatch %s -n %s --context %s --to %s", j.Name, j.Namespace, j.Context, context)
	if j.ManagedBy != delegation.Dispatch {
		command += " --managed-by " + string(j.ManagedBy)
	}
	return command
}

// cancel is the command that ends a dispatch.
func cancel(j *inspect.Job) string {
	return fmt.Sprintf("kubectl jobs-managedby cancel %s -n %s --context %s", j.Name, j.Namespace, j.Context)
}

// deleteJob is the command that deletes a Job with its pods.
func deleteJob(j *inspect.Job) string {
	return "kubectl --context " + j.Context + " -n " + j.Namespace + " delete job " + j.Name
}
