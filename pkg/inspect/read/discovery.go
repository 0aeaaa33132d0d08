package read

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// kindSearch is the result of searching a cluster for the requested kinds.
type kindSearch struct {
	discovery *fleet.Discovery
	api       *fleet.API
	names     []string
	// verify also checks the schemas of known kinds. The table has the fields of current versions,
	// not of the installed ones.
	verify bool
	// discoveryErr is why discovery failed. Without discovery, kinds that every cluster has are still
	// found.
	discoveryErr error

	mu sync.Mutex
	// kinds are the kinds found, and without those that are served without the field, each in one
	// version.
	kinds, without []delegation.Kind
	// failed has the errors of groups and versions whose kinds are unknown.
	failed map[schema.GroupVersion]error
	// schemas are the schemas read for verify.
	schemas *Schemas
}

// newKindSearch reads the API groups of a cluster.
func newKindSearch(ctx context.Context, c *fleet.Cluster, names []string) *kindSearch {
	s := &kindSearch{names: names, api: &fleet.API{}, failed: map[schema.GroupVersion]error{}, schemas: &Schemas{}}
	var api *fleet.API
	if s.discovery, s.discoveryErr = c.Discovery(); s.discoveryErr == nil {
		api, s.discoveryErr = s.discovery.API(ctx)
	}
	s.schemas.Discovery = s.discovery
	if s.discoveryErr == nil {
		s.api, s.failed = api, maps.Clone(api.Failed)
	}
	return s
}

const doingSearch = "find out which kinds it serves"

// run finds the kinds.
func (s *kindSearch) run(ctx context.Context) {
	isDone := map[schema.GroupKind]bool{}
	for _, row := range delegation.Kinds() {
		gk := row.GroupVersionKind().GroupKind()
		if isDone[gk] || !s.isRequestedKind(row) {
			continue
		}
		isDone[gk] = true
		s.findKnown(ctx, gk)
	}
	s.findUnknown(ctx)
	maps.DeleteFunc(s.failed, func(gv schema.GroupVersion, _ error) bool { return !s.matters(gv.Group) })
}

// isRequestedKind reports whether a known kind is requested.
func (s *kindSearch) isRequestedKind(k delegation.Kind) bool {
	return slices.ContainsFunc(s.names, func(name string) bool { return k.IsNamed(name) || name == AllKinds && !k.IsUnmanaged() })
}

// findKnown finds a known kind in a served version: in one of its rows, otherwise in any version with
// the field.
func (s *kindSearch) findKnown(ctx context.Context, gk schema.GroupKind) {
	var rows []delegation.Kind
	for _, row := range delegation.Kinds() {
		if row.GroupVersionKind().GroupKind() == gk {
			rows = append(rows, row)
		}
	}
	versions := s.versions(rows[0].Resource.GroupResource())
	if apierrors.IsForbidden(s.discoveryErr) && scheme.Scheme.IsGroupRegistered(gk.Group) {
		versions = []string{rows[0].Resource.Version}
	}
	for _, row := range rows {
		if slices.Contains(versions, row.Resource.Version) && (!s.verify || !s.lacks(ctx, row)) {
			s.kinds = append(s.kinds, row)
			return
		}
	}
	for _, version := range versions {
		row := rows[0]
		row.Resource.Version = version
		isOfTable := slices.ContainsFunc(rows, func(r delegation.Kind) bool { return r.Resource.Version == version })
		if isOfTable || slices.Contains(row.VersionsWithoutField, version) || s.lacks(ctx, row) {
			continue
		}
		s.kinds = append(s.kinds, row)
		return
	}
	if len(versions) > 0 {
		row := rows[0]
		row.Resource.Version, row.WithoutField = versions[0], true
		s.without = append(s.without, row)
	}
}

// addKindsOfOthers adds unknown kinds that other clusters serve with the field, because this cluster may have
// their mirrors even if it serves them without the field.
func (s *kindSearch) addKindsOfOthers(kinds []delegation.Kind) {
	for _, k := range kinds {
		isSame := func(other delegation.Kind) bool { return other.Resource.GroupResource() == k.Resource.GroupResource() }
		versions := s.versions(k.Resource.GroupResource())
		if len(versions) == 0 || slices.ContainsFunc(s.kinds, isSame) || slices.ContainsFunc(s.without, isSame) {
			continue
		}
		if !slices.Contains(versions, k.Resource.Version) {
			k.Resource.Version = versions[0]
		}
		// Without a schema, the kind may have the field.
		k.WithoutField = s.failed[k.Resource.GroupVersion()] == nil
		s.without = append(s.without, k)
	}
}

// lacks reports whether a kind is served without the field. Without a schema it relies on the table.
func (s *kindSearch) lacks(ctx context.Context, k delegation.Kind) bool {
	if k.IsUnmanaged() || s.discoveryErr != nil {
		return false
	}
	lacks, err := s.schemas.Lack(ctx, k)
	if err != nil {
		s.fail(k.Resource.GroupVersion(), err)
	}
	return lacks
}

// versions returns the served versions of a resource, the preferred one first.
func (s *kindSearch) versions(gr schema.GroupResource) []string {
	var versions []string
	for _, list := range s.api.Lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || gv.Group != gr.Group {
			continue
		}
		if slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == gr.Resource }) {
			versions = append(versions, gv.Version)
		}
	}
	return versions
}

func (s *kindSearch) fail(gv schema.GroupVersion, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed[gv] == nil {
		s.failed[gv] = err
	}
}

// matters reports whether a failing group may have a requested kind that was not found elsewhere.
func (s *kindSearch) matters(group string) bool {
	return slices.ContainsFunc(s.names, func(name string) bool {
		if name == AllKinds {
			return true
		}
		found := func(k delegation.Kind) bool { return k.IsNamed(name) }
		if slices.ContainsFunc(s.kinds, found) || slices.ContainsFunc(s.without, found) {
			return false
		}
		known, isKnown := delegation.KindNamed(name)
		_, of := delegation.SplitKindName(name)
		return isKnown && known.Resource.Group == group || !isKnown && (of == "" || of == group)
	})
}

// err returns an error for the groups that could not be read, nil if there are none.
func (s *kindSearch) err() error {
	switch {
	case s.discoveryErr != nil:
		return &kubecontext.Error{Doing: doingSearch, Err: s.discoveryErr}
	case len(s.failed) == 0:
		return nil
	}
	return &kubecontext.Error{Doing: doingSearch, Err: &GroupsError{Failed: s.failed}}
}

// GroupsError is the error for groups whose kinds are unknown. It is not an error of the whole
// context.
type GroupsError struct {
	// Failed has the error of each group and version. The version is empty if the versions are
	// unknown.
	Failed map[schema.GroupVersion]error
}

func (e *GroupsError) Error() string {
	var parts []string
	for gv, err := range e.Failed {
		parts = append(parts, strings.TrimSuffix(gv.String(), "/")+": "+err.Error())
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

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
func (s *kindSearch) findUnknown(ctx context.Context) {
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

// isUnknown reports whether a name may mean a kind that is not in the table.
func isUnknown(name string) bool {
	_, known := delegation.KindNamed(name)
	return !known
}

// candidates returns the requested kinds of a group and version that may be delegated: they are
// namespaced, can be created and listed, and have a writable status.
func (s *kindSearch) candidates(gv schema.GroupVersion, resources []metav1.APIResource) []candidate {
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
func (s *kindSearch) findInGroup(ctx context.Context, versions [][]candidate) []delegation.Kind {
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
