package dispatch

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// refuse says why an origin cannot be dispatched, nil if it can. owner is who it
// has to be managed by.
func refuse(origin *unstructured.Unstructured, owner delegation.Owner) error {
	for _, reason := range []func(*unstructured.Unstructured, delegation.Owner) (reason, remedy string){
		notAJob, unnamed, isMirror, notOurs, hasEnded, pinnedToNode, badName,
	} {
		if why, remedy := reason(origin, owner); why != "" {
			return &RefusedError{Origin: nameOf(origin), Reason: why, Remedy: remedy}
		}
	}
	return nil
}

func notAJob(origin *unstructured.Unstructured, _ delegation.Owner) (reason, remedy string) {
	if gvk := origin.GroupVersionKind(); gvk != delegation.Job().GroupVersionKind() {
		return fmt.Sprintf("is a %s of %s", gvk.Kind, origin.GetAPIVersion()), "only Jobs of batch/v1 can be dispatched"
	}
	return "", ""
}

func unnamed(origin *unstructured.Unstructured, _ delegation.Owner) (reason, remedy string) {
	if origin.GetName() == "" {
		return "has no name", "give it a metadata.name, which its mirror will have too"
	}
	return "", ""
}

// isMirror refuses what is somebody's mirror already: its pods run, or will.
func isMirror(origin *unstructured.Unstructured, _ delegation.Owner) (reason, remedy string) {
	labels := stringsAt(origin, "metadata", "labels")
	if uid := labels[delegation.OriginUIDLabel]; uid != "" {
		return "is itself the mirror of a dispatched Job (uid " + uid + ")",
			"dispatch that one, or take the label " + delegation.OriginUIDLabel + " off if this is a copy"
	}
	if name := labels[delegation.MultiKueueOriginLabel]; name != "" {
		return "is itself a mirror that MultiKueue made (origin " + name + ")",
			"leave it to MultiKueue, or take the label " + delegation.MultiKueueOriginLabel + " off if this is a copy"
	}
	return "", ""
}

// notOurs refuses what somebody else looks after: two would write its status.
func notOurs(origin *unstructured.Unstructured, owner delegation.Owner) (reason, remedy string) {
	current := delegation.Job().OwnerOf(stringAt(origin, "spec", "managedBy"))
	isStored := origin.GetUID() != ""
	takeOver := fmt.Sprintf("set spec.managedBy to %s", owner)
	if isStored {
		takeOver = fmt.Sprintf("kubectl jobs-managedby recreate -n %s %s --managed-by %s",
			origin.GetNamespace(), origin.GetName(), shellWord(string(owner)))
	}
	switch {
	case current.IsBuiltIn() && isStored:
		return "is not delegated, so its own cluster runs it, and managedBy is immutable",
			takeOver + " makes it anew; dispatch -f FILE makes one that does not exist yet"
	case current.IsBuiltIn():
		return "is not delegated, so its own cluster would run it too", takeOver
	case current == owner:
		return "", ""
	case current == delegation.MultiKueue:
		return "is managed by " + string(current) + ": MultiKueue and dispatch would both write its status",
			"leave it to MultiKueue, or take it over: " + takeOver
	default:
		return "is managed by " + string(current) + ", whose controller would write its status too",
			"leave it to that controller, or take it over: " + takeOver
	}
}

// hasEnded refuses what does not run again. What a file says of that means
// nothing.
func hasEnded(origin *unstructured.Unstructured, owner delegation.Owner) (reason, remedy string) {
	if origin.GetUID() == "" {
		return "", ""
	}
	if deleting := stringAt(origin, "metadata", "deletionTimestamp"); deleting != "" {
		return "is being deleted since " + deleting, "create it again once it is gone"
	}
	kind := delegation.Job()
	state := kind.StateOf(origin.Object, true)
	at, ended := kind.Finished(state)
	if !ended {
		return "", ""
	}
	since := ""
	if !at.IsZero() {
		since = " since " + at.UTC().Format(time.RFC3339)
	}
	return "is " + string(kind.StatusOf(owner, state, true)) + since, fmt.Sprintf("to run it again: kubectl jobs-managedby recreate -n %s %s --managed-by %s",
		origin.GetNamespace(), origin.GetName(), shellWord(string(owner)))
}

func pinnedToNode(origin *unstructured.Unstructured, _ delegation.Owner) (reason, remedy string) {
	if node := stringAt(origin, "spec", "template", "spec", "nodeName"); node != "" {
		return "pins its pods to the node " + node + " of its own cluster",
			"make it anew without spec.template.spec.nodeName; a nodeSelector asks for a kind of node instead"
	}
	return "", ""
}

// badName refuses names that the worker's API server does: an older one of the
// origin's may have taken them. The name is the value of a label of the pods, and
// of an Indexed Job the beginning of their hostnames (kubernetes:
// pkg/apis/batch/validation/validation.go, ValidateJob).
func badName(origin *unstructured.Unstructured, _ delegation.Owner) (reason, remedy string) {
	name := origin.GetName()
	const rename = "make it anew with another name"
	if problems := validation.IsValidLabelValue(name); len(problems) > 0 && !isTrueAt(origin, "spec", "manualSelector") {
		return "has a name that its pods cannot have as a label: " + problems[0], rename
	}
	completions, _ := valueAt(origin, "spec", "completions").(int64)
	if stringAt(origin, "spec", "completionMode") != "Indexed" || completions < 1 {
		return "", ""
	}
	hostname := fmt.Sprintf("%s-%d", name, completions-1)
	if problems := validation.IsDNS1123Label(hostname); len(problems) > 0 {
		return fmt.Sprintf("has a name from which no hostnames can be made for its pods, such as %s: %s", hostname, problems[0]), rename
	}
	return "", ""
}
