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

// isAnother refuses what is not of the kind that it is taken for.
func isAnother(origin *unstructured.Unstructured, k delegation.Kind, _ delegation.Owner) (reason string, remedy command.Prose) {
	gvk := origin.GroupVersionKind()
	if gvk == k.GroupVersionKind() {
		return "", ""
	}
	only := command.Say("only %ss of %s can be dispatched", k.Kind, k.Resource.GroupVersion())
	return fmt.Sprintf("is a %s of %s", gvk.Kind, origin.GetAPIVersion()), only
}

// isTemplate refuses what only makes other objects, which are the ones that run.
func isTemplate(_ *unstructured.Unstructured, k delegation.Kind, _ delegation.Owner) (reason string, remedy command.Prose) {
	if !k.Template {
		return "", ""
	}
	return fmt.Sprintf("does not run itself: its %s is that of what it makes", content.Dotted(k.ManagedBy)),
		"dispatch what it makes, once that is there"
}

// isUnmanaged refuses what nobody can be kept from running.
func isUnmanaged(_ *unstructured.Unstructured, k delegation.Kind, _ delegation.Owner) (reason string, remedy command.Prose) {
	if !k.IsUnmanaged() {
		return "", ""
	}
	return "is of a kind that has no managedBy, so its own cluster would run it too",
		"have it run by a Job, or leave it to MultiKueue, which moves such objects in ways of its own"
}

// isBlind refuses to write through an API version that does not have the field.
func isBlind(_ *unstructured.Unstructured, k delegation.Kind, _ delegation.Owner) (reason string, remedy command.Prose) {
	if !slices.Contains(k.Blind, k.Resource.Version) {
		return "", ""
	}
	return fmt.Sprintf("is of version %s, which does not have %s", k.Resource.Version, content.Dotted(k.ManagedBy)), "use another version of its API"
}

// notAllowed refuses an owner that the kind's API does not take.
func notAllowed(origin *unstructured.Unstructured, k delegation.Kind, owner delegation.Owner) (reason string, remedy command.Prose) {
	reason, _ = notTaken(origin, k, owner)
	if reason != "" && k.Allows(delegation.MultiKueue) {
		remedy = command.Say("where MultiKueue is not installed, --as-multikueue dispatches one whose %s is %s", content.Dotted(k.ManagedBy), delegation.MultiKueue)
	}
	return reason, remedy
}

// notTaken is the same where it is not about a dispatch.
func notTaken(_ *unstructured.Unstructured, k delegation.Kind, owner delegation.Owner) (reason string, remedy command.Prose) {
	if k.Allows(owner) {
		return "", ""
	}
	allowed := make([]string, len(k.Allowed))
	for i, a := range k.Allowed {
		allowed[i] = string(a)
	}
	return fmt.Sprintf("cannot be managed by %s: of %s, its API takes only %s", owner, content.Dotted(k.ManagedBy), strings.Join(allowed, " and ")), ""
}
