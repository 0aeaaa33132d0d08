package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Record is the recorded place of an origin's mirror, as its dispatcher wrote it. It only says
// where to look: any user with write access to the origin's namespace may have written it. An
// object at that place is the mirror only if it carries the origin's UID.
type Record struct {
	// Mirror is the place in the origin's annotation; zero without one.
	Mirror delegation.Place
	// Target is the place in the origin's Lease; zero if there is none.
	Target delegation.Place
	// LeaseErr is the error of reading the Lease.
	LeaseErr error
}

// ReadRecord reads the record of an origin: its annotation and its Lease.
func ReadRecord(ctx context.Context, c *fleet.Cluster, k delegation.Kind, origin *unstructured.Unstructured) Record {
	r := Record{Mirror: pinnedMirror(origin)}
	l := &leaseStore{cluster: c, kind: k, origin: refOf(c, origin)}
	found, err := l.get(ctx)
	switch {
	case l.isGone(err):
	case err != nil:
		r.LeaseErr = fmt.Errorf("cannot read Lease %s/%s: %w", origin.GetNamespace(), l.name(), c.Failed(err))
	case l.isOurs(found):
		r.Target = targetOf(found)
	}
	return r
}

// Places returns the places that the record names.
func (r Record) Places() []delegation.Place {
	var places []delegation.Place
	for _, p := range []delegation.Place{r.Mirror, r.Target} {
		if !p.IsZero() && !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	return places
}

// Namespaces returns the namespaces of the places, after the origin's own.
func (r Record) Namespaces(own string) []string {
	namespaces := []string{own}
	for _, p := range r.Places() {
		if !slices.Contains(namespaces, p.Namespace) {
			namespaces = append(namespaces, p.Namespace)
		}
	}
	return namespaces
}

// PlaceCheck is the result of CheckPlace for one cluster.
type PlaceCheck struct {
	// Sameness is whether the cluster is the one of the place.
	Sameness delegation.Sameness
	// Mirror is the origin's mirror, if it is at the place.
	Mirror *unstructured.Unstructured
	// IsCopy is whether the place holds the mirror of another origin, because the record was
	// copied with that origin's annotations.
	IsCopy bool
	// Foreign is set if the object with the recorded UID is not a mirror.
	Foreign *foreignError
	// IsGone is whether the place is proven to hold no mirror of the origin.
	IsGone bool
}

// CheckPlace checks whether a cluster has the mirror of an origin at a recorded place. It returns
// an error if that is unknown.
func CheckPlace(ctx context.Context, c *fleet.Cluster, k delegation.Kind, origin Ref, p delegation.Place) (s PlaceCheck, err error) {
	if err := c.LearnNamespaces(ctx, p.Namespace); err != nil {
		return s, err
	}
	if s.Sameness = p.On(c.Identity()); s.Sameness == delegation.CertainlyOther {
		return s, nil
	}
	found, err := c.Get(ctx, k.Resource, p.Namespace, p.Name)
	if kubecontext.IsUnserved(err) {
		if err = c.ProveUnserved(ctx, k.Resource); err == nil {
			s.IsGone = s.Sameness == delegation.CertainlySame
		}
		return s, err
	}
	if err != nil {
		return s, err
	}
	isNamed := found != nil && p.UID != "" && string(found.GetUID()) == p.UID
	if isNamed {
		s.Sameness = delegation.CertainlySame
	}
	switch {
	case found != nil && isMirrorOf(found, origin.UID):
		s.Sameness, s.Mirror = delegation.CertainlySame, found
	case isNamed && found.GetLabels()[delegation.OriginUIDLabel] != "":
		s.IsCopy, s.IsGone = true, true
	case isNamed:
		s.Foreign = newForeignError(c, k, found, origin)
	case s.Sameness == delegation.CertainlySame:
		err = proveEmpty(ctx, c, k, p, found)
		s.IsGone = err == nil
	}
	return s, err
}

// proveEmpty proves that a place holds no mirror of an origin. other is the object with that
// name, or nil. It is not the mirror, whatever its UID, so the identity of the cluster is proof
// enough.
func proveEmpty(ctx context.Context, c *fleet.Cluster, k delegation.Kind, p delegation.Place, other *unstructured.Unstructured) error {
	if other != nil {
		return c.Verify(ctx, p.Namespace)
	}
	err := c.ProveAbsent(ctx, k.Resource, p.Namespace, p.Name)
	if present := (*kubecontext.PresentError)(nil); errors.As(err, &present) {
		return conflict(k, p.Name)
	}
	return err
}

// adoptRecorded takes the mirror's UID from the origin's annotation, if there is one. final is
// the reason why the task cannot continue on this worker.
func (t *task) adoptRecorded(ctx context.Context, origin *unstructured.Unstructured) (final, err error) {
	named := pinnedMirror(origin)
	switch {
	case named.IsZero() && namesMirror(origin):
		return command.Errorf("%s has the annotation %s, which names no object, so the place of its mirror is unknown. Search for the label %s=%s on every cluster, then remove the annotation: %s",
			t.ref.WithKind(), delegation.MirrorAnnotation, delegation.OriginUIDLabel, t.ref.UID,
			t.origin.Kubectl(t.ref.Namespace, "annotate", command.KindName(t.Kind), t.ref.Name, delegation.MirrorAnnotation+"-")), nil
	case named.IsZero(), slices.Contains(t.Cleared, named):
		return nil, nil
	}
	isHere := named.Namespace == t.mirrorRef.Namespace && named.Name == t.mirrorRef.Name
	check, err := CheckPlace(ctx, t.worker.Cluster, t.Kind, t.ref, named)
	switch {
	case check.IsCopy:
		// The annotation was copied from another origin. The mirror at that place is not ours.
		t.Cleared = append(t.Cleared, named)
		return nil, nil
	case check.Foreign != nil:
		return check.Foreign.InAnnotation(t.Kind), nil
	case check.Sameness == delegation.CertainlySame && isHere && (err == nil || kubecontext.IsUnidentified(err)):
		t.mirrorRef.UID = named.UID
		return nil, nil
	case err != nil:
		return nil, err
	case check.Sameness == delegation.PerhapsSame:
		return errors.New(MirrorNotFound(t.ref, named, []string{t.worker.Context})), nil
	}
	where := fmt.Sprintf("%s/%s on %s", named.Namespace, named.Name, named.Cluster())
	if check.Sameness == delegation.CertainlySame {
		where = fmt.Sprintf("%s/%s on %s", named.Namespace, named.Name, t.worker.Context)
	}
	return fmt.Errorf("%s is already dispatched to %s. Resume it there, or end it with cancel", t.ref.WithKind(), where), nil
}

// MirrorNotFound returns a message, with the fix, for an origin whose recorded mirror was not found
// through any of the contexts. That does not prove that the mirror is gone.
func MirrorNotFound(origin Ref, p delegation.Place, contexts []string) string {
	what := fmt.Sprintf("%s is already dispatched to %s/%s", origin.WithKind(), p.Namespace, p.Name)
	if p.UID != "" {
		what += fmt.Sprintf(" (UID %s)", p.UID)
	}
	reached := "No context reaches that cluster."
	if len(contexts) > 0 {
		reached = fmt.Sprintf("No context is proven to reach that cluster (asked: %s).", list(contexts))
	}
	return fmt.Sprintf("%s on %s. %s "+
		"Resume it through the context that dispatched it, or allow the user to get namespace %s there: it identifies the cluster. If the mirror is gone, end it with cancel --abandon-mirror",
		what, p.Cluster(), reached, p.Namespace)
}
