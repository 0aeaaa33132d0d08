package bundle

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// served returns the groups and versions that a server serves: the recorded ones, those of its
// objects, and those that every server has. Versions of a group are adjacent, the preferred one
// first.
func served(c *Context, s *store) []schema.GroupVersion {
	all := append([]schema.GroupVersion{corev1.SchemeGroupVersion, batchv1.SchemeGroupVersion}, s.versions()...)
	for i := range c.Kinds {
		all = append(all, c.Kinds[i].gvk().GroupVersion())
	}
	for _, text := range c.Served {
		if gv, err := schema.ParseGroupVersion(text); err == nil && gv.Version != "" {
			all = append(all, gv)
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersion) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
	})
	return slices.Compact(all)
}

// resource returns a resource; ok is false if it is not served.
func (s *server) resource(gvr schema.GroupVersionResource) (r resource, ok bool) {
	if !slices.Contains(s.served, gvr.GroupVersion()) {
		return resource{}, false
	}
	for _, r := range s.known(gvr.GroupVersion()) {
		if r.GroupVersionResource == gvr {
			return r, true
		}
	}
	if t, ok := s.store.tables[gvr]; ok {
		return t.resource, true
	}
	return resource{}, false
}

func (s *server) versionInfo() []byte {
	v := version.Info{GitVersion: s.version}
	if parts := strings.SplitN(strings.TrimPrefix(s.version, "v"), ".", 3); len(parts) == 3 {
		v.Major, v.Minor = parts[0], parts[1]
	}
	return encode(v)
}

// discover answers discovery requests.
func (s *server) discover(steps []string) ([]byte, *apierrors.StatusError) {
	status, unknown := s.unread[unknownKinds()]
	switch {
	case len(steps) == 1 && unknown:
		return nil, &apierrors.StatusError{ErrStatus: status}
	case len(steps) == 1 && steps[0] == "api":
		return encode(metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{},
		}), nil
	case len(steps) == 1:
		return s.groups(), nil
	case len(steps) == 2 && steps[0] == "apis":
		if group := s.group(steps[1]); group != nil {
			return encode(group), nil
		}
		if status, ok := s.groupRefusal(steps[1]); ok {
			return nil, &apierrors.StatusError{ErrStatus: status}
		}
	case len(steps) == 2:
		return s.resources(schema.GroupVersion{Version: steps[1]})
	default:
		return s.resources(schema.GroupVersion{Group: steps[1], Version: steps[2]})
	}
	return nil, notServed(schema.GroupResource{}, "")
}

// groupRefusal returns why it is unknown whether a group without recorded resources is served; false if
// it is not served.
func (s *server) groupRefusal(group string) (metav1.Status, bool) {
	if status, ok := s.unread[schema.GroupResource{Group: group, Resource: everything}]; ok {
		return status, true
	}
	if !slices.ContainsFunc(delegation.Kinds(), func(k delegation.Kind) bool { return k.Resource.Group == group }) {
		return metav1.Status{}, false
	}
	if status, unknown := s.unread[unknownKinds()]; unknown || len(s.kinds) > 0 {
		return status, unknown
	}
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
		Message: "the snapshot lacks the list of kinds; record a new one with the snapshot command",
	}, true
}

// groups returns the document of all API groups.
func (s *server) groups() []byte {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	for _, gv := range s.served {
		if gv.Group == "" || len(list.Groups) > 0 && list.Groups[len(list.Groups)-1].Name == gv.Group {
			continue
		}
		list.Groups = append(list.Groups, *s.group(gv.Group))
	}
	return encode(list)
}

// group returns the document of an API group; nil if the group is not served.
func (s *server) group(name string) *metav1.APIGroup {
	var versions []metav1.GroupVersionForDiscovery
	for _, gv := range s.served {
		if gv.Group == name && name != "" {
			versions = append(versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
		}
	}
	if len(versions) == 0 {
		return nil
	}
	return &metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"},
		Name:     name, Versions: versions, PreferredVersion: versions[0],
	}
}

// resources returns the document of the resources of a group and version.
func (s *server) resources(gv schema.GroupVersion) ([]byte, *apierrors.StatusError) {
	if !slices.Contains(s.served, gv) {
		return nil, notServed(schema.GroupResource{}, "")
	}
	if status, unread := s.unread[schema.GroupResource{Group: gv.Group, Resource: everything}]; unread {
		return nil, &apierrors.StatusError{ErrStatus: status}
	}
	found := s.known(gv)
	for gvr, t := range s.store.tables {
		if gvr.GroupVersion() == gv && !slices.ContainsFunc(found, func(r resource) bool { return r.GroupVersionResource == gvr }) {
			found = append(found, t.resource)
		}
	}
	slices.SortFunc(found, func(a, b resource) int { return cmp.Compare(a.Resource, b.Resource) })
	list := metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String(), APIResources: []metav1.APIResource{},
	}
	for _, r := range found {
		if s.unread[r.GroupResource()].Code == http.StatusNotFound {
			continue
		}
		list.APIResources = append(list.APIResources, s.describe(r)...)
	}
	return encode(list), nil
}

// describe returns the entry of a resource, and that of its status if the kind is delegable.
// Clients recognize delegable kinds by their status, although nothing in a snapshot can be
// changed.
func (s *server) describe(r resource) []metav1.APIResource {
	entry := metav1.APIResource{
		Name: r.Resource, SingularName: strings.ToLower(r.kind), Kind: r.kind,
		Namespaced: r.namespaced, Verbs: metav1.Verbs{"get", "list"},
	}
	i := slices.IndexFunc(s.kinds, func(k ServedKind) bool { return k.resource() == r })
	if i < 0 && r != jobs() && r != pods() {
		return []metav1.APIResource{entry}
	}
	if i >= 0 {
		entry.ShortNames = s.kinds[i].ShortNames
	}
	status := entry
	entry.Verbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	status.Name, status.SingularName, status.ShortNames = r.Resource+"/status", "", nil
	status.Verbs = metav1.Verbs{"get", "patch", "update"}
	return []metav1.APIResource{entry, status}
}

// known returns the resources that are served even without objects.
func (s *server) known(gv schema.GroupVersion) []resource {
	all := known(gv)
	for i := range s.kinds {
		if r := s.kinds[i].resource(); r.GroupVersion() == gv && !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}
