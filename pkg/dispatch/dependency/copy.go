package dependency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/apiserver"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Copy copies objects to the worker, into the namespace of the planned mirror, with the
// marks of that: it has to have its origin's uid. What is there already as a copy is left
// alone if it says the same, whatever origin it was made for: mirrors share their copies,
// and Adopt makes each of them an owner. What is there otherwise is an error, and so is a
// token of a service account, which no other cluster takes. It returns those that it
// created, also beside an error.
func Copy(ctx context.Context, origin, worker *apiserver.Side, planned *unstructured.Unstructured, d []Object) ([]Object, error) {
	var created []Object
	var failures []error
	for _, one := range d {
		isNew, err := copyOne(ctx, origin, worker, planned, one, nil)
		if isNew {
			created = append(created, one)
		}
		failures = append(failures, err)
	}
	return created, errors.Join(failures...)
}

// Adopt makes the mirror an owner of everything that was copied for
// it, so that the worker's garbage collector removes it with the last mirror that
// owns it. What went away since it was copied, with a mirror that shared it, is
// copied again. Objects without our marks are left alone.
func Adopt(ctx context.Context, origin, worker *apiserver.Side, mirror *unstructured.Unstructured, d []Object) error {
	failures := make([]error, len(d))
	for i, one := range d {
		failures[i] = retry.OnError(retry.DefaultBackoff, isOvertaken, func() error {
			return adoptOne(ctx, origin, worker, mirror, one)
		})
	}
	return errors.Join(failures...)
}

// Drop deletes what was copied for a mirror that was not created
// after all, unless another mirror owns it by now.
func Drop(ctx context.Context, worker *apiserver.Side, planned *unstructured.Unstructured, d []Object) error {
	failures := make([]error, len(d))
	for i, one := range d {
		failures[i] = retry.OnError(retry.DefaultBackoff, isOvertaken, func() error {
			return dropOne(ctx, worker, planned, one)
		})
	}
	return errors.Join(failures...)
}

// isOvertaken says whether somebody else was faster, so that it is to be looked at
// again.
func isOvertaken(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// copyOne says whether it created the copy.
func copyOne(ctx context.Context, origin, worker *apiserver.Side, planned *unstructured.Unstructured, d Object, owners []metav1.OwnerReference) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestTimeout)
	defer cancel()
	original, err := d.on(origin, d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil {
		return false, origin.Failed(fleet.InContext(origin.Context, "read "+d.String(), err))
	}
	copied, err := copyOf(original, planned)
	if err != nil {
		return false, fmt.Errorf("context %s: %s %w", origin.Context, d, err)
	}
	copied.SetOwnerReferences(owners)
	there := d.on(worker, planned.GetNamespace())
	_, err = there.Create(ctx, copied, metav1.CreateOptions{FieldManager: apiserver.FieldManager})
	if err == nil {
		return true, nil
	}
	doing := fmt.Sprintf("copy %s to namespace %s", d, planned.GetNamespace())
	if !apierrors.IsAlreadyExists(err) {
		return false, worker.Failed(fleet.InContext(worker.Context, doing, err))
	}
	present, err := there.Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil {
		return false, worker.Failed(fleet.InContext(worker.Context, doing, err))
	}
	switch {
	case !isCopy(present):
		return false, fmt.Errorf("context %s: could not %s: one is there that is none of ours", worker.Context, doing)
	case present.GetDeletionTimestamp() != nil:
		return false, worker.Failed(fleet.InContext(worker.Context, doing, apierrors.NewConflict(Resource(d.Kind).GroupResource(), d.Name,
			errors.New("an older copy is being deleted"))))
	case !reflect.DeepEqual(ContentOf(present), ContentOf(copied)):
		return false, fmt.Errorf("context %s: could not %s: a copy is there that says something else; %s", worker.Context, doing,
			HowToRemove(worker, d.Kind, planned.GetNamespace(), d.Name))
	}
	return false, nil
}

// copyOf makes the copy of an object for the mirror that is planned. Its labels and
// annotations stay behind: pods do not see them, and tools that act on them do not
// know the worker.
func copyOf(original, planned *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	uid := planned.GetLabels()[delegation.OriginUIDLabel]
	if uid == "" {
		return nil, errors.New("cannot be copied for a mirror whose origin has no uid yet")
	}
	if secretType, _, _ := unstructured.NestedString(original.Object, "type"); secretType == string(corev1.SecretTypeServiceAccountToken) {
		return nil, errors.New("is the token of a service account, which no other cluster takes")
	}
	copied := &unstructured.Unstructured{Object: maps.Clone(original.Object)}
	copied.Object["metadata"] = map[string]any{"name": original.GetName(), "namespace": planned.GetNamespace()}
	copied.SetLabels(map[string]string{delegation.OriginUIDLabel: uid})
	if origin := planned.GetAnnotations()[delegation.OriginAnnotation]; origin != "" {
		copied.SetAnnotations(map[string]string{delegation.OriginAnnotation: origin})
	}
	return copied, nil
}

// isCopy says whether an object is one that we copied, for whatever origin.
func isCopy(o *unstructured.Unstructured) bool { return o.GetLabels()[delegation.OriginUIDLabel] != "" }

// adoptOne adds the mirror to the owners of one object.
func adoptOne(ctx context.Context, origin, worker *apiserver.Side, mirror *unstructured.Unstructured, d Object) error {
	doing := fmt.Sprintf("make %s an owner of %s %s", apiserver.RefOf(worker, mirror).WithKind(), d.Kind, d.Name)
	owner := metav1.OwnerReference{APIVersion: mirror.GetAPIVersion(), Kind: mirror.GetKind(), Name: mirror.GetName(), UID: mirror.GetUID()}
	bounded, cancel := context.WithTimeout(ctx, apiserver.RequestTimeout)
	defer cancel()
	there, err := d.on(worker, mirror.GetNamespace()).Get(bounded, d.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		isNew, err := copyOne(ctx, origin, worker, mirror, d, []metav1.OwnerReference{owner})
		if err == nil && !isNew {
			return apierrors.NewConflict(Resource(d.Kind).GroupResource(), d.Name, errors.New("another mirror has just copied it"))
		}
		return err
	case err != nil:
		return worker.Failed(fleet.InContext(worker.Context, doing, err))
	case !isCopy(there):
		return nil
	}
	for _, o := range there.GetOwnerReferences() {
		if o.UID == owner.UID {
			return nil
		}
	}
	// Owners are merged by their uid (ObjectMeta, patchMergeKey), so that any number
	// of mirrors can add themselves at once. A resourceVersion would have all but one
	// of them refused; the uid says which object is meant.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": there.GetUID(), "ownerReferences": []metav1.OwnerReference{owner},
	}})
	if err != nil {
		return err
	}
	_, err = d.on(worker, mirror.GetNamespace()).Patch(bounded, d.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: apiserver.FieldManager})
	if err != nil {
		return worker.Failed(fleet.InContext(worker.Context, doing, err))
	}
	return nil
}

// dropOne deletes one object that was copied for the planned mirror.
func dropOne(ctx context.Context, worker *apiserver.Side, planned *unstructured.Unstructured, d Object) error {
	doing := fmt.Sprintf("delete %s %s/%s", d.Kind, planned.GetNamespace(), d.Name)
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestTimeout)
	defer cancel()
	there, err := d.on(worker, planned.GetNamespace()).Get(ctx, d.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return worker.Failed(fleet.InContext(worker.Context, doing, err))
	}
	uid, version := there.GetUID(), there.GetResourceVersion()
	marked := there.GetLabels()[delegation.OriginUIDLabel]
	if marked == "" || marked != planned.GetLabels()[delegation.OriginUIDLabel] || len(there.GetOwnerReferences()) > 0 {
		return nil
	}
	err = d.on(worker, planned.GetNamespace()).Delete(ctx, d.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return worker.Failed(fleet.InContext(worker.Context, doing, err))
	}
	return nil
}
