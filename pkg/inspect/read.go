package inspect

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// getObject reads one object as JSON into a T, which has only the fields that
// are wanted. It is nil, without an error, where there is no such object.
func getObject[T any](ctx context.Context, c *fleet.Cluster, r schema.GroupVersionResource, namespace, name string) (*T, error) {
	request, err := newRequest(c, r, namespace)
	if err != nil {
		return nil, err
	}
	o := new(T)
	err = decode(request.Name(name).Do(ctx), o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %q: %w", resourceText(r), name, err)
	}
	return o, nil
}

// listObjects reads objects in chunks as JSON into Ts and calls visit for each.
func listObjects[T any](ctx context.Context, c *fleet.Cluster, r schema.GroupVersionResource, namespace string, o metav1.ListOptions, visit func(*T)) error {
	o.Limit = chunk
	for {
		request, err := newRequest(c, r, namespace)
		if err != nil {
			return err
		}
		var page struct {
			metav1.ListMeta `json:"metadata"`
			Items           []*T `json:"items"`
		}
		// The options of lists are the same for every group, and known as v1's.
		listOptionsVersion := schema.GroupVersion{Version: "v1"}
		err = decode(request.SpecificallyVersionedParams(&o, scheme.ParameterCodec, listOptionsVersion).Do(ctx), &page)
		var status apierrors.APIStatus
		if o.Continue != "" && apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
			// As in listChunk: go on from the same place in the present state.
			o.Continue = status.Status().Continue
			continue
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", resourceText(r), err)
		}
		for _, item := range page.Items {
			visit(item)
		}
		if page.Continue == "" {
			return nil
		}
		o.Continue = page.Continue
	}
}

func newRequest(c *fleet.Cluster, r schema.GroupVersionResource, namespace string) (*rest.Request, error) {
	apiPath := "/apis"
	if r.Group == "" {
		apiPath = "/api"
	}
	client, err := c.REST(r.GroupVersion(), apiPath)
	if err != nil {
		return nil, err
	}
	return client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(r.Resource).
		SetHeader("Accept", "application/json"), nil
}

func decode(result rest.Result, into any) error {
	if err := result.Error(); err != nil {
		return err
	}
	body, err := result.Raw()
	if err != nil {
		return err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, into); err != nil {
		return fmt.Errorf("the server's answer makes no sense: %w", err)
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
	err = decode(client.Get().AbsPath("/apis", group).SetHeader("Accept", "application/json").Do(ctx), &served)
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

// resourceText is a resource as kubectl writes it, such as
// "workloads.kueue.x-k8s.io".
func resourceText(r schema.GroupVersionResource) string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}
