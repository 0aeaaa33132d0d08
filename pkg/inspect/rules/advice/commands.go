package advice

import (
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// KubectlJob returns the kubectl command with a verb for a Job.
func KubectlJob(j *inspect.Job, verb string) command.Command {
	return command.Kubectl(j.Context, j.Namespace, verb, command.KindName(j.Row()), j.Name)
}

// Plugin returns one of our own commands for a Job.
func Plugin(verb string, j *inspect.Job) command.Command {
	return command.PluginFor(j.Row(), verb, j.Context, j.Namespace, j.Name)
}

// DeleteJob returns the command that deletes a Job with its Pods.
func DeleteJob(j *inspect.Job) command.Command { return KubectlJob(j, "delete") }

// CreateAgain returns how to restart a Job from scratch.
func CreateAgain(j *inspect.Job) command.Prose { return CreateAgainWith(j, "") }

// CreateAgainWith returns how to restart a Job with a change of its manifest, such as "with a label". It names the Job,
// because the step before it may be about a mirror.
func CreateAgainWith(j *inspect.Job, change string) command.Prose {
	template, _ := j.Template()
	deletion := command.Fix{Text: "delete the " + j.Kind, Command: DeleteJob(j).Words()}
	steps := command.CreateAgain(deletion, j.Kind, template, change).Steps()
	texts := make([]command.Prose, len(steps))
	for i, s := range steps {
		texts[i] = command.Fix{Text: s.Text, Command: s.Command}.Prose()
	}
	return command.Join(texts, ", and ")
}

// DeleteNamed returns how to delete a Job, in a sentence that says what the command deletes.
func DeleteNamed(j *inspect.Job) command.Prose {
	return command.Say("delete the %s: %s", j.Kind, DeleteJob(j))
}

// CreateNamespace returns how to create a namespace on a cluster.
func CreateNamespace(context, name string) command.Prose {
	return command.Say("create namespace %s on %s: %s", name, context, command.Kubectl(context, "", "create", "namespace", name))
}

// KubectlObject returns the kubectl command with a verb for an object of Kueue.
func KubectlObject(o view.Object, verb string) command.Command {
	return kueue.Kubectl(o.Context, verb, o.Kind, o.Namespace, o.Name)
}

// PatchObject returns the command that sets a field of an object of Kueue.
func PatchObject(o view.Object, value any, path ...string) command.Command {
	return kueue.Patch(o.Context, o.Kind, o.Namespace, o.Name, value, path...)
}

// DispatchTo returns the command that dispatches a Job to a namespace of a context, or resumes
// with its mirror there.
func DispatchTo(j *inspect.Job, context, namespace string) command.Command {
	c := Plugin("dispatch", j).With("--to", context)
	if namespace != j.Namespace {
		c = c.With("--namespace-to", namespace)
	}
	return c.With(command.OwnerFlag(j.ManagedBy)...)
}

// NewMirrorFlag makes dispatch create a new mirror if somebody deleted the old one, or resume
// with a mirror that was created so.
const NewMirrorFlag = "--new-mirror"

// Cancel returns the command that ends a dispatch.
func Cancel(j *inspect.Job) command.Command {
	return command.CancelFor(j.Row(), j.Context, j.Namespace, j.Name, j.ManagedBy)
}

// CanRecreate reports whether the command recreate can give a Job to an owner. It cannot
// recreate mirrors, which their controller must create.
func CanRecreate(j *inspect.Job, owner delegation.Owner) bool {
	row := j.Row()
	isName := owner.IsBuiltIn() || len(validation.IsDomainPrefixedPath(nil, string(owner))) == 0
	return isName && row.Allows(row.OwnerOf(string(owner))) && !row.Template && !j.IsMirror() && j.DeletedAt == nil
}

// Recreate returns the command that deletes a Job and creates it again for another owner. The
// command has --force if it would refuse the Job: because it runs, is dispatched, or belongs
// to another object.
func Recreate(v *view.View, j *inspect.Job, owner delegation.Owner) command.Command {
	return RecreateIn(v, j, owner, QueuePlaceholder)
}

// RecreateIn is Recreate for a Job that gets a queue, if it has none and MultiKueue is to
// manage it.
func RecreateIn(v *view.View, j *inspect.Job, owner delegation.Owner, queue string) command.Command {
	name := string(owner)
	if owner.IsBuiltIn() {
		name = ""
	}
	c := Plugin("recreate", j).With("--managed-by", name)
	switch {
	case owner == delegation.MultiKueue && j.Queue() == "":
		c = c.With("--queue", queue)
	case mustLeaveQueue(v, j, owner):
		c = c.With("--queue", "")
	}
	if isAtWork(j) || j.Controller != nil || !j.Status.IsFinished() && !j.Pinned().IsZero() {
		c = c.With("--force")
	}
	return c
}

// mustLeaveQueue reports whether a Job must leave its queue for an owner.
func mustLeaveQueue(v *view.View, j *inspect.Job, owner delegation.Owner) bool {
	return owner.MustLeaveQueue(j.Queue(), v.IsInMultiKueue(j))
}

// isAtWork reports whether a Job visibly runs on its own cluster.
func isAtWork(j *inspect.Job) bool {
	isRunning := j.Status == delegation.Running && !j.Row().IsJob()
	return !j.Status.IsFinished() && (isRunning || j.Active > 0 || j.StartTime != nil && !j.Suspended)
}
