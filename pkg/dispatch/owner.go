package dispatch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// ownerChangedError means that an origin has another owner now, and is not written. Only some
// kinds allow that change.
type ownerChangedError struct {
	Origin Ref
	// Field is the path of managedBy.
	Field string
	// Owner is the new owner.
	Owner delegation.Owner
}

func (e *ownerChangedError) Error() string {
	return fmt.Sprintf("%s: %s changed to %s", e.Origin.WithKind(), e.Field, e.Owner)
}

// checkOwner returns an *ownerChangedError if an origin has another owner than it had before.
func checkOwner(k delegation.Kind, r Ref, before delegation.Owner, origin *unstructured.Unstructured) error {
	if owner := object.OwnerOf(k, origin); owner != before {
		return &ownerChangedError{Origin: r, Field: content.Dotted(k.ManagedBy), Owner: owner}
	}
	return nil
}

// keepsRunning returns how to delete the mirror of an origin that has another owner now.
func keepsRunning(c *fleet.Cluster, k delegation.Kind, mirror Ref) command.Prose {
	return command.Say("The mirror on %s keeps running. Delete the mirror: %s", c.Context, c.Kubectl(mirror.Namespace, "delete", command.KindName(k), mirror.Name))
}
