package rules

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// deleteJob is the command that deletes a Job with its pods.
func deleteJob(j *inspect.Job) string {
	return "kubectl --context " + j.Context + " -n " + j.Namespace + " delete job " + j.Name
}
