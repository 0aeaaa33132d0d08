package dispatch

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// isMirrorOf reports whether an object is the mirror of the origin with a UID: it carries our
// label with that UID. Neither its name nor an annotation on the origin is enough, because users
// can write annotations and copies of the origin keep them.
func isMirrorOf(o *unstructured.Unstructured, originUID string) bool {
	return originUID != "" && o.GetLabels()[delegation.OriginUIDLabel] == originUID
}

// foreignError means that an object is not the mirror that was expected. Nothing was written to
// the object.
type foreignError struct {
	// Found is the object. Origin is the origin whose mirror was expected.
	Found, Origin Ref
	// OriginUID is the value of our label on the object, or "". Owner is the object's managedBy
	// value.
	OriginUID string
	Owner     delegation.Owner
}

func (e *foreignError) Error() string {
	found := fmt.Sprintf("%s on %s (UID %s)", e.Found.WithKind(), e.Found.Context, e.Found.UID)
	switch {
	case e.OriginUID != "":
		return fmt.Sprintf("%s is the mirror of another origin, with the UID %s, not of %s; it was not changed", found, e.OriginUID, e.Origin.WithKind())
	case !e.Owner.IsBuiltIn():
		return fmt.Sprintf("%s belongs to %s: it lacks the label %s of a mirror of %s; it was not changed", found, e.Owner, delegation.OriginUIDLabel, e.Origin.WithKind())
	}
	return fmt.Sprintf("%s is not the mirror of %s: it lacks the label %s=%s; it was not changed", found, e.Origin.WithKind(), delegation.OriginUIDLabel, e.Origin.UID)
}

// InAnnotation returns the error for an origin whose annotation names the object, with the fix.
func (e *foreignError) InAnnotation(k delegation.Kind) error {
	return command.Errorf("the annotation %s of %s names an object that is not its mirror. %w. If it is its mirror, restore the label. Otherwise remove the annotation: %s",
		delegation.MirrorAnnotation, e.Origin.WithKind(), e,
		command.Kubectl(e.Origin.Context, e.Origin.Namespace, "annotate", command.KindName(k), e.Origin.Name, delegation.MirrorAnnotation+"-"))
}

func newForeignError(c *fleet.Cluster, k delegation.Kind, found *unstructured.Unstructured, origin Ref) *foreignError {
	return &foreignError{
		Found: refOf(c, found), Origin: origin, OriginUID: found.GetLabels()[delegation.OriginUIDLabel], Owner: object.OwnerOf(k, found),
	}
}

// removeMirror deletes the mirror of an origin, with its Pods. It deletes only the object with
// mirror.UID, at the resource version that it just read, and only if it carries our label;
// otherwise it returns a *foreignError. removed reports whether this call deleted the mirror. If it is
// false without an error, the mirror is proven to be gone.
func removeMirror(ctx context.Context, c *fleet.Cluster, k delegation.Kind, mirror, origin Ref) (removed bool, err error) {
	return removeMirrorIf(ctx, c, k, mirror, origin, func(*unstructured.Unstructured) bool { return true })
}

// errKept means that removeMirrorIf did not delete a mirror, because the condition does not hold.
var errKept = errors.New("the mirror was not deleted: it has changed")

// removeMirrorIf is removeMirror with a condition. It returns errKept if the mirror, at the version that it
// would delete, does not meet the condition.
func removeMirrorIf(ctx context.Context, c *fleet.Cluster, k delegation.Kind, mirror, origin Ref, isToDelete func(*unstructured.Unstructured) bool) (removed bool, err error) {
	check := func(o *unstructured.Unstructured) error {
		switch {
		case !isMirrorOf(o, origin.UID):
			return newForeignError(c, k, o, origin)
		case !isToDelete(o):
			return errKept
		}
		return nil
	}
	found, err := c.Get(ctx, k.Resource, mirror.Namespace, mirror.Name)
	switch {
	case err != nil:
		return false, err
	case found == nil || string(found.GetUID()) != mirror.UID:
		return false, c.ProveGone(ctx, k.Resource, mirror.Namespace, mirror.Name, mirror.UID)
	}
	if err := check(found); err != nil {
		return false, err
	}
	removed, err = c.RemoveIf(ctx, k.Resource, found, func(o *unstructured.Unstructured) bool { return check(o) == nil })
	if changed := (*fleet.ChangedError)(nil); errors.As(err, &changed) {
		err = check(changed.Now)
	}
	return removed, err
}
