package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/dynamic"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
)

// RequestTimeout limits each request about one object, so that a silently dead connection does
// not block longer.
const RequestTimeout = 15 * time.Second

// FieldManager is the field manager of all writes, except those of CreateOnce.
const FieldManager = "kubectl-jobs-managedby"

// Objects returns a client for the objects of a resource in a namespace; "" for cluster-scoped
// ones.
func (c *Cluster) Objects(r schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	return c.dynamic.Resource(r).Namespace(namespace)
}

// Failed adds the context to an error; nil stays nil.
func (c *Cluster) Failed(err error) error {
	if err == nil {
		return nil
	}
	reported := kubecontext.InContext(c.Context, "", err)
	reported.HasFixedLimit = true
	return reported
}

// isAlwaysServed reports whether every cluster serves a resource, so that a 404 cannot mean
// that it is not installed. Old snapshots lack lists of Leases and namespaces.
func isAlwaysServed(r schema.GroupVersionResource, name string) bool {
	resource := r.GroupResource().String()
	return resource == "jobs.batch" || name != "" && slices.Contains([]string{"leases.coordination.k8s.io", "namespaces"}, resource)
}

// Checked returns a *kubecontext.StrayError instead of a 404 that says nothing about the
// requested object; with name "", about a list or a creation.
func (c *Cluster) Checked(err error, r schema.GroupVersionResource, name string) error {
	var status apierrors.APIStatus
	switch {
	case err == nil || !apierrors.IsNotFound(err) || !errors.As(err, &status):
		return err
	case name != "" && kubecontext.IsGone(err, r.GroupResource(), name):
		return err
	case !isAlwaysServed(r, name) && (name == "" || kubecontext.IsUnserved(err)):
		return err
	case name == "" && status.Status().Details != nil && status.Status().Details.Kind == "namespaces":
		// The namespace of the object to create is missing.
		return err
	}
	return &kubecontext.StrayError{Err: err}
}

// Get reads an object, without managedFields, which are large and not needed. It returns nil if
// the API server says that the object does not exist. Use ProveAbsent before acting on that.
func (c *Cluster) Get(ctx context.Context, r schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	found, err := c.get(ctx, r, namespace, name)
	if found == nil {
		return nil, err
	}
	return Trimmed(found), nil
}

func (c *Cluster) get(ctx context.Context, r schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	found, err := c.Objects(r, namespace).Get(ctx, name, metav1.GetOptions{})
	if kubecontext.IsGone(err, r.GroupResource(), name) {
		return nil, nil
	}
	err = c.Checked(err, r, name)
	if err != nil {
		return nil, c.Failed(err)
	}
	if found.GetName() != name || found.GetNamespace() != namespace {
		// These names become part of commands in messages, so they have to be the requested ones.
		return nil, c.Failed(fmt.Errorf("the answer to %s %s/%s is %q in namespace %q", r.GroupResource(), namespace, name, found.GetName(), found.GetNamespace()))
	}
	return found, nil
}

// WithRequestTimeout returns a context that ends after RequestTimeout, unless ctx has a deadline of its own.
func WithRequestTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, hasDeadline := ctx.Deadline(); hasDeadline {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, RequestTimeout)
}

// Each calls visit for the objects of a resource in a namespace as they arrive, without
// managedFields.
func (c *Cluster) Each(ctx context.Context, r schema.GroupVersionResource, namespace string, o metav1.ListOptions, visit func(*unstructured.Unstructured)) error {
	return c.Failed(wire.EachItem(ctx, func(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
		ctx, cancel := WithRequestTimeout(ctx)
		defer cancel()
		list, err := c.Objects(r, namespace).List(ctx, o)
		return list, c.Checked(err, r, "")
	}, o, func(o *unstructured.Unstructured) { visit(Trimmed(o)) }))
}

// Patch applies a JSON merge patch to an object, or to a subresource of it. It requires the
// object's UID and resourceVersion; otherwise the error is a conflict. validation is as for
// Create.
func (c *Cluster) Patch(ctx context.Context, r schema.GroupVersionResource, o *unstructured.Unstructured, subresource string, patch map[string]any, validation string, dryRun ...string) (*unstructured.Unstructured, error) {
	metadata := map[string]any{"uid": string(o.GetUID()), "resourceVersion": o.GetResourceVersion()}
	if more, ok := patch["metadata"].(map[string]any); ok {
		maps.Copy(metadata, more)
	}
	whole := maps.Clone(patch)
	whole["metadata"] = metadata
	body, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	var subresources []string
	if subresource != "" {
		subresources = append(subresources, subresource)
	}
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	options := metav1.PatchOptions{FieldManager: FieldManager, FieldValidation: validation, DryRun: dryRun}
	written, err := c.Objects(r, o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, body, options, subresources...)
	if err != nil {
		return nil, c.Failed(c.Checked(err, r, o.GetName()))
	}
	return Trimmed(written), nil
}

// Trimmed removes an object's managedFields, which are large and not needed.
func Trimmed(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetManagedFields(nil)
	return o
}

// Version requests the version of the API server.
func (c *Cluster) Version(ctx context.Context) (v version.Info, err error) {
	ctx, cancel := WithRequestTimeout(ctx)
	defer cancel()
	err = wire.Decode(c.kubernetes.Discovery().RESTClient().Get().AbsPath("/version").SetHeader("Accept", "application/json").Do(ctx), &v)
	return v, err
}

// Versions requests the versions in which the API server serves a group, in its order. It returns
// none if the server says that it does not serve the group. Use ProveUnserved before writing
// because of that.
func (c *Cluster) Versions(ctx context.Context, group string) ([]string, error) {
	ctx, cancel := WithRequestTimeout(ctx)
	defer cancel()
	var served metav1.APIGroup
	err := wire.Decode(c.kubernetes.Discovery().RESTClient().Get().AbsPath("/apis", group).SetHeader("Accept", "application/json").Do(ctx), &served)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	var versions []string
	for _, v := range served.Versions {
		versions = append(versions, v.Version)
	}
	return versions, nil
}

// ProveUnserved returns nil if the API server does not serve a resource: the list of all
// groups lacks the group or the version, or the list of that version's resources lacks it. A
// 404 for the resource itself may be a proxy's.
func (c *Cluster) ProveUnserved(ctx context.Context, r schema.GroupVersionResource) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	var groups metav1.APIGroupList
	if err := c.discover(ctx, "APIGroupList", &groups, "/apis"); err != nil {
		return err
	}
	isServed := slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool {
		hasVersion := func(v metav1.GroupVersionForDiscovery) bool { return r.Version == "" || v.Version == r.Version }
		return g.Name == r.Group && slices.ContainsFunc(g.Versions, hasVersion)
	})
	if !isServed {
		return nil
	}
	var resources metav1.APIResourceList
	if r.Resource != "" {
		if err := c.discover(ctx, "APIResourceList", &resources, "/apis", r.Group, r.Version); err != nil {
			return err
		}
	}
	if r.Resource == "" || slices.ContainsFunc(resources.APIResources, func(served metav1.APIResource) bool { return served.Name == r.Resource }) {
		return c.Failed(fmt.Errorf("%s is served, although the server denied it", strings.Trim(r.Resource+"."+r.Group, ".")))
	}
	return nil
}

// discover reads a discovery document, which has to be of the given kind.
func (c *Cluster) discover(ctx context.Context, kind string, into any, path ...string) error {
	var is metav1.TypeMeta
	result := c.kubernetes.Discovery().RESTClient().Get().AbsPath(path...).SetHeader("Accept", "application/json").Do(ctx)
	err := wire.Decode(result, into)
	if err == nil {
		err = wire.Decode(result, &is)
	}
	if err == nil && is.Kind != kind {
		err = fmt.Errorf("the answer to %s is %q, not %s", strings.Join(path, "/"), is.Kind, kind)
	}
	return c.Failed(err)
}
