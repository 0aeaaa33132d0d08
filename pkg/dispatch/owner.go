package dispatch

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
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

// refuseOwner returns the error of Cancel for an object of another owner than c.Owner. It advises to delete the object
// only if nothing shows a dispatch of it. While no dispatcher runs, the deletion would make the mirror an orphan.
func (c *Canceller) refuseOwner(ctx context.Context, k delegation.Kind, origin *unstructured.Unstructured) error {
	owner, ref := object.OwnerOf(k, origin), refOf(c.Origin, origin)
	managed := fmt.Sprintf("%s is managed by %s, not by %s", ref.WithKind(), owner, c.Owner)
	cancel := command.CancelFor(k, ref.Context, ref.Namespace, ref.Name, owner)
	isPinned := origin.GetAnnotations()[delegation.MirrorAnnotation] != ""
	switch {
	case owner == delegation.Dispatch:
		return command.Errorf("%s. To end its dispatch: %s", managed, cancel)
	case isPinned && owner.IsBuiltIn():
		return command.Errorf("%s, but names a mirror of dispatch, which may still run. To find the mirror in each CONTEXT: %s", managed,
			command.Kubectl("CONTEXT", "", "get", command.KindName(k), "-A", "-l", delegation.OriginUIDLabel+"="+ref.UID))
	case isPinned:
		return command.Errorf("%s, but names a mirror of dispatch. If it was dispatched with --managed-by: %s", managed, cancel)
	case !owner.IsBuiltIn():
		// The Lease exists before the mirror.
		leases := &leaseStore{cluster: c.Origin, kind: k, origin: ref}
		switch lease, err := leases.find(ctx); {
		case err != nil && ctx.Err() != nil:
			return err
		case err != nil:
			return command.Errorf("%s, and its Lease cannot be read: %s. If it was dispatched with --managed-by: %s", managed, kubecontext.Because(err), cancel)
		case lease != nil:
			return command.Errorf("%s, but has the Lease %s of dispatch. If it was dispatched with --managed-by: %s", managed, lease.Name, cancel)
		}
	}
	return command.Errorf("%s, and names no mirror of dispatch. To end the %s: %s", managed, k.Kind,
		c.Origin.Kubectl(ref.Namespace, "delete", command.KindName(k), ref.Name))
}
