package read

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Get reads one object as JSON into a T, which has only the needed fields. It returns nil without
// an error if the object does not exist.
func Get[T any](ctx context.Context, c *fleet.Cluster, r schema.GroupVersionResource, namespace, name string) (*T, error) {
	o := new(T)
	text, err := fleet.Object(ctx, c, r, namespace, name)
	if err == nil && text == nil {
		return nil, nil
	}
	if err == nil {
		err = wire.DecodeText(text, o)
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

// KueueVersion returns the version of Kueue's API to read from a cluster, "" if it serves no known
// one.
func KueueVersion(ctx context.Context, c *fleet.Cluster) (string, error) {
	return servedVersion(ctx, c, kueue.Group)
}

// servedVersion returns the version of one of Kueue's API groups to read, "" if none is served.
func servedVersion(ctx context.Context, c *fleet.Cluster, group string) (string, error) {
	served, err := servedVersions(ctx, c, group)
	if err != nil {
		return "", err
	}
	for _, version := range delegation.KueueVersions() {
		if slices.Contains(served, version) {
			return version, nil
		}
	}
	return "", nil
}

// servedVersions returns all versions of a group that a cluster serves.
func servedVersions(ctx context.Context, c *fleet.Cluster, group string) ([]string, error) {
	return cache.Keep(c.Cache(ctx), "versions of "+group, cache.Seldom, func() ([]string, error) {
		served, err := c.Versions(ctx, group)
		if err != nil {
			return nil, fmt.Errorf("ask which versions of %s it serves: %w", group, err)
		}
		return served, nil
	})
}

// Version returns the version of an API server, such as "v1.36.3".
func Version(ctx context.Context, c *fleet.Cluster) (string, error) {
	return cache.Keep(c.Cache(ctx), "version", cache.Seldom, func() (string, error) {
		v, err := c.Version(ctx)
		return v.GitVersion, err
	})
}

// Tried is the result of a server-side dry run: the object as the server and its webhooks changed
// it, or an error.
type Tried struct {
	Object *unstructured.Unstructured
	Err    error
}

// TryCreate makes a server-side dry run of creating a Job in these contexts. The results are by
// context.
func TryCreate(ctx context.Context, f *fleet.Fleet, job *unstructured.Unstructured, contexts []string) map[string]Tried {
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*unstructured.Unstructured, error) {
		if !slices.Contains(contexts, c.Context) {
			return nil, nil
		}
		return c.Create(ctx, delegation.Job().Resource, job.DeepCopy(), "", metav1.DryRunAll)
	})
	tried := map[string]Tried{}
	for _, a := range answers {
		if slices.Contains(contexts, a.Context) {
			tried[a.Context] = Tried{a.Value, a.Err}
		}
	}
	return tried
}

// WithoutVersion returns the contexts that answer and whose clusters do not serve a version of a group.
// unread has the errors of contexts that do not answer.
func WithoutVersion(ctx context.Context, f *fleet.Fleet, gv schema.GroupVersion) (unserved sets.Set[string], unread map[string]error) {
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) ([]string, error) {
		return servedVersions(ctx, c, gv.Group)
	})
	unserved, unread = sets.New[string](), map[string]error{}
	for _, a := range answers {
		switch {
		case a.Err != nil:
			unread[a.Context] = a.Err
		case !slices.Contains(a.Value, gv.Version):
			unserved.Insert(a.Context)
		}
	}
	return unserved, unread
}

// Presence returns which contexts certainly have an object of this name, and which certainly lack it.
// unread has the error of each other context.
func Presence(ctx context.Context, f *fleet.Fleet, r schema.GroupVersionResource, name types.NamespacedName) (found, lacking sets.Set[string], unread map[string]error) {
	found, lacking, unread = sets.New[string](), sets.New[string](), map[string]error{}
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*metav1.PartialObjectMetadata, error) {
		return Get[metav1.PartialObjectMetadata](ctx, c, r, name.Namespace, name.Name)
	}) {
		switch {
		case a.Err != nil:
			unread[a.Context] = a.Err
		case a.Value == nil:
			lacking.Insert(a.Context)
		default:
			found.Insert(a.Context)
		}
	}
	return found, lacking, unread
}

// WithoutWorkload returns which contexts have Kueue and certainly lack a Workload. unread has the error of each
// context of which that is unknown.
func WithoutWorkload(ctx context.Context, f *fleet.Fleet, name types.NamespacedName) (lacking []string, unread map[string]error) {
	unread = map[string]error{}
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (isLacking bool, err error) {
		version, err := KueueVersion(ctx, c)
		if err != nil || version == "" {
			return false, err
		}
		found, err := Get[metav1.PartialObjectMetadata](ctx, c, kueueResource(version, "workloads"), name.Namespace, name.Name)
		return err == nil && found == nil, err
	}) {
		switch {
		case a.Err != nil:
			unread[a.Context] = a.Err
		case a.Value:
			lacking = append(lacking, a.Context)
		}
	}
	return lacking, unread
}

// ResourceQuotas returns the ResourceQuotas of a namespace, by context. unread has the error of each
// other context.
func ResourceQuotas(ctx context.Context, f *fleet.Fleet, namespace string) (quotas map[string][]corev1.ResourceQuota, unread map[string]error) {
	quotas, unread = map[string][]corev1.ResourceQuota{}, map[string]error{}
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (all []corev1.ResourceQuota, err error) {
		err = listObjects(ctx, c, corev1.SchemeGroupVersion.WithResource("resourcequotas"), namespace, metav1.ListOptions{}, func(q *corev1.ResourceQuota) {
			all = append(all, *q)
		})
		if apierrors.IsNotFound(err) {
			err = nil // A server without the kind has none.
		}
		return all, err
	}) {
		if a.Err != nil {
			unread[a.Context] = a.Err
			continue
		}
		quotas[a.Context] = a.Value
	}
	return quotas, unread
}
