package advice

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
)

// Unblock returns how to end the deletion of a Job that waits for finalizers of other controllers than
// the garbage collector. Without the garbage collector's own, the wrong objects would be deleted or kept. effect is what
// the end of the Job does to its Pods, "" if nothing.
func Unblock(j *inspect.Job, effect string) command.Prose {
	foreign := foreignFinalizers(j)
	var kept any
	if names := slices.DeleteFunc(slices.Clone(j.Finalizers), func(name string) bool { return slices.Contains(foreign, name) }); len(names) > 0 {
		kept = names
	}
	if effect != "" {
		effect = " (" + effect + ")"
	}
	return command.Say("start the controller that removes %[1]s; if that controller no longer exists, remove %[1]s%[3]s: %[2]s",
		quote.FinalizerNames(foreign), SetField(j, []string{"metadata", "finalizers"}, kept), effect)
}

// IsBlocked reports whether the deletion of a Job waits for a finalizer that the garbage collector does
// not remove.
func IsBlocked(j *inspect.Job) bool { return j.DeletedAt != nil && len(foreignFinalizers(j)) > 0 }

// foreignFinalizers returns the finalizers that the garbage collector does not remove. It removes that of
// a deletion in the foreground, and of one that orphans the objects of the Job.
func foreignFinalizers(j *inspect.Job) []string {
	return slices.DeleteFunc(slices.Clone(j.Finalizers), func(name string) bool {
		return name == metav1.FinalizerDeleteDependents || name == metav1.FinalizerOrphanDependents
	})
}
