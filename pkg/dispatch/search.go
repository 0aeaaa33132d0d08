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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// FoundMirror is a mirror that was found by its label.
type FoundMirror struct {
	Cluster *fleet.Cluster
	Object  *unstructured.Unstructured
}

// SearchResult is the result of searching one cluster for mirrors by their label.
type SearchResult struct {
	Context string
	// Mirrors are the mirrors of each origin, by the origin's UID.
	Mirrors map[string][]FoundMirror
	// Namespaces are the namespaces that were searched if not all could be; nil means all.
	Namespaces []string
	// Err is the reason why the search is incomplete. It is nil if the whole cluster was searched
	// and has proven its identity afterwards.
	Err error
}

// IsComplete reports whether the whole cluster was searched.
func (s *SearchResult) IsComplete() bool { return s.Err == nil }

// isPartial reports whether some namespaces were searched, and the user has no right to list the
// others.
func (s *SearchResult) isPartial() bool { return s.Err != nil && s.Namespaces != nil }

// String describes what was not searched, and why.
func (s *SearchResult) String() string {
	if s.isPartial() {
		return fmt.Sprintf("other namespaces than %s in context %q: %s", list(s.Namespaces), s.Context, kubecontext.Objection(s.Err))
	}
	return fmt.Sprintf("context %q: %s", s.Context, kubecontext.InContext(s.Context, "", s.Err).Message())
}

// maxSelectorUIDs is the maximum number of origin UIDs in a label selector. For more origins, all
// mirrors are listed.
const maxSelectorUIDs = 50

// searchMirrors searches a cluster for the mirrors of origins by our label. It searches all
// namespaces or, if the user has no right to list them all, the given ones.
func searchMirrors(ctx context.Context, c *fleet.Cluster, k delegation.Kind, originUIDs, namespaces []string) *SearchResult {
	s := &SearchResult{Context: c.Context, Mirrors: map[string][]FoundMirror{}}
	ctx = fleet.OwnConnection(ctx)
	if s.Err = c.LearnNamespaces(ctx, namespaces...); s.Err != nil {
		return s
	}
	err := s.search(ctx, c, k, originUIDs, metav1.NamespaceAll)
	switch {
	case kubecontext.IsUnserved(err):
		err = c.ProveUnserved(ctx, k.Resource)
	case apierrors.IsForbidden(err):
		for _, namespace := range namespaces {
			switch inOne := s.search(ctx, c, k, originUIDs, namespace); {
			case inOne == nil:
				s.Namespaces = append(s.Namespaces, namespace)
			case !apierrors.IsForbidden(inOne):
				s.Err = inOne
				return s
			}
		}
	}
	if s.Err = err; err != nil && s.Namespaces == nil {
		return s
	}
	// The cluster that answered has to be the intended one. If it cannot be identified, a missing
	// mirror proves nothing.
	if verified := c.Verify(ctx, namespaces[0]); verified != nil {
		s.Namespaces, s.Err = nil, verified
	}
	return s
}

func (s *SearchResult) search(ctx context.Context, c *fleet.Cluster, k delegation.Kind, originUIDs []string, namespace string) error {
	o := metav1.ListOptions{LabelSelector: delegation.OriginUIDLabel}
	if len(originUIDs) <= maxSelectorUIDs {
		o.LabelSelector += " in (" + strings.Join(originUIDs, ",") + ")"
	}
	return c.Each(ctx, k.Resource, namespace, o, func(found *unstructured.Unstructured) {
		uid := found.GetLabels()[delegation.OriginUIDLabel]
		if !slices.Contains(originUIDs, uid) || string(found.GetUID()) == uid {
			return
		}
		if !slices.ContainsFunc(s.Mirrors[uid], func(m FoundMirror) bool { return m.Object.GetUID() == found.GetUID() }) {
			s.Mirrors[uid] = append(s.Mirrors[uid], FoundMirror{Cluster: c, Object: found})
		}
	})
}

// SearchContexts calls searchMirrors through each context of one cluster, until one of them may
// search the whole cluster. Without such a context, it returns the result that covers the most
// namespaces.
func SearchContexts(ctx context.Context, routes []*fleet.Cluster, k delegation.Kind, originUIDs, namespaces []string) *SearchResult {
	var best *SearchResult
	for _, route := range routes {
		s := searchMirrors(ctx, route, k, originUIDs, namespaces)
		if s.IsComplete() {
			return s
		}
		if best == nil || s.isPartial() && (!best.isPartial() || len(s.Namespaces) > len(best.Namespaces)) {
			best = s
		}
	}
	return best
}

// isSettled reports whether an incomplete search has covered every place where the record allows
// a mirror. Either the record names places on this cluster, and their namespaces were searched;
// or it names only places on other clusters. A record without places means that no dispatcher has
// created a mirror, because the Lease names the place first. Then the origin's own namespace suffices.
func (s *SearchResult) isSettled(c *fleet.Cluster, r Record, origin Ref) bool {
	if !s.isPartial() {
		// Finding the recorded mirror identifies a cluster even if its namespaces cannot be read.
		isNamed := func(m FoundMirror) bool { return string(m.Object.GetUID()) == r.Mirror.UID }
		return s.IsComplete() || kubecontext.IsUnidentified(s.Err) && slices.ContainsFunc(s.Mirrors[origin.UID], isNamed)
	}
	places := r.Places()
	for _, p := range places {
		if p.On(c.Identity()) != delegation.CertainlyOther && !slices.Contains(s.Namespaces, p.Namespace) {
			return false
		}
	}
	return len(places) > 0 || slices.Contains(s.Namespaces, origin.Namespace)
}

// Find returns the objects of a kind in a namespace that match a label selector and belong to the
// owner, finished or not. others counts the matching objects of other owners.
func Find(ctx context.Context, c *fleet.Cluster, k delegation.Kind, owner delegation.Owner, namespace, selector string) (found []*unstructured.Unstructured, others int, err error) {
	err = c.Each(ctx, k.Resource, namespace, metav1.ListOptions{LabelSelector: selector}, func(o *unstructured.Unstructured) {
		if object.OwnerOf(k, o) == owner {
			found = append(found, o)
		} else {
			others++
		}
	})
	return found, others, err
}

// list joins names for people.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// findMirrors collects all mirrors of the origin. It returns an error if a place that may hold
// one was not searched.
func (x *cancellation) findMirrors(ctx context.Context, origin *unstructured.Unstructured) error {
	if x.Abandon {
		return nil
	}
	record := ReadRecord(ctx, x.Origin, x.kind, origin)
	searches := x.search(ctx, record)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	unsearched, partly := x.collect(searches, record)
	way := x.narrower(searches)
	for _, p := range record.Places() {
		isSettled, err := x.checkPlace(ctx, p, searches)
		if err != nil {
			return err
		}
		if !isSettled {
			place := fmt.Sprintf("%s/%s on %s, the recorded place of its mirror, which no context is proven to reach", p.Namespace, p.Name, p.Cluster())
			if !slices.Contains(unsearched, place) {
				unsearched = append(unsearched, place)
			}
			if x.Only != "" {
				way = allContexts
			}
		}
	}
	if len(unsearched) > 0 {
		return x.refuse(unsearched, way)
	}
	for _, place := range partly {
		x.events.Record(Event{Event: Warned, Origin: &x.ref, Message: string(command.Say("not searched for mirrors: %s", place))})
	}
	isNamed := func(m FoundMirror) bool { return string(m.Object.GetUID()) == record.Mirror.UID }
	if i := slices.IndexFunc(x.mirrors, isNamed); i > 0 {
		x.mirrors[0], x.mirrors[i] = x.mirrors[i], x.mirrors[0]
	}
	return nil
}

// searchesAtOnce is the number of clusters that are searched at once.
const searchesAtOnce = 32

// search searches all workers.
func (x *cancellation) search(ctx context.Context, record Record) []*SearchResult {
	searches := make([]*SearchResult, len(x.Workers))
	var group errgroup.Group
	group.SetLimit(searchesAtOnce)
	for i, w := range x.Workers {
		group.Go(func() error {
			routes := append([]*fleet.Cluster{w}, x.Others[w.Context]...)
			searches[i] = SearchContexts(ctx, routes, x.kind, []string{x.ref.UID}, record.Namespaces(x.ref.Namespace))
			return nil
		})
	}
	_ = group.Wait() // Each search has its own error.
	return searches
}

// collect collects the mirrors of all searches. unsearched are the places that block a
// cancellation. partly are the places that do not, because the record allows no mirror there.
func (x *cancellation) collect(searches []*SearchResult, record Record) (unsearched, partly []string) {
	for _, name := range x.Unreached {
		unsearched = append(unsearched, "context "+name)
	}
	for i, s := range searches {
		x.add(s.Mirrors[x.ref.UID]...)
		switch {
		case s.IsComplete():
		case s.isSettled(x.Workers[i], record, x.ref) && record.LeaseErr == nil:
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

// checkPlace checks a recorded place on all workers that may be its cluster, and reports whether
// the content of that place is now known. If the object there is not a mirror of the origin, it
// returns a *foreignError, unless the record was copied from another origin.
func (x *cancellation) checkPlace(ctx context.Context, p delegation.Place, searches []*SearchResult) (isSettled bool, err error) {
	for i, w := range x.Workers {
		isFound := func(m FoundMirror) bool {
			return m.Cluster.Context == w.Context && m.Object.GetNamespace() == p.Namespace && m.Object.GetName() == p.Name
		}
		if slices.ContainsFunc(x.mirrors, isFound) && p.On(w.Identity()) != delegation.CertainlyOther {
			isSettled = true
			continue
		}
		check, err := CheckPlace(ctx, w, x.kind, x.ref, p)
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case check.Foreign != nil:
			return false, command.Errorf("nothing was changed: %w", check.Foreign.InAnnotation(x.kind))
		case check.Mirror != nil:
			x.add(FoundMirror{Cluster: w, Object: check.Mirror})
			isSettled = true
		case check.IsCopy:
			isSettled = true
			x.events.Record(Event{Event: Warned, Origin: &x.ref, Message: string(command.Say("its annotation %s names the mirror of another origin, which was not changed", delegation.MirrorAnnotation))})
		case err == nil && check.IsGone, err == nil && check.Sameness == delegation.CertainlySame && searches[i].IsComplete():
			isSettled = true
		}
	}
	return isSettled, nil
}

// allContexts is the advice if --to may exclude the context of a mirror.
const allContexts = "Without --to, all contexts are searched"

// narrower returns the advice to change --to; "" if that changes nothing. It does if a whole context
// was not searched.
func (x *cancellation) narrower(searches []*SearchResult) string {
	isWhole := len(x.Unreached) > 0 || slices.ContainsFunc(searches, func(s *SearchResult) bool { return !s.IsComplete() && !s.isPartial() })
	switch {
	case !isWhole:
		return ""
	case x.Only != "":
		return allContexts
	}
	return "Limit the search with --to"
}

// refuse returns the error that lists the places that were not searched. way is the advice of narrower.
func (x *cancellation) refuse(unsearched []string, way string) error {
	unchanged := "nothing was changed"
	if len(x.mirrors) > 0 {
		var found []string
		for _, m := range x.mirrors {
			found = append(found, fmt.Sprintf("%s/%s on %s", m.Object.GetNamespace(), m.Object.GetName(), m.Cluster.Context))
		}
		unchanged = fmt.Sprintf("nothing was changed, although mirrors were found (%s)", strings.Join(found, ", "))
	}
	end := fmt.Sprintf("nd the %s and leave its mirrors with --abandon-mirror", strings.ToLower(x.kind.Kind))
	if way == "" {
		end = "E" + end
	} else {
		end = way + ", or e" + end
	}
	return &UnsearchedError{
		Origin: x.ref, On: contextsOfMirrors(x.mirrors),
		text: fmt.Sprintf("%s may have a mirror that was not found; %s. Not searched: %s. %s",
			x.ref.WithKind(), unchanged, strings.Join(unsearched, "; "), end),
	}
}

// UnsearchedError means that an origin was not cancelled, because a place that may hold a mirror
// was not searched.
type UnsearchedError struct {
	Origin Ref
	// On are the contexts of the mirrors that were found.
	On   []string
	text string
}

func (e *UnsearchedError) Error() string { return e.text }

func contextsOfMirrors(mirrors []FoundMirror) (names []string) {
	for _, m := range mirrors {
		names = append(names, m.Cluster.Context)
	}
	return withoutRepeats(names)
}

// chooseContext selects the context for deleting a mirror: the one that found it, or another one
// of the same cluster with the right to delete it. If none can delete it, for lack of rights or
// because of a policy, it returns an error before anything changes. Otherwise, the origin would end
// while its mirror keeps running.
func (x *cancellation) chooseContext(ctx context.Context, m *FoundMirror) error {
	var refused error
	for _, w := range append([]*fleet.Cluster{m.Cluster}, x.Others[m.Cluster.Context]...) {
		_, err := w.Get(ctx, x.kind.Resource, m.Object.GetNamespace(), m.Object.GetName())
		if err == nil {
			_, err = w.Remove(ctx, x.kind.Resource, m.Object.GetNamespace(), m.Object.GetName(), string(m.Object.GetUID()), metav1.DryRunAll)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil, kubecontext.IsDryRunUnsupported(err):
			m.Cluster = w
			return nil
		case kubecontext.IsConnection(err):
			return fmt.Errorf("cannot reach the mirror of %s; nothing was changed: %w", x.ref.WithKind(), err)
		case refused == nil:
			refused = err
		}
	}
	return fmt.Errorf("cannot remove the mirror of %s; nothing was changed: %w", x.ref.WithKind(), refused)
}
