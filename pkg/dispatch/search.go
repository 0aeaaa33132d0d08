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

// Searched is what became of searching one cluster for mirrors by their label.
type Searched struct {
	Context string
	// Mirrors are those of each origin, by its UID.
	Mirrors map[string][]FoundMirror
	// Namespaces are those that were searched where not all could be; nil is for all.
	Namespaces []string
	// Err is why not all of the cluster was searched, nil if all was, and the cluster has
	// proven afterwards to be the one that was meant.
	Err error
}

// IsWhole reports whether all of the cluster was searched.
func (s *Searched) IsWhole() bool { return s.Err == nil }

// IsPart reports whether what was not searched are other namespaces, which the user may not
// list.
func (s *Searched) IsPart() bool { return s.Err != nil && s.Namespaces != nil }

// String says what was not searched, and why.
func (s *Searched) String() string {
	if s.IsPart() {
		return fmt.Sprintf("other namespaces than %s in context %q: %s", list(s.Namespaces), s.Context, kubecontext.Objection(s.Err))
	}
	return fmt.Sprintf("context %q: %s", s.Context, kubecontext.InContext(s.Context, "", s.Err).Message())
}

// mostInSelector is for how many origins a list is asked for by name. Of more, all mirrors of
// dispatches are read.
const mostInSelector = 50

// SearchMirrors searches a cluster for the mirrors of origins by our label: in all namespaces,
// or, where the user may not list these, in those that are given.
func SearchMirrors(ctx context.Context, c *fleet.Cluster, k delegation.Kind, originUIDs, namespaces []string) *Searched {
	s := &Searched{Context: c.Context, Mirrors: map[string][]FoundMirror{}}
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
	// What answered has to be the cluster that was meant. One that cannot be identified proves
	// nothing by what it does not have.
	if verified := c.Verify(ctx, namespaces[0]); verified != nil {
		s.Namespaces, s.Err = nil, verified
	}
	return s
}

func (s *Searched) search(ctx context.Context, c *fleet.Cluster, k delegation.Kind, originUIDs []string, namespace string) error {
	o := metav1.ListOptions{LabelSelector: delegation.OriginUIDLabel}
	if len(originUIDs) <= mostInSelector {
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

// SearchWays does so through the contexts of one cluster, one after the other, until one of
// them may search all of it. Without one, the first that has searched the most counts.
func SearchWays(ctx context.Context, ways []*fleet.Cluster, k delegation.Kind, originUIDs, namespaces []string) *Searched {
	var best *Searched
	for _, way := range ways {
		s := SearchMirrors(ctx, way, k, originUIDs, namespaces)
		if s.IsWhole() {
			return s
		}
		if best == nil || s.IsPart() && (!best.IsPart() || len(s.Namespaces) > len(best.Namespaces)) {
			best = s
		}
	}
	return best
}

// isSettled reports whether a search that did not reach all of a cluster has still looked
// wherever a mirror of the record may be: the record names a place there, whose namespace was
// searched, or no place there at all.
func (s *Searched) isSettled(c *fleet.Cluster, r Record, originUID string) bool {
	if !s.IsPart() {
		// The recorded mirror itself identifies a cluster whose namespaces may not be read.
		isNamed := func(m FoundMirror) bool { return string(m.Object.GetUID()) == r.Mirror.UID }
		return s.IsWhole() || isUnidentified(s.Err) && slices.ContainsFunc(s.Mirrors[originUID], isNamed)
	}
	for _, p := range r.Places() {
		if p.On(c.Identity()) != delegation.CertainlyOther && !slices.Contains(s.Namespaces, p.Namespace) {
			return false
		}
	}
	return len(r.Places()) > 0
}

// list is names for people.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
