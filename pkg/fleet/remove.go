package fleet

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

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
type ChangedError struct {
	// What names the object. Now is the object after the change.
	What string
	Now  *unstructured.Unstructured
}

func (e *ChangedError) Error() string {
	return e.What + " was changed by another client, so it was not deleted"
}

// RemoveIf deletes an object as it was read, and reports whether it did. It reads the object again
// afterwards, because a proxy may answer 200 to anything: a deleted object is absent or terminating. If
// the object has changed, RemoveIf asks isToDelete again, and returns a *ChangedError if that refuses. If
// it reports false without an error, the object is certainly gone, as for Remove.
func (c *Cluster) RemoveIf(ctx context.Context, r schema.GroupVersionResource, o *unstructured.Unstructured, isToDelete func(*unstructured.Unstructured) bool) (removed bool, err error) {
	namespace, name, uid := o.GetNamespace(), o.GetName(), o.GetUID()
	what := r.GroupResource().String() + " " + namespace + "/" + name
	// A controller may change the status of an object all the time, so conflicts are retried.
	tries := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Steps: 8}
	var failed, unread error
	err = wait.ExponentialBackoffWithContext(ctx, tries, func(ctx context.Context) (bool, error) {
		failed = c.Delete(ctx, r, namespace, name, IsAs(o))
		if failed != nil && !apierrors.IsConflict(failed) && !kubecontext.IsGone(failed, r.GroupResource(), name) {
			return false, failed
		}
		var now *unstructured.Unstructured
		now, unread = c.Get(ctx, r, namespace, name)
		isGone := now == nil || now.GetUID() != uid
		switch {
		case unread != nil:
			return false, unread
		case failed == nil && (isGone || now.GetDeletionTimestamp() != nil):
			removed = true
			return true, nil
		case isGone:
			return true, c.ProveGone(ctx, r, namespace, name, string(uid))
		case !isToDelete(now):
			return false, c.Failed(&ChangedError{What: what, Now: now})
		}
		o = now
		return false, nil
	})
	if wait.Interrupted(err) && unread == nil && ctx.Err() == nil {
		err = cmp.Or(failed, c.Failed(fmt.Errorf("%s still exists, although the server answered that it is deleted", what)))
	}
	return removed, err
}

// IsAs returns the precondition that an object is unchanged since it was read.
func IsAs(o metav1.Object) *metav1.Preconditions {
	return &metav1.Preconditions{UID: new(o.GetUID()), ResourceVersion: new(o.GetResourceVersion())}
}
