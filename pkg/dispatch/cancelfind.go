package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// find looks for the mirror: where the origin says it is, or, where it does not
// say, for one with its mark.
func (x *cancellation) find(ctx context.Context, origin *unstructured.Unstructured) error {
	if x.Abandon {
		return nil
	}
	named := pinned(origin)
	look := search{named: named, unread: slices.Clone(x.Unreached)}
	place := named
	if named.IsZero() {
		place = delegation.Place{Namespace: x.ref.Namespace, Name: x.ref.Name}
	}
	for _, w := range x.Workers {
		mirror, is, err := locate(ctx, w, x.kind, place)
		switch {
		case mirror != nil && x.isMirror(mirror, named):
			x.worker, x.mirror = w, mirror
			return nil
		case is == delegation.CertainlyOther:
		case err != nil && is == delegation.CertainlySame:
			return fmt.Errorf("could not look for the mirror of %s, so nothing was changed: %w", x.ref.WithKind(), err)
		case err != nil:
			look.unread = append(look.unread, w.Context)
		case is == delegation.CertainlySame:
			look.isDone = true
		default:
			look.perhaps = append(look.perhaps, w.Context)
		}
	}
	if named.IsZero() && namesMirror(origin) {
		return fmt.Errorf("%s has the annotation %s, and it names no object, so it is not known where its mirror is, and nothing was changed; look for it by its label %s=%s; --abandon-mirror ends the %s without looking",
			x.ref.WithKind(), delegation.MirrorAnnotation, delegation.OriginUIDLabel, x.ref.UID, strings.ToLower(x.kind.Kind))
	}
	return x.unfound(look)
}

// isMirror is whether what was found is the origin's mirror: it has its mark, or, as a
// mark can be taken off, the uid that the origin names.
func (x *cancellation) isMirror(found *unstructured.Unstructured, named delegation.Place) bool {
	return found.GetLabels()[delegation.OriginUIDLabel] == x.ref.UID ||
		named.UID != "" && string(found.GetUID()) == named.UID
}

// search is what became of looking for a mirror that was not found.
type search struct {
	named delegation.Place
	// isDone is whether it was looked for where it is said to be.
	isDone bool
	// unread could not be looked at. perhaps do not have it, and may be where it was.
	unread, perhaps []string
}

// unfound says why it is not known that there is no mirror; nil if it is known.
func (x *cancellation) unfound(s search) error {
	isUnnamed := s.named.IsZero()
	abandon := fmt.Sprintf("--abandon-mirror ends %s nevertheless and leaves the mirror", "the "+strings.ToLower(x.kind.Kind))
	cluster := "cluster " + s.named.ClusterUID
	if !s.named.KnowsCluster() {
		cluster = "a cluster that whoever dispatched it could not identify"
	}
	switch {
	case isUnnamed && len(s.unread) > 0:
		return fmt.Errorf("%s does not say where its mirror is, and it may be where nobody answers (%s), so nothing was changed; --to looks at one context only, and --abandon-mirror at none", x.ref.WithKind(), strings.Join(s.unread, ", "))
	case isUnnamed, s.isDone:
		return nil
	case len(s.unread)+len(s.perhaps) > 0:
		looked := ""
		if len(s.perhaps) > 0 {
			looked = fmt.Sprintf("; it is not on %s, which may be that cluster or another", strings.Join(s.perhaps, ", "))
		}
		if len(s.unread) > 0 {
			looked += fmt.Sprintf("; %s could not be looked at", strings.Join(s.unread, ", "))
		}
		return fmt.Errorf("the mirror of %s, uid %s, is on %s%s, so nothing was changed; %s", x.ref.WithKind(), s.named.UID, cluster, looked, abandon)
	case x.Only != "":
		return fmt.Errorf("the mirror of %s is not on %s, but on %s, so nothing was changed; without --to it is looked for everywhere", x.ref.WithKind(), x.Only, cluster)
	}
	return fmt.Errorf("the mirror of %s is on %s, which no context that answers reaches, so nothing was changed; %s", x.ref.WithKind(), cluster, abandon)
}

// choose finds the context through which the mirror may be removed: that through which
// it was found, or another one of that cluster. If none may, nothing is to be changed:
// the origin would have ended while its mirror runs on.
func (x *cancellation) choose(ctx context.Context) error {
	var refused error
	for _, w := range append([]*fleet.Cluster{x.worker}, x.Others[x.worker.Context]...) {
		_, err := remove(ctx, w, x.kind, refOf(w, x.mirror), metav1.DryRunAll)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			if refused == nil {
				refused = err
			}
		case kubecontext.IsConnection(err):
			return fmt.Errorf("could not reach the mirror of %s, so nothing was changed: %w", x.ref.WithKind(), err)
		default:
			x.worker = w
			return nil
		}
	}
	return fmt.Errorf("the mirror of %s may not be removed, so nothing was changed: %w", x.ref.WithKind(), refused)
}
