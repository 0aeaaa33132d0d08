package dependency

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// RemoveLeft removes the copies that were made for an origin and that nobody owns, and
// returns them. Versions before this one copied first and made the mirror then, so that a
// copy was left without an owner where they died in between. One that has an owner goes
// with that. What may not be looked at is left alone.
func RemoveLeft(ctx context.Context, worker *fleet.Cluster, namespace, originUID string) ([]Object, error) {
	var removed []Object
	var failures []error
	for _, kind := range []string{ConfigMap, Secret} {
		found, err := removeLeft(ctx, worker, kind, namespace, originUID)
		removed = append(removed, found...)
		if err != nil {
			failures = append(failures, kubecontext.InContext(worker.Context, fmt.Sprintf("remove %ss that were copied for the mirror", kind), err))
		}
	}
	return removed, errors.Join(failures...)
}

func removeLeft(ctx context.Context, worker *fleet.Cluster, kind, namespace, originUID string) ([]Object, error) {
	ctx, cancel := context.WithTimeout(ctx, fleet.RequestTimeout)
	defer cancel()
	var left []*unstructured.Unstructured
	made := metav1.ListOptions{LabelSelector: labels.Set{delegation.OriginUIDLabel: originUID}.String()}
	err := worker.Each(ctx, Resource(kind), namespace, made, func(o *unstructured.Unstructured) {
		if len(o.GetOwnerReferences()) == 0 && o.GetDeletionTimestamp() == nil {
			left = append(left, o)
		}
	})
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var removed []Object
	for _, o := range left {
		// Whoever shares it by now has changed it, and owns it.
		err := worker.Delete(ctx, Resource(kind), namespace, o.GetName(), fleet.IsAs(o))
		switch {
		case err == nil:
			removed = append(removed, Object{Kind: kind, Namespace: namespace, Name: o.GetName()})
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			return removed, err
		}
	}
	return removed, nil
}
