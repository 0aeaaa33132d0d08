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

// Record is what was written of an origin's mirror, by whoever dispatched it. It says where to
// look. Anybody who may write in the origin's namespace may have written it, so what is found
// there is the mirror only if it carries the origin's UID.
type Record struct {
	// Mirror is what the origin's annotation names, zero if nothing; IsUnreadable is whether
	// the annotation is no place.
	Mirror       delegation.Place
	IsUnreadable bool
	// Target is where the mirror was to be made, as the origin's Lease says; zero if there is
	// no Lease, or it does not say so.
	Target delegation.Place
	// LeaseErr is why the Lease could not be read.
	LeaseErr error
}

// ReadRecord reads the record of an origin: its annotation, and its Lease.
func ReadRecord(ctx context.Context, c *fleet.Cluster, k delegation.Kind, origin *unstructured.Unstructured) Record {
	r := Record{Mirror: pinned(origin)}
	r.IsUnreadable = r.Mirror.IsZero() && namesMirror(origin)
	l := &lease{cluster: c, kind: k, origin: refOf(c, origin)}
	found, err := l.get(ctx)
	switch {
	case l.isGone(err):
	case err != nil:
		r.LeaseErr = fmt.Errorf("cannot read Lease %s/%s: %w", origin.GetNamespace(), l.name(), c.Failed(err))
	case found.Labels[delegation.OriginUIDLabel] == l.origin.UID:
		r.Target = targetOf(found)
	}
	return r
}

// Places are the places that the record names.
func (r Record) Places() []delegation.Place {
	var places []delegation.Place
	for _, p := range []delegation.Place{r.Mirror, r.Target} {
		if !p.IsZero() && !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	return places
}

// Namespaces are those of the places, with the origin's own in front.
func (r Record) Namespaces(own string) []string {
	namespaces := []string{own}
	for _, p := range r.Places() {
		if !slices.Contains(namespaces, p.Namespace) {
			namespaces = append(namespaces, p.Namespace)
		}
	}
	return namespaces
}

// Sight is what is at a recorded place on one cluster.
type Sight struct {
	// On is whether the cluster is the one that the place names.
	On delegation.Sameness
	// Mirror is the origin's mirror if it is there.
	Mirror *unstructured.Unstructured
	// IsCopy is whether the place holds the mirror of another origin: the record was copied
	// with the origin's annotations.
	IsCopy bool
	// Foreign is the object of the recorded UID if it is no mirror at all.
	Foreign *ForeignError
	// IsGone is whether the place is proven to hold no mirror of the origin.
	IsGone bool
}

// SightOf looks at a recorded place of an origin on a cluster. The error is why it could not
// be looked at.
func SightOf(ctx context.Context, c *fleet.Cluster, k delegation.Kind, origin Ref, p delegation.Place) (s Sight, err error) {
	if err := c.LearnNamespaces(ctx, p.Namespace); err != nil {
		return s, err
	}
	if s.On = p.On(c.Identity()); s.On == delegation.CertainlyOther {
		return s, nil
	}
	found, err := c.Get(ctx, k.Resource, p.Namespace, p.Name)
	if kubecontext.IsUnserved(err) {
		if err = c.ProveUnserved(ctx, k.Resource); err == nil {
			s.IsGone = s.On == delegation.CertainlySame
		}
		return s, err
	}
	if err != nil {
		return s, err
	}
	isNamed := found != nil && p.UID != "" && string(found.GetUID()) == p.UID
	if isNamed {
		s.On = delegation.CertainlySame
	}
	switch {
	case found != nil && isMirrorOf(found, origin.UID):
		s.On, s.Mirror = delegation.CertainlySame, found
	case isNamed && found.GetLabels()[delegation.OriginUIDLabel] != "":
		s.IsCopy, s.IsGone = true, true
	case isNamed:
		s.Foreign = foreign(c, k, found, origin)
	case s.On == delegation.CertainlySame:
		err = proveEmpty(ctx, c, k, p, found)
		s.IsGone = err == nil
	}
	return s, err
}

// proveEmpty proves that there is no mirror of an origin at a place, given what has its name:
// another object is none of ours, whatever its uid.
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

// expect takes the mirror's uid from what the origin names, if it names one. final is
// why the task cannot be continued here.
func (t *task) expect(ctx context.Context, origin *unstructured.Unstructured) (final, err error) {
	named := pinned(origin)
	switch {
	case named.IsZero() && namesMirror(origin):
		return command.Errorf("%s has the annotation %s, which names no object, so its mirror may be anywhere; search it by the label %s=%s on every cluster, and then take the annotation off: %s",
			t.ref.WithKind(), delegation.MirrorAnnotation, delegation.OriginUIDLabel, t.ref.UID,
			t.origin.Kubectl(t.ref.Namespace, "annotate", command.KindName(t.Kind), t.ref.Name, delegation.MirrorAnnotation+"-")), nil
	case named.IsZero(), slices.Contains(t.Cleared, named):
		return nil, nil
	}
	isHere := named.Namespace == t.mirrorRef.Namespace && named.Name == t.mirrorRef.Name
	sight, err := SightOf(ctx, t.worker.Cluster, t.Kind, t.ref, named)
	switch {
	case sight.IsCopy:
		// The annotation came with a copy of another origin. Nothing there is ours.
		t.Cleared = append(t.Cleared, named)
		return nil, nil
	case sight.Foreign != nil:
		return sight.Foreign.InAnnotation(t.Kind), nil
	case sight.On == delegation.CertainlySame && isHere && (err == nil || isUnidentified(err)):
		t.mirrorRef.UID = named.UID
		return nil, nil
	case err != nil:
		return nil, err
	case sight.On == delegation.PerhapsSame:
		return errors.New(Unfound(t.ref, named, []string{t.worker.Context})), nil
	}
	where := fmt.Sprintf("%s/%s on %s", named.Namespace, named.Name, named.Cluster())
	if sight.On == delegation.CertainlySame {
		where = fmt.Sprintf("%s/%s on %s", named.Namespace, named.Name, t.worker.Context)
	}
	return fmt.Errorf("%s is already dispatched to %s. Resume it there, or end it with cancel", t.ref.WithKind(), where), nil
}

// Unfound says that the recorded mirror of an origin was not found through any context of
// those that were asked, which proves nothing, and what to do.
func Unfound(origin Ref, p delegation.Place, asked []string) string {
	what := fmt.Sprintf("%s is already dispatched to %s/%s", origin.WithKind(), p.Namespace, p.Name)
	if p.UID != "" {
		what += fmt.Sprintf(" (UID %s)", p.UID)
	}
	reached := "No context reaches that cluster."
	if len(asked) > 0 {
		reached = fmt.Sprintf("No context is proven to reach that cluster (asked: %s).", list(asked))
	}
	return fmt.Sprintf("%s on %s. %s "+
		"Resume it through the context that dispatched it, or allow the user to get namespace %s there: it identifies the cluster. If the mirror is gone, end it with cancel --abandon-mirror",
		what, p.Cluster(), reached, p.Namespace)
}
