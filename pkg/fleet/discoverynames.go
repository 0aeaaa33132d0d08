package fleet

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
)

// GroupNameError is returned if a server serves an API group or version whose name is
// invalid. No API server accepts such a name: a group is a DNS subdomain, a version a DNS
// label.
type GroupNameError struct {
	// GroupVersion is the group and version as the server wrote them.
	GroupVersion string
}

func (e *GroupNameError) Error() string {
	return fmt.Sprintf("cannot discover the API: the server names the API group and version %q, which is invalid. Check whether the kubeconfig names the right server", e.GroupVersion)
}

// checkGroups returns an error for the first group or version with an invalid name.
func checkGroups(groups []*metav1.APIGroup) error {
	for _, g := range groups {
		for _, v := range g.Versions {
			if err := checkGroupVersion(schema.GroupVersion{Group: g.Name, Version: v.Version}); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkLists does the same for lists of resources, which repeat group and version. An empty group
// and version is not a path, so it is accepted.
func checkLists(lists []*metav1.APIResourceList) error {
	for _, list := range lists {
		if list.GroupVersion == "" {
			continue
		}
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return &GroupNameError{GroupVersion: list.GroupVersion}
		}
		if err := checkGroupVersion(gv); err != nil {
			return err
		}
	}
	return nil
}

func checkGroupVersion(gv schema.GroupVersion) error {
	isGroup := gv.Group == "" || len(validation.IsDNS1123Subdomain(gv.Group)) == 0
	if !isGroup || len(validation.IsDNS1123Label(gv.Version)) > 0 {
		return &GroupNameError{GroupVersion: gv.String()}
	}
	return nil
}

// checkedDiscovery is client-go's cached client, which makes directories of the names of
// groups and versions. It checks these names first, so "../../x" writes nothing outside of
// the cache.
type checkedDiscovery struct {
	*disk.CachedDiscoveryClient
}

// ServerGroupsWithContext returns the groups, or an error if a name is invalid.
func (c checkedDiscovery) ServerGroupsWithContext(ctx context.Context) (*metav1.APIGroupList, error) {
	list, err := c.CachedDiscoveryClient.ServerGroupsWithContext(ctx)
	if err != nil || list == nil {
		return list, err
	}
	groups := make([]*metav1.APIGroup, 0, len(list.Groups))
	for i := range list.Groups {
		groups = append(groups, &list.Groups[i])
	}
	if err := checkGroups(groups); err != nil {
		// With a list, client-go would ignore the error.
		return nil, err
	}
	return list, nil
}

// ServerGroupsAndResourcesWithContext applies the check above. The method of the embedded client
// would bypass it.
func (c checkedDiscovery) ServerGroupsAndResourcesWithContext(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return discovery.ServerGroupsAndResourcesWithContext(ctx, c)
}
