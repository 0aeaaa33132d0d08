package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// isMirrorOf reports whether an object is the mirror of the origin of a UID: it carries our
// label with that UID. Nothing else makes an object ours, neither its name nor an annotation
// on the origin, which users may write and copies of the origin keep.
func isMirrorOf(o *unstructured.Unstructured, originUID string) bool {
	return originUID != "" && o.GetLabels()[delegation.OriginUIDLabel] == originUID
}

// ForeignError is returned for an object that is not the mirror it was expected to be.
// Nothing was written to it.
type ForeignError struct {
	// Found is the object, Origin that whose mirror it was expected to be.
	Found, Origin Ref
	// OriginUID is the value of our label on the object, "" if it has none, and Owner that
	// of its managedBy.
	OriginUID string
	Owner     delegation.Owner
}

func (e *ForeignError) Error() string {
	found := fmt.Sprintf("%s on %s (UID %s)", e.Found.WithKind(), e.Found.Context, e.Found.UID)
	switch {
	case e.OriginUID != "":
		return fmt.Sprintf("%s is the mirror of another origin, with the UID %s, not of %s; it was left alone", found, e.OriginUID, e.Origin.WithKind())
	case !e.Owner.IsBuiltIn():
		return fmt.Sprintf("%s belongs to %s: it lacks the label %s of a mirror of %s; it was left alone", found, e.Owner, delegation.OriginUIDLabel, e.Origin.WithKind())
	}
	return fmt.Sprintf("%s is not the mirror of %s: it lacks the label %s=%s; it was left alone", found, e.Origin.WithKind(), delegation.OriginUIDLabel, e.Origin.UID)
}

// InAnnotation is the error for an origin of a kind whose annotation names the object, with
// what to do.
func (e *ForeignError) InAnnotation(k delegation.Kind) error {
	return command.Errorf("the annotation %s of %s names an object that is not its mirror. %w. If it is its mirror, put the label back; otherwise take the annotation off: %s",
		delegation.MirrorAnnotation, e.Origin.WithKind(), e,
		command.Kubectl(e.Origin.Context, e.Origin.Namespace, "annotate", command.KindName(k), e.Origin.Name, delegation.MirrorAnnotation+"-"))
}

func foreign(c *fleet.Cluster, k delegation.Kind, found *unstructured.Unstructured, origin Ref) *ForeignError {
	return &ForeignError{
		Found: refOf(c, found), Origin: origin, OriginUID: found.GetLabels()[delegation.OriginUIDLabel], Owner: object.OwnerOf(k, found),
	}
}

// removeMirror deletes the mirror of an origin, with its pods: the object of that UID, as it
// was read right before, with our label on it; and looks afterwards, since a proxy may answer
// 200 to anything. It reports whether it deleted it; if not, and
// there is no error, the mirror is proven to be gone. An object without our label is a
// *ForeignError.
func removeMirror(ctx context.Context, c *fleet.Cluster, k delegation.Kind, mirror, origin Ref) (removed bool, err error) {
	tries := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Steps: 8}
	var failed error
	err = wait.ExponentialBackoffWithContext(ctx, tries, func(ctx context.Context) (bool, error) {
		found, err := c.Get(ctx, k.Resource, mirror.Namespace, mirror.Name)
		isThere := found != nil && string(found.GetUID()) == mirror.UID
		switch {
		case err != nil:
			return false, err
		case removed && (!isThere || found.GetDeletionTimestamp() != nil):
			return true, nil
		case !isThere:
			return true, c.ProveGone(ctx, k.Resource, mirror.Namespace, mirror.Name, mirror.UID)
		case !isMirrorOf(found, origin.UID):
			return false, foreign(c, k, found, origin)
		}
		// The status of what runs changes all the time.
		failed = c.Delete(ctx, k.Resource, mirror.Namespace, mirror.Name, fleet.IsAs(found))
		removed = failed == nil
		isAgain := apierrors.IsConflict(failed) || kubecontext.IsGone(failed, k.Resource.GroupResource(), mirror.Name)
		if failed != nil && !isAgain {
			return false, failed
		}
		return false, nil
	})
	if wait.Interrupted(err) {
		err = cmp.Or(failed, fmt.Errorf("context %q: %s is still there", c.Context, mirror.WithKind()))
	}
	return removed && err == nil, err
}

// isUnidentified reports whether an error says that nothing can be proven about a cluster,
// now or later, because none of its UIDs may be read.
func isUnidentified(err error) bool {
	var unidentified *kubecontext.UnidentifiedError
	return errors.As(err, &unidentified)
}
