package advice

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// ReplacePrebuilt returns the remedy for a Job that names a Workload that is not its own. f is what was read of
// its cluster. Kueue's webhook lets the label change only while the Job is suspended (kueue:
// pkg/controller/jobframework/validation.go, validateUpdateForPrebuiltWorkload).
func ReplacePrebuilt(f *inspect.Facts, j *inspect.Job) command.Prose {
	create := command.Say("create Workload %s/%s for it", j.Namespace, j.Prebuilt())
	if f.Workload(j.Namespace, j.Prebuilt()) != nil {
		create = command.Say("create another Workload for it, and name that in label %s", delegation.PrebuiltWorkload)
	}
	if !j.Suspended {
		return command.Say("%s; or %s", create, CreateAgainWith(j, "without label "+delegation.PrebuiltWorkload+", so that Kueue creates the Workload"))
	}
	// The name may be in a label or an annotation.
	none := map[string]any{delegation.PrebuiltWorkload: nil}
	patch := command.Patch(map[string]any{"labels": none, "annotations": none}, "metadata")
	return command.Say("%s; or remove label %s, so that Kueue creates the Workload: %s", create, delegation.PrebuiltWorkload,
		KubectlJob(j, "patch").With("--type=merge", "-p", patch))
}
