package recreate

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/podtemplate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// refuse returns the reason for which a Job cannot be recreated; nil if it can.
func refuse(old *unstructured.Unstructured, o Options) error {
	reasons := []func(*unstructured.Unstructured, Options) (reason string, remedy command.Prose){refuseDeleting, refuseMirror, refuseUnchanged, refuseWithoutQueue}
	if !o.Force {
		reasons = append(reasons, refuseDispatched, refuseControlled, refuseRunning)
	}
	for _, reason := range reasons {
		if text, remedy := reason(old, o); text != "" {
			return &plan.RefusedError{Kind: o.Kind.Kind, Origin: object.NameOf(old), Reason: text, Remedy: remedy}
		}
	}
	return nil
}

func refuseDeleting(old *unstructured.Unstructured, _ Options) (reason string, remedy command.Prose) {
	since := content.StringAt(old, "metadata", "deletionTimestamp")
	if since == "" {
		return "", ""
	}
	if finalizers := old.GetFinalizers(); len(finalizers) > 0 {
		return "has been terminating since " + since + ", and its finalizers block the deletion: " + strings.Join(finalizers, ", "), "create it again once it is gone"
	}
	return "has been terminating since " + since, "create it again once it is gone"
}

// refuseMirror refuses a mirror: its creator would create it again.
func refuseMirror(old *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	mirror, label := object.DescribeMirror(o.Kind, old)
	if label == "" {
		return "", ""
	}
	return "is " + mirror + ", and would be created again", command.Say("recreate its origin, or remove the label %s if this is a copy", label)
}

// refuseUnchanged refuses a replacement that would change nothing. It allows recreating an ended Job to
// run it again, moving a Job to another queue of the same owner, and removing Kueue's additions
// to the Pod template of an earlier Job.
func refuseUnchanged(old *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	owner := object.OwnerOf(o.Kind, old)
	changesQueue := o.Queue != nil && *o.Queue != content.StringsAt(old, "metadata", "labels")[delegation.QueueNameLabel]
	hasLeftovers := object.StateOf(o.Kind, old).Suspend && len(podtemplate.KueueKeys(o.Kind, old)) > 0
	if owner != o.owner() || changesQueue || hasLeftovers || object.HasFinished(o.Kind, old) {
		return "", ""
	}
	again := command.Say("to submit the %[1]s again, delete the %[1]s: %[2]s, and create the %[1]s again from its manifest", o.Kind.Kind,
		command.Kubectl(o.Context, old.GetNamespace(), "delete", command.KindName(o.Kind), old.GetName()))
	if owner.IsBuiltIn() {
		return "is already managed by the built-in controller", again
	}
	return "is managed by " + string(owner) + " already", again
}

// refuseWithoutQueue refuses a Job that Kueue would ignore.
func refuseWithoutQueue(old *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	if o.owner() != delegation.MultiKueue || o.Queue != nil || content.StringsAt(old, "metadata", "labels")[delegation.QueueNameLabel] != "" {
		return "", ""
	}
	return "is in no queue (label " + delegation.QueueNameLabel + "), so MultiKueue would never see it", "name a LocalQueue of its namespace with --queue"
}

func refuseDispatched(old *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	mirror := content.StringsAt(old, "metadata", "annotations")[delegation.MirrorAnnotation]
	if mirror == "" || object.HasFinished(o.Kind, old) {
		return "", ""
	}
	return "is dispatched, and its mirror runs as " + mirror,
		command.Say("end that first: %s; --force leaves the mirror where it is, and the %s may run twice",
			cancelFor(old, o), o.Kind.Kind)
}

// cancelFor returns the command that ends the dispatch of an object.
func cancelFor(old *unstructured.Unstructured, o Options) command.Command {
	return command.CancelFor(o.Kind, o.Context, old.GetNamespace(), old.GetName(), object.OwnerOf(o.Kind, old))
}

// refuseControlled refuses an object whose controller would create another one.
func refuseControlled(old *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	controller := metav1.GetControllerOfNoCopy(old)
	if controller == nil {
		return "", ""
	}
	return fmt.Sprintf("belongs to %s %s, which may create another as soon as it is gone", controller.Kind, controller.Name),
		command.Say("set the owner there, in the template of its %[1]ss; --force replaces this %[1]s alone, and leaves it to %[2]s %[3]s", o.Kind.Kind, controller.Kind, controller.Name)
}

func refuseRunning(old *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	how := describeRunning(old, o)
	if how == "" {
		return "", ""
	}
	return how, command.Say("wait for its end, or %s; --force deletes it with its Pods, and what they have done is lost", stopFor(o))
}

// stopFor returns how to stop an object that runs. Kueue resumes an object that it has admitted
// whenever a user suspends it, so there the Workload must be deactivated.
func stopFor(o Options) command.Prose {
	switch w := o.Submitted.Workload; {
	case w != nil:
		return deactivate(o.Context, w)
	case o.Submitted.Unread != nil:
		return "deactivate its Workload, because Kueue would undo suspending it"
	}
	return "suspend it"
}

// deactivate returns how to stop an object through its Workload.
func deactivate(context string, workload *unstructured.Unstructured) command.Prose {
	return command.Say("deactivate its Workload: %s", kueue.Patch(context, "Workload", workload.GetNamespace(), workload.GetName(), false, "spec", "active"))
}

// describeRunning describes how an object runs; "" if it does not. If Kueue has given an object of MultiKueue
// up, the status is the last copy of a mirror that MultiKueue has deleted.
func describeRunning(old *unstructured.Unstructured, o Options) string {
	k := o.Kind
	s := object.StateOf(k, old)
	terminating, _ := content.At(old, "status", "terminating").(int64)
	started := k.Started(s)
	switch {
	case object.HasFinished(k, old), object.OwnerOf(k, old) == delegation.MultiKueue && o.Submitted.isAbandoned():
		return ""
	case s.Active == 1:
		return "is running: 1 Pod is active"
	case s.Active > 1:
		return fmt.Sprintf("is running: %d Pods are active", s.Active)
	case k.IsJob() && terminating > 0:
		return "is running: its Pods are still being stopped"
	case !started.IsZero() && !s.Suspend:
		return "is running since " + started.UTC().Format("2006-01-02T15:04:05Z")
	case !k.IsJob() && object.StatusOf(k, old) == delegation.Running:
		return "is running"
	}
	return ""
}
