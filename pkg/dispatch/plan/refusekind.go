package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// refuseOtherKind refuses an object of another kind.
func refuseOtherKind(origin *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	gvk := origin.GroupVersionKind()
	if gvk == o.Kind.GroupVersionKind() {
		return "", ""
	}
	only := command.Say("only %ss of %s can be dispatched", o.Kind.Kind, o.Kind.Resource.GroupVersion())
	return fmt.Sprintf("is a %s of %s", gvk.Kind, origin.GetAPIVersion()), only
}

// refuseTemplate refuses an object that only creates others, which are the ones that run.
func refuseTemplate(_ *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	if !o.Kind.Template {
		return "", ""
	}
	return fmt.Sprintf("does not run itself: its %s is for the objects that it creates", content.Dotted(o.Kind.ManagedBy)),
		"dispatch those objects once they exist"
}

// refuseUnmanaged refuses kinds without managedBy: no owner can keep their cluster from running them.
func refuseUnmanaged(_ *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	if !o.Kind.IsUnmanaged() {
		return "", ""
	}
	return "has no managedBy field, so its own cluster would run it too",
		"run it in a Job, or let MultiKueue move it"
}

// refuseVersionWithoutField refuses an API version without the field managedBy.
func refuseVersionWithoutField(_ *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	if !slices.Contains(o.Kind.VersionsWithoutField, o.Kind.Resource.Version) {
		return "", ""
	}
	return fmt.Sprintf("is of version %s, which does not have %s", o.Kind.Resource.Version, content.Dotted(o.Kind.ManagedBy)), "use another version of its API"
}

// refuseOwnerForDispatch refuses an owner that the kind's API does not accept, with a remedy for dispatch.
func refuseOwnerForDispatch(origin *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	reason, _ = refuseOwnerValue(origin, o)
	if reason != "" && o.Kind.Allows(delegation.MultiKueue) {
		remedy = command.Say("where MultiKueue is not installed, --as-multikueue dispatches one whose %s is %s", content.Dotted(o.Kind.ManagedBy), delegation.MultiKueue)
	}
	return reason, remedy
}

// refuseOwnerValue refuses an owner that the kind's API does not accept.
func refuseOwnerValue(_ *unstructured.Unstructured, o Options) (reason string, remedy command.Prose) {
	if o.Kind.Allows(o.Owner) {
		return "", ""
	}
	allowed := make([]string, len(o.Kind.Allowed))
	for i, a := range o.Kind.Allowed {
		allowed[i] = string(a)
	}
	return fmt.Sprintf("cannot be managed by %s: its API allows for %s only %s", o.Owner, content.Dotted(o.Kind.ManagedBy), strings.Join(allowed, " and ")), ""
}
