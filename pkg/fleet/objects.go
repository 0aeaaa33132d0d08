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
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
)

// RequestTimeout limits each request about one object, so that a silently dead connection does
// not block longer.
const RequestTimeout = 15 * time.Second

// FieldManager is the field manager of all writes.
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
	reported.IsBounded = true
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

// Created returns an object if this program created or changed it, as its managedFields say,
// otherwise nil.
func (c *Cluster) Created(ctx context.Context, r schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	isOurs := func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == FieldManager && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == ""
	}
	found, err := c.get(ctx, r, namespace, name)
	if found == nil || !slices.ContainsFunc(found.GetManagedFields(), isOurs) {
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

// Bounded returns a context that ends after RequestTimeout, unless ctx has a deadline of its own.
func Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, hasDeadline := ctx.Deadline(); hasDeadline {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, RequestTimeout)
}

// Each calls visit for the objects of a resource in a namespace as they arrive, without
// managedFields.
func (c *Cluster) Each(ctx context.Context, r schema.GroupVersionResource, namespace string, o metav1.ListOptions, visit func(*unstructured.Unstructured)) error {
	return c.Failed(wire.EachItem(ctx, func(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
		ctx, cancel := Bounded(ctx)
		defer cancel()
		list, err := c.Objects(r, namespace).List(ctx, o)
		return list, c.Checked(err, r, "")
	}, o, func(o *unstructured.Unstructured) { visit(Trimmed(o)) }))
}

// Create creates an object, and returns it as stored. validation is a value of
// metav1.CreateOptions.FieldValidation; "" for the server's default. With metav1.DryRunAll, the
// server does not store it.
func (c *Cluster) Create(ctx context.Context, r schema.GroupVersionResource, o *unstructured.Unstructured, validation string, dryRun ...string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	created, err := c.Objects(r, o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{FieldManager: FieldManager, FieldValidation: validation, DryRun: dryRun})
	if err != nil {
		return nil, c.Failed(c.Checked(err, r, ""))
	}
	return Trimmed(created), nil
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

// Delete deletes an object and its dependents if the preconditions hold. With metav1.DryRunAll,
// the server does not delete it.
func (c *Cluster) Delete(ctx context.Context, r schema.GroupVersionResource, namespace, name string, only *metav1.Preconditions, dryRun ...string) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	// Without a policy, Jobs are deleted without their Pods (kubernetes:
	// pkg/registry/batch/job/strategy.go, DefaultGarbageCollectionPolicy).
	policy := metav1.DeletePropagationBackground
	err := c.Objects(r, namespace).Delete(ctx, name, metav1.DeleteOptions{Preconditions: only, PropagationPolicy: &policy, DryRun: dryRun})
	return c.Failed(c.Checked(err, r, name))
}

// Remove deletes the object with a UID, whatever its version, and reports whether it did. Use RemoveIf
// if the reason to delete it depends on its fields. If it reports false without
// an error, the object is certainly gone: ProveAbsent has proven it, or another object has its
// name. With metav1.DryRunAll, nothing is proven.
func (c *Cluster) Remove(ctx context.Context, r schema.GroupVersionResource, namespace, name, uid string, dryRun ...string) (removed bool, err error) {
	err = c.Delete(ctx, r, namespace, name, metav1.NewUIDPreconditions(uid), dryRun...)
	isGone := kubecontext.IsGone(err, r.GroupResource(), name)
	switch {
	case err == nil:
		return true, nil
	case !isGone && !apierrors.IsConflict(err):
		return false, err
	case len(dryRun) > 0:
		return false, nil
	}
	return false, c.ProveGone(ctx, r, namespace, name, uid)
}

// ChangedError means that an object was not deleted, because a change since it was read made its
// deletion wrong.
type ChangedError struct{ What string }

func (e *ChangedError) Error() string {
	return e.What + " was changed by another client, so it was not deleted"
}

// RemoveIf deletes an object as it was read, and reports whether it did. If the object has changed,
// RemoveIf reads it again, and deletes it only if it still is to be deleted; otherwise it returns a
// *ChangedError. If it reports false without an error, the object is certainly gone, as for Remove.
func (c *Cluster) RemoveIf(ctx context.Context, r schema.GroupVersionResource, o *unstructured.Unstructured, isWrong func(*unstructured.Unstructured) bool) (removed bool, err error) {
	namespace, name, uid := o.GetNamespace(), o.GetName(), string(o.GetUID())
	// A controller may change the status of an object all the time, so conflicts are retried.
	err = retry.RetryOnConflict(wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Steps: 8}, func() error {
		failed := c.Delete(ctx, r, namespace, name, IsAs(o))
		if failed == nil || !apierrors.IsConflict(failed) && !kubecontext.IsGone(failed, r.GroupResource(), name) {
			removed = failed == nil
			return failed
		}
		now, err := c.Get(ctx, r, namespace, name)
		switch {
		case err != nil:
			return err
		case now == nil || now.GetUID() != o.GetUID():
			return c.ProveGone(ctx, r, namespace, name, uid)
		case !isWrong(now):
			return c.Failed(&ChangedError{What: r.GroupResource().String() + " " + namespace + "/" + name})
		}
		o = now
		return failed
	})
	return removed, err
}

// Trimmed removes an object's managedFields, which are large and not needed.
func Trimmed(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetManagedFields(nil)
	return o
}

// Version requests the version of the API server.
func (c *Cluster) Version(ctx context.Context) (v version.Info, err error) {
	ctx, cancel := Bounded(ctx)
	defer cancel()
	err = wire.Decode(c.kubernetes.Discovery().RESTClient().Get().AbsPath("/version").SetHeader("Accept", "application/json").Do(ctx), &v)
	return v, err
}

// Versions requests the versions in which the API server serves a group, in its order. It returns
// none if the server says that it does not serve the group. Use ProveUnserved before writing
// because of that.
func (c *Cluster) Versions(ctx context.Context, group string) ([]string, error) {
	ctx, cancel := Bounded(ctx)
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

// IsAs returns the precondition that an object is unchanged since it was read.
func IsAs(o metav1.Object) *metav1.Preconditions {
	return &metav1.Preconditions{UID: new(o.GetUID()), ResourceVersion: new(o.GetResourceVersion())}
}
