package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/podtemplate"
)

// refuseKind returns the reason for which objects of this kind cannot be dispatched; nil if they
// can.
func refuseKind(origin *unstructured.Unstructured, o Options) error {
	return refuseFor(origin, o, refuseOtherKind, refuseTemplate, refuseUnmanaged, refuseVersionWithoutField, refuseOwnerForDispatch)
}

// refuse returns the reason for which an origin cannot be dispatched; nil if it can.
func refuse(origin *unstructured.Unstructured, o Options) error {
	return refuseFor(origin, o, refuseUnnamed, refuseMirror, refuseOtherDispatch, refuseOtherOwner, refuseEnded, refusePinnedToNode, refuseBadName)
}

// RefuseOwner returns a *RefusedError if objects of a kind cannot have an owner, for any purpose;
// nil if they can.
func RefuseOwner(o *unstructured.Unstructured, k delegation.Kind, owner delegation.Owner) error {
	return refuseFor(o, Options{Kind: k, Owner: owner}, refuseTemplate, refuseUnmanaged, refuseVersionWithoutField, refuseOwnerValue)
}

type refusal func(origin *unstructured.Unstructured, o Options) (reason string, remedy command.Prose)

func refuseFor(origin *unstructured.Unstructured, o Options, reasons ...refusal) error {
	for _, reason := range reasons {
		if why, remedy := reason(origin, o); why != "" {
			return &RefusedError{Kind: o.Kind.Kind, Origin: object.NameOf(origin), Reason: why, Remedy: remedy}
		}
	}
	return nil
}

func refuseUnnamed(origin *unstructured.Unstructured, _ Options) (reason string, remedy command.Prose) {
	if origin.GetName() == "" {
		return "has no name", "give it a metadata.name, which its mirror will have too"
	}
	return "", ""
}

// refuseMirror refuses a mirror: its Pods run, or will.
func refuseMirror(origin *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	mirror, label := object.DescribeMirror(o.Kind, origin)
	instead := "dispatch that one"
	switch label {
	case "":
		return "", ""
	case delegation.MultiKueueOriginLabel:
		instead = "leave it to MultiKueue"
	}
	return "is itself " + mirror, command.Say("%s, or remove the label %s if this is a copy", instead, label)
}

// refuseOtherDispatch refuses an object that was dispatched with another owner. It advises no take-over: recreate refuses
// the object while its mirror may run.
func refuseOtherDispatch(origin *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	current := o.Kind.OwnerOf(content.StringAt(origin, o.Kind.ManagedBy...))
	marks := delegation.MarksOf(origin.GetLabels(), origin.GetAnnotations())
	if current == o.Owner || origin.GetUID() == "" || !delegation.IsDispatched(current, marks) || object.HasFinished(o.Kind, origin) {
		return "", ""
	}
	reason = fmt.Sprintf("is managed by %s, not by %s", current, o.Owner)
	if current == delegation.Dispatch {
		return reason, command.Say("to dispatch it, use --managed-by %s", current)
	}
	return reason + ", but names a mirror of dispatch", command.Say("if it was dispatched with --managed-by, resume it with the same flag, or end the dispatch: %s",
		command.CancelFor(o.Kind, o.Context, origin.GetNamespace(), origin.GetName(), current))
}

// refuseOtherOwner refuses an object of another owner: both would write its status.
func refuseOtherOwner(origin *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	current := o.Kind.OwnerOf(content.StringAt(origin, o.Kind.ManagedBy...))
	isStored := origin.GetUID() != ""
	takeOver := command.Say("set %s to %s", content.Dotted(o.Kind.ManagedBy), o.Owner)
	if isStored {
		takeOver = recreateFor(origin, o).Prose()
	}
	switch {
	case current.IsBuiltIn() && isStored && o.Kind.Change == delegation.Always:
		return "is not delegated, so its own cluster runs it", takeOver + " creates it again; dispatch -f FILE creates one that does not exist yet"
	case current.IsBuiltIn() && isStored:
		return "is not delegated, so its own cluster runs it, and managedBy is immutable",
			takeOver + " creates it again; dispatch -f FILE creates one that does not exist yet"
	case current.IsBuiltIn():
		return "is not delegated, so its own cluster would run it too", takeOver
	case current == o.Owner:
		return "", ""
	case current == delegation.MultiKueue:
		return "is managed by " + string(current) + ": MultiKueue and dispatch would both write its status",
			"leave it to MultiKueue, or take it over: " + takeOver
	default:
		return "is managed by " + string(current) + ", whose controller would write its status too",
			"leave it to that controller, or take it over: " + takeOver
	}
}

// refuseEnded refuses an object that has ended. The status in a file is ignored.
func refuseEnded(origin *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	if origin.GetUID() == "" {
		return "", ""
	}
	if deleting := content.StringAt(origin, "metadata", "deletionTimestamp"); deleting != "" {
		return "has been terminating since " + deleting, "create it again once it is gone"
	}
	how := object.EndOf(o.Kind, origin)
	if how == nil {
		return "", ""
	}
	since := ""
	if !how.At.IsZero() {
		since = " since " + how.At.UTC().Format(time.RFC3339)
	}
	return "is " + string(object.StatusOf(o.Kind, origin)) + since, command.Say("to run it again: %s", recreateFor(origin, o))
}

// recreateFor returns the command that recreates an origin for its owner. Its queue, which was not read, may be one of
// MultiKueue.
func recreateFor(origin *unstructured.Unstructured, o Options) command.Command {
	c := command.PluginFor(o.Kind, "recreate", o.Context, origin.GetNamespace(), origin.GetName()).With("--managed-by", string(o.Owner))
	if o.Owner.MustLeaveQueue(content.StringsAt(origin, "metadata", "labels")[delegation.QueueNameLabel], true) {
		c = c.With("--queue", "")
	}
	return c
}

func refusePinnedToNode(origin *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	for _, t := range podtemplate.Of(o.Kind, origin) {
		if node, _ := t.Pod()["nodeName"].(string); node != "" {
			return "pins its Pods to the node " + node + " of its own cluster",
				command.Say("create it again without %s.spec.nodeName, or use a nodeSelector", t.Path)
		}
	}
	return "", ""
}

// refuseBadName refuses names that the worker's API server refuses. An older API server of the origin
// may have accepted them. The name becomes the value of a label of the Pods and, for an Indexed
// Job, the beginning of their hostnames (kubernetes: pkg/apis/batch/validation/validation.go,
// ValidateJob).
func refuseBadName(origin *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	if !o.Kind.IsJob() {
		return "", ""
	}
	name := origin.GetName()
	const rename = "create it again with another name"
	if problems := validation.IsValidLabelValue(name); len(problems) > 0 && !content.IsTrueAt(origin, "spec", "manualSelector") {
		return "has a name that its Pods cannot have as a label: " + problems[0], rename
	}
	completions, _ := content.At(origin, "spec", "completions").(int64)
	if content.StringAt(origin, "spec", "completionMode") != "Indexed" || completions < 1 {
		return "", ""
	}
	hostname := fmt.Sprintf("%s-%d", name, completions-1)
	if problems := validation.IsDNS1123Label(hostname); len(problems) > 0 {
		return fmt.Sprintf("has a name from which no hostnames can be made for its Pods, such as %s: %s", hostname, problems[0]), rename
	}
	return "", ""
}
