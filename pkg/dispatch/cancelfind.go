package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// find searches all mirrors of the origin. It is an error if a place was not searched where
// one may be.
func (x *cancellation) find(ctx context.Context, origin *unstructured.Unstructured) error {
	if x.Abandon {
		return nil
	}
	record := ReadRecord(ctx, x.Origin, x.kind, origin)
	searches := x.search(ctx, record)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	unsearched, partly := x.take(searches, record)
	for _, p := range record.Places() {
		isSettled, err := x.look(ctx, p, searches)
		if err != nil {
			return err
		}
		if !isSettled {
			place := fmt.Sprintf("%s/%s on %s, where its mirror is said to be, and which no context is proven to reach", p.Namespace, p.Name, p.Cluster())
			if !slices.Contains(unsearched, place) {
				unsearched = append(unsearched, place)
			}
		}
	}
	if len(unsearched) > 0 {
		return x.refuse(unsearched)
	}
	for _, place := range partly {
		x.Events.Record(Event{Event: Warned, Origin: &x.ref, Message: string(command.Say("not searched for mirrors: %s", place))})
	}
	isNamed := func(m FoundMirror) bool { return string(m.Object.GetUID()) == record.Mirror.UID }
	if i := slices.IndexFunc(x.mirrors, isNamed); i > 0 {
		x.mirrors[0], x.mirrors[i] = x.mirrors[i], x.mirrors[0]
	}
	return nil
}

// search searches all workers.
func (x *cancellation) search(ctx context.Context, record Record) []*Searched {
	searches := make([]*Searched, len(x.Workers))
	var group errgroup.Group
	group.SetLimit(workers)
	for i, w := range x.Workers {
		group.Go(func() error {
			ways := append([]*fleet.Cluster{w}, x.Others[w.Context]...)
			searches[i] = SearchWays(ctx, ways, x.kind, []string{x.ref.UID}, record.Namespaces(x.ref.Namespace))
			return nil
		})
	}
	_ = group.Wait() // Each has its own error.
	return searches
}

// take takes the mirrors that searches found. It returns what was not searched, and what need
// not be, because the record says where the mirror is.
func (x *cancellation) take(searches []*Searched, record Record) (unsearched, partly []string) {
	for _, name := range x.Unreached {
		unsearched = append(unsearched, "context "+name)
	}
	for i, s := range searches {
		x.add(s.Mirrors[x.ref.UID]...)
		switch {
		case s.IsWhole():
		case s.isSettled(x.Workers[i], record, x.ref.UID) && record.LeaseErr == nil:
			partly = append(partly, s.String())
		default:
			unsearched = append(unsearched, s.String())
		}
	}
	return unsearched, partly
}

// add adds mirrors, each once per context.
func (x *cancellation) add(mirrors ...FoundMirror) {
	for _, m := range mirrors {
		isSame := func(other FoundMirror) bool {
			return other.Object.GetUID() == m.Object.GetUID() && other.Cluster.Context == m.Cluster.Context
		}
		if !slices.ContainsFunc(x.mirrors, isSame) {
			x.mirrors = append(x.mirrors, m)
		}
	}
}

// look looks at a recorded place on all workers that may be its cluster. It reports whether it
// is known what is there. An object there that is no mirror of the origin is a *ForeignError,
// unless the record was copied from another origin.
func (x *cancellation) look(ctx context.Context, p delegation.Place, searches []*Searched) (isSettled bool, err error) {
	for i, w := range x.Workers {
		isThere := func(m FoundMirror) bool {
			return m.Cluster.Context == w.Context && m.Object.GetNamespace() == p.Namespace && m.Object.GetName() == p.Name
		}
		if slices.ContainsFunc(x.mirrors, isThere) && p.On(w.Identity()) != delegation.CertainlyOther {
			isSettled = true
			continue
		}
		sight, err := SightOf(ctx, w, x.kind, x.ref, p)
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case sight.Foreign != nil:
			return false, command.Errorf("nothing was changed: %w", sight.Foreign.InAnnotation(x.kind))
		case sight.Mirror != nil:
			x.add(FoundMirror{Cluster: w, Object: sight.Mirror})
			isSettled = true
		case sight.IsCopy:
			isSettled = true
			x.Events.Record(Event{Event: Warned, Origin: &x.ref, Message: string(command.Say("its annotation %s names the mirror of another origin, which is left alone", delegation.MirrorAnnotation))})
		case err == nil && sight.IsGone, err == nil && sight.On == delegation.CertainlySame && searches[i].IsWhole():
			isSettled = true
		}
	}
	return isSettled, nil
}

// refuse is why nothing is changed.
func (x *cancellation) refuse(unsearched []string) error {
	again := "nothing was changed"
	if len(x.mirrors) > 0 {
		var found []string
		for _, m := range x.mirrors {
			found = append(found, fmt.Sprintf("%s/%s on %s", m.Object.GetNamespace(), m.Object.GetName(), m.Cluster.Context))
		}
		again = fmt.Sprintf("nothing was changed, although mirrors were found (%s)", strings.Join(found, ", "))
	}
	limit := "Limit the search with --to"
	if x.Only != "" {
		limit = "Without --to, all contexts are searched"
	}
	return &UnsearchedError{
		Origin: x.ref, On: contextsOfMirrors(x.mirrors),
		text: fmt.Sprintf("%s may have a mirror where it was not searched; %s. Not searched: %s. %s, or end the %s and leave its mirrors with --abandon-mirror",
			x.ref.WithKind(), again, strings.Join(unsearched, "; "), limit, strings.ToLower(x.kind.Kind)),
	}
}

// UnsearchedError says that an origin was not cancelled, because a place was not searched for
// its mirrors.
type UnsearchedError struct {
	Origin Ref
	// On are the contexts of mirrors that were found.
	On   []string
	text string
}

func (e *UnsearchedError) Error() string { return e.text }

func contextsOfMirrors(mirrors []FoundMirror) (names []string) {
	for _, m := range mirrors {
		if !slices.Contains(names, m.Cluster.Context) {
			names = append(names, m.Cluster.Context)
		}
	}
	return names
}

// choose finds the context through which a mirror may be removed: that through which
// it was found, or another one of that cluster. If none may, nothing is to be changed:
// the origin would have ended while its mirror runs on.
func (x *cancellation) choose(ctx context.Context, m *FoundMirror) error {
	var refused error
	for _, w := range append([]*fleet.Cluster{m.Cluster}, x.Others[m.Cluster.Context]...) {
		_, err := w.Get(ctx, x.kind.Resource, m.Object.GetNamespace(), m.Object.GetName())
		if err == nil {
			_, err = w.Remove(ctx, x.kind.Resource, m.Object.GetNamespace(), m.Object.GetName(), string(m.Object.GetUID()), metav1.DryRunAll)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			if refused == nil {
				refused = err
			}
		case kubecontext.IsConnection(err):
			return fmt.Errorf("cannot reach the mirror of %s; nothing was changed: %w", x.ref.WithKind(), err)
		default:
			m.Cluster = w
			return nil
		}
	}
	return fmt.Errorf("cannot remove the mirror of %s; nothing was changed: %w", x.ref.WithKind(), refused)
}
