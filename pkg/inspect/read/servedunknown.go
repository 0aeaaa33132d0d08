package read

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// documentsAtOnce limits the parallel requests for schemas of one cluster. Some schemas have many
// megabytes.
const documentsAtOnce = 4

// errNoSchemas is why the kinds of a group with candidates are unknown.
var errNoSchemas = errors.New("it publishes no OpenAPI schemas (yet)")

// candidate is an unknown kind that may have managedBy.
type candidate struct {
	gvk        schema.GroupVersionKind
	plural     string
	shortNames []string
}

// findUnknown finds kinds that are not in the table, by their schemas. It takes each in the
// server's preferred version, otherwise in the first one with the field.
func (s *survey) findUnknown(ctx context.Context) {
	if !slices.ContainsFunc(s.names, isUnknown) {
		return
	}
	// Versions of a group are kept together, because they are examined one after the other.
	groups := map[string][][]candidate{}
	var order []string
	for _, list := range s.api.Lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || scheme.Scheme.IsGroupRegistered(gv.Group) {
			continue
		}
		if all := s.candidates(gv, list.APIResources); len(all) > 0 {
			if groups[gv.Group] == nil {
				order = append(order, gv.Group)
			}
			groups[gv.Group] = append(groups[gv.Group], all)
		}
	}
	found := make([][]delegation.Kind, len(order))
	var group errgroup.Group
	group.SetLimit(documentsAtOnce)
	for i, name := range order {
		group.Go(func() error {
			found[i] = s.findInGroup(ctx, groups[name])
			return nil
		})
	}
	// The errors are in s.failed.
	_ = group.Wait()
	s.kinds = append(s.kinds, slices.Concat(found...)...)
}

// isUnknown says whether a name may mean a kind that is not in the table.
func isUnknown(name string) bool {
	_, known := delegation.KindNamed(name)
	return !known
}

// candidates returns the requested kinds of a group and version that may be delegated: they are
// namespaced, can be created and listed, and have a writable status.
func (s *survey) candidates(gv schema.GroupVersion, resources []metav1.APIResource) []candidate {
	var all []candidate
	for _, r := range resources {
		hasStatus := func(sub metav1.APIResource) bool {
			return sub.Name == r.Name+"/status" && (slices.Contains(sub.Verbs, "update") || slices.Contains(sub.Verbs, "patch"))
		}
		_, isOfTable := delegation.KindOf(gv.WithKind(r.Kind))
		if isOfTable || strings.Contains(r.Name, "/") || !r.Namespaced || !slices.Contains(r.Verbs, "create") || !slices.Contains(r.Verbs, "list") ||
			!slices.ContainsFunc(resources, hasStatus) {
			continue
		}
		c := candidate{gvk: gv.WithKind(r.Kind), plural: r.Name, shortNames: slices.Clone(r.ShortNames)}
		if r.SingularName != "" && !strings.EqualFold(r.SingularName, r.Kind) {
			c.shortNames = append(c.shortNames, r.SingularName)
		}
		kind := delegation.DiscoveredKind(c.gvk, c.plural, c.shortNames, nil)
		if slices.ContainsFunc(s.names, func(name string) bool { return name == AllKinds || isUnknown(name) && kind.IsNamed(name) }) {
			all = append(all, c)
		}
	}
	return all
}

// findInGroup examines the versions of a group, one after the other.
func (s *survey) findInGroup(ctx context.Context, versions [][]candidate) []delegation.Kind {
	var found []delegation.Kind
	isFound := func(c candidate) bool {
		return slices.ContainsFunc(found, func(k delegation.Kind) bool { return k.Kind == c.gvk.Kind })
	}
	for _, candidates := range versions {
		candidates = slices.DeleteFunc(slices.Clone(candidates), isFound)
		if len(candidates) == 0 {
			continue
		}
		gv := candidates[0].gvk.GroupVersion()
		document, err := s.discovery.Schemas(ctx, gv)
		switch {
		case err != nil:
			s.fail(gv, err)
			continue
		case document == nil:
			s.fail(gv, errNoSchemas)
			continue
		case !delegation.MentionsManagedBy(document):
			continue
		}
		schemas, err := delegation.ParseSchemas(document)
		if err != nil {
			s.fail(gv, err)
			continue
		}
		for _, c := range candidates {
			if kind, ok := schemas.Kind(c.gvk, c.plural, c.shortNames); ok {
				found = append(found, kind)
			}
		}
	}
	return found
}
