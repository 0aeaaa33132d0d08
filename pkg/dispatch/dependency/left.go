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

// RemoveUnowned deletes the copies made for an origin that have no owner, and returns them.
// Earlier versions copied before they created the mirror, so a crash in between left a copy
// without an owner. The garbage collector deletes copies with owners. Kinds that the user has no
// right to list are skipped.
func RemoveUnowned(ctx context.Context, worker *fleet.Cluster, namespace, originUID string) ([]Object, error) {
	var removed []Object
	var failures []error
	for _, kind := range []string{ConfigMap, Secret} {
		found, err := removeUnowned(ctx, worker, kind, namespace, originUID)
		removed = append(removed, found...)
		if err != nil {
			failures = append(failures, kubecontext.InContext(worker.Context, fmt.Sprintf("remove %ss that were copied for the mirror", kind), err))
		}
	}
	return removed, errors.Join(failures...)
}

func removeUnowned(ctx context.Context, worker *fleet.Cluster, kind, namespace, originUID string) ([]Object, error) {
	ctx, cancel := context.WithTimeout(ctx, fleet.RequestTimeout)
	defer cancel()
	var unowned []*unstructured.Unstructured
	copies := metav1.ListOptions{LabelSelector: labels.Set{delegation.OriginUIDLabel: originUID}.String()}
	err := worker.Each(ctx, Resource(kind), namespace, copies, func(o *unstructured.Unstructured) {
		if len(o.GetOwnerReferences()) == 0 && o.GetDeletionTimestamp() == nil {
			unowned = append(unowned, o)
		}
	})
	if kubecontext.IsRefused(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var removed []Object
	for _, o := range unowned {
		// A mirror that shares the copy by now has changed its resource version.
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
