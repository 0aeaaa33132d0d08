package rules

import (
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// kubectlFor is a command of kubectl's with a verb for an object.
func kubectlFor(j *inspect.Job, verb string) command.Command {
	return command.Kubectl(j.Context, j.Namespace, verb, typeOf(j), j.Name)
}

// ours is one of our own commands for an object.
func ours(verb string, j *inspect.Job) command.Command {
	return command.Plugin(verb, argument(j), "-n", j.Namespace, "--context", j.Context)
}

// deleteJob is the command that deletes an object with its pods.
func deleteJob(j *inspect.Job) command.Command { return kubectlFor(j, "delete") }

// kubectlOn is a command of kubectl's with a verb for an object of Kueue's.
func kubectlOn(o Object, verb string) command.Command {
	return kueue.Kubectl(o.Context, verb, o.Kind, o.Namespace, o.Name)
}

// patchOn is the command that gives a field of an object of Kueue's a value.
func patchOn(o Object, value any, path ...string) command.Command {
	return kueue.Patch(o.Context, o.Kind, o.Namespace, o.Name, value, path...)
}

// podsOfKueue is the command that shows whether Kueue runs on a context.
func podsOfKueue(context string) command.Command {
	return command.Kubectl(context, kueue.Namespace, "get", "pods")
}

// controller is the Deployment of Kueue's controller.
const controller = "kueue-controller-manager"

// logsOfKueue is the command that shows what Kueue on a context logs.
func logsOfKueue(context string) command.Command {
	return command.Kubectl(context, kueue.Namespace, "logs", "deployment/"+controller)
}

// reconfigureKueue are the commands that change Kueue's configuration on a context.
func reconfigureKueue(context string) command.Prose {
	return command.Say("%s, and then %s", command.Kubectl(context, kueue.Namespace, "edit", "configmap", "kueue-manager-config"),
		command.Kubectl(context, kueue.Namespace, "rollout", "restart", "deployment", controller))
}

// seeKueue is how to find out why Kueue on a context does not do what it should. Where
// it is seen at work, nobody has to look whether it runs.
func seeKueue(context string, a *Awaited) command.Prose {
	if a.isAtWork() {
		return command.Say("see what Kueue logs on %s: %s", context, logsOfKueue(context))
	}
	return command.Say("see whether Kueue runs on %s: %s; and what it logs: %s", context, podsOfKueue(context), logsOfKueue(context))
}

// seeActor is how to find out what is the matter with an actor.
func seeActor(actor inspect.Actor, a *Awaited) command.Prose {
	switch actor.Role {
	case inspect.RoleKueue:
		return seeKueue(actor.Context, a)
	case inspect.RoleJobController:
		return command.Say("see that kube-controller-manager runs on %s; it renews this lease every few seconds: %s", actor.Context, leaseOfControllers(actor.Context))
	default:
		return command.Say("see whether %s runs, and what it logs", actor)
	}
}

// leaseOfControllers is the command that shows whether kube-controller-manager runs on a
// context.
func leaseOfControllers(context string) command.Command {
	return command.Kubectl(context, "kube-system", "get", "leases.coordination.k8s.io", "kube-controller-manager", "-o", "yaml")
}

// dispatchTo is the command that dispatches a Job to a namespace of a context, or
// goes on with the mirror that it has there.
func dispatchTo(j *inspect.Job, context, namespace string) command.Command {
	c := ours("dispatch", j).With("--to", context)
	if namespace != j.Namespace {
		c = c.With("--namespace-to", namespace)
	}
	return c.With(ownerFlag(j)...)
}

// newMirror has dispatch make another mirror where somebody has removed one, or go
// on with one that was made so.
const newMirror = "--new-mirror"

// cancel is the command that ends a dispatch.
func cancel(j *inspect.Job) command.Command { return ours("cancel", j).With(ownerFlag(j)...) }

// ownerFlag are the words that say whose a Job is to commands that take it for our own.
func ownerFlag(j *inspect.Job) []string {
	if j.ManagedBy == delegation.Dispatch {
		return nil
	}
	return []string{"--managed-by", string(j.ManagedBy)}
}

// mayRecreate says whether the command recreate can give an object to an owner. What
// a mirror is has to be made by whoever made it.
func mayRecreate(j *inspect.Job, owner delegation.Owner) bool {
	row := j.Row()
	isName := owner.IsBuiltIn() || len(validation.IsDomainPrefixedPath(nil, string(owner))) == 0
	return isName && row.Allows(row.OwnerOf(string(owner))) && !row.Template && !j.IsMirror() && j.DeletedAt == nil
}

// recreate is the command that deletes an object and creates it again for another
// owner. It leaves alone what runs, what is dispatched and what belongs to another
// object, unless told.
func recreate(j *inspect.Job, owner delegation.Owner) command.Command {
	return recreateIn(j, owner, someQueue)
}

// someQueue stands for a LocalQueue that the reader has to choose.
const someQueue = "LOCALQUEUE"

// recreateIn is recreate, which puts an object that is in no queue into one, if it is
// given to MultiKueue.
func recreateIn(j *inspect.Job, owner delegation.Owner, queue string) command.Command {
	name := string(owner)
	if owner.IsBuiltIn() {
		name = ""
	}
	c := ours("recreate", j).With("--managed-by", name)
	if owner == delegation.MultiKueue && j.Queue() == "" {
		c = c.With("--queue", queue)
	}
	if isAtWork(j) || j.Controller != nil || !j.Status.IsFinished() && !j.Pinned().IsZero() {
		c = c.With("--force")
	}
	return c
}

// isAtWork says whether an object can be seen to run where it is.
func isAtWork(j *inspect.Job) bool {
	isRunning := j.Status == delegation.Running && !j.Row().IsJob()
	return !j.Status.IsFinished() && (isRunning || j.Active > 0 || j.StartTime != nil && !j.Suspended)
}
