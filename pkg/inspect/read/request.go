package read

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// getObject reads one object as JSON into a T, which has only the fields that
// are wanted. It is nil, without an error, where there is no such object.
func getObject[T any](ctx context.Context, c *fleet.Cluster, r schema.GroupVersionResource, namespace, name string) (*T, error) {
	request, err := c.JSON(r, namespace)
	if err != nil {
		return nil, err
	}
	o := new(T)
	err = fleet.DecodeJSON(request.Name(name).Do(ctx), o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %q: %w", r.GroupResource().String(), name, err)
	}
	return o, nil
}

// listObjects reads objects in chunks as JSON into Ts and calls visit for each.
func listObjects[T any](ctx context.Context, c *fleet.Cluster, r schema.GroupVersionResource, namespace string, o metav1.ListOptions, visit func(*T)) error {
	if err := fleet.EachObject(ctx, c, r, namespace, o, visit); err != nil {
		return fmt.Errorf("list %s: %w", r.GroupResource().String(), err)
	}
	return nil
}

// servedVersion is the first of the versions of an API group that a cluster
// serves, "" if it serves none of them.
func servedVersion(ctx context.Context, c *fleet.Cluster, group string, versions []string) (string, error) {
	client, err := c.REST(schema.GroupVersion{Group: group, Version: versions[0]}, "/apis")
	if err != nil {
		return "", err
	}
	var served metav1.APIGroup
	err = fleet.DecodeJSON(client.Get().AbsPath("/apis", group).SetHeader("Accept", "application/json").Do(ctx), &served)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("ask which versions of %s it serves: %w", group, err)
	}
	for _, version := range versions {
		for _, v := range served.Versions {
			if v.Version == version {
				return version, nil
			}
		}
	}
	return "", nil
}
