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

// IsPartial reports whether some namespaces were searched, and the user has no right to list the
// others.
func (s *SearchResult) IsPartial() bool { return s.Err != nil && s.Namespaces != nil }

// String describes what was not searched, and why.
func (s *SearchResult) String() string {
	if s.IsPartial() {
		return fmt.Sprintf("other namespaces than %s in context %q: %s", list(s.Namespaces), s.Context, kubecontext.Objection(s.Err))
	}
	return fmt.Sprintf("context %q: %s", s.Context, kubecontext.InContext(s.Context, "", s.Err).Message())
}

// maxSelectorUIDs is the maximum number of origin UIDs in a label selector. For more origins, all
// mirrors are listed.
const maxSelectorUIDs = 50

// SearchMirrors searches a cluster for the mirrors of origins by our label. It searches all
// namespaces or, if the user has no right to list them all, the given ones.
func SearchMirrors(ctx context.Context, c *fleet.Cluster, k delegation.Kind, originUIDs, namespaces []string) *SearchResult {
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

// SearchContexts calls SearchMirrors through each context of one cluster, until one of them may
// search the whole cluster. Without such a context, it returns the result that covers the most
// namespaces.
func SearchContexts(ctx context.Context, routes []*fleet.Cluster, k delegation.Kind, originUIDs, namespaces []string) *SearchResult {
	var best *SearchResult
	for _, route := range routes {
		s := SearchMirrors(ctx, route, k, originUIDs, namespaces)
		if s.IsComplete() {
			return s
		}
		if best == nil || s.IsPartial() && (!best.IsPartial() || len(s.Namespaces) > len(best.Namespaces)) {
			best = s
		}
	}
	return best
}

// isSettled reports whether an incomplete search has covered every place where the record allows
// a mirror. Either the record names places on this cluster, and their namespaces were searched;
// or it names only places on other clusters.
func (s *SearchResult) isSettled(c *fleet.Cluster, r Record, originUID string) bool {
	if !s.IsPartial() {
		// Finding the recorded mirror identifies a cluster even if its namespaces cannot be read.
		isNamed := func(m FoundMirror) bool { return string(m.Object.GetUID()) == r.Mirror.UID }
		return s.IsComplete() || isUnidentified(s.Err) && slices.ContainsFunc(s.Mirrors[originUID], isNamed)
	}
	for _, p := range r.Places() {
		if p.On(c.Identity()) != delegation.CertainlyOther && !slices.Contains(s.Namespaces, p.Namespace) {
			return false
		}
	}
	return len(r.Places()) > 0
}

// list joins names for people.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
