package advice

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
)

// Unblock returns how to end the deletion of a Job that waits for its finalizers.
func Unblock(j *inspect.Job) command.Prose {
	return command.Say("start the controller that removes %[1]s; if that controller no longer exists, remove %[1]s: %[2]s",
		quote.Finalizers(j), SetField(j, []string{"metadata", "finalizers"}, nil))
}

// IsBlocked reports whether the deletion of a Job waits for a finalizer that the garbage collector does
// not remove.
func IsBlocked(j *inspect.Job) bool {
	return j.DeletedAt != nil && len(j.Finalizers) > 0 && !IsGarbageCollected(j)
}

// IsGarbageCollected reports whether only the garbage collector must remove the finalizer of a Job:
// that of a deletion in the foreground, or of one that orphans its objects.
func IsGarbageCollected(j *inspect.Job) bool {
	return len(j.Finalizers) == 1 && (j.Finalizers[0] == metav1.FinalizerDeleteDependents || j.Finalizers[0] == metav1.FinalizerOrphanDependents)
}
