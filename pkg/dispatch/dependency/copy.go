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

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Provide ensures that the dependencies of a mirror's Pods exist in its namespace. It copies
// missing ones, with the marks of the mirror. The mirror owns each copy from the beginning, so
// the worker's garbage collector deletes a copy with the last mirror that owns it. An existing
// copy with the same content is shared, whichever origin it was made for. An existing object that
// is not a copy is an error, and so is a service account token, which other clusters reject.
// Provide returns the copies that it created, even with an error.
func Provide(ctx context.Context, origin, worker *fleet.Cluster, mirror *unstructured.Unstructured, d []Object) ([]Object, error) {
	var created []Object
	var failures []error
	for _, one := range d {
		var isNew bool
		err := retry.OnError(retry.DefaultBackoff, isConflict, func() (err error) {
			isNew, err = provideOne(ctx, origin, worker, mirror, one)
			return err
		})
		if isNew {
			created = append(created, one)
		}
		failures = append(failures, err)
	}
	return created, errors.Join(failures...)
}

// isConflict reports whether another client was faster, so that the object has to be read again.
func isConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// provideOne provides one dependency, and reports whether it created a copy.
func provideOne(ctx context.Context, origin, worker *fleet.Cluster, mirror *unstructured.Unstructured, d Object) (isNew bool, err error) {
	resource := Resource(d.Kind)
	original, err := origin.Get(ctx, resource, d.Namespace, d.Name)
	if err == nil && original == nil {
		err = apierrors.NewNotFound(resource.GroupResource(), d.Name)
	}
	if err != nil {
		return false, kubecontext.InContext(origin.Context, "read "+d.String(), err)
	}
	copied, err := copyOf(original, mirror)
	if err != nil {
		return false, fmt.Errorf("context %q: %s %w", origin.Context, d, err)
	}
	copied.SetOwnerReferences([]metav1.OwnerReference{ownerOf(mirror)})
	_, err = worker.Create(ctx, resource, copied, "")
	if err == nil {
		return true, nil
	}
	doing := fmt.Sprintf("copy %s to namespace %s", d, mirror.GetNamespace())
	if !apierrors.IsAlreadyExists(err) {
		return false, kubecontext.InContext(worker.Context, doing, err)
	}
	present, err := worker.Get(ctx, resource, mirror.GetNamespace(), d.Name)
	if err == nil && present == nil {
		err = apierrors.NewNotFound(resource.GroupResource(), d.Name)
	}
	if err != nil {
		return false, kubecontext.InContext(worker.Context, doing, err)
	}
	switch {
	case !isCopy(present):
		return false, fmt.Errorf("context %q: cannot %s: one exists that dispatch did not create", worker.Context, doing)
	case present.GetDeletionTimestamp() != nil:
		return false, kubecontext.InContext(worker.Context, doing, apierrors.NewConflict(resource.GroupResource(), d.Name,
			errors.New("an older copy is being deleted")))
	case !reflect.DeepEqual(ContentOf(present), ContentOf(copied)):
		return false, command.Errorf("context %q: cannot %s: a different copy exists; %s", worker.Context, doing,
			HowToRemove(worker, d.Kind, mirror.GetNamespace(), d.Name))
	}
	return false, adopt(ctx, worker, mirror, present)
}

// copyOf returns the copy of an object for a planned mirror. It has none of the object's labels
// and annotations: Pods do not see them, and tools that react to them do not know the worker.
func copyOf(original, planned *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	uid := planned.GetLabels()[delegation.OriginUIDLabel]
	if uid == "" {
		return nil, errors.New("cannot be copied: the origin has no UID yet")
	}
	if secretType, _, _ := unstructured.NestedString(original.Object, "type"); secretType == string(corev1.SecretTypeServiceAccountToken) {
		return nil, errors.New("is the token of a service account, which other clusters reject")
	}
	copied := &unstructured.Unstructured{Object: maps.Clone(original.Object)}
	copied.Object["metadata"] = map[string]any{"name": original.GetName(), "namespace": planned.GetNamespace()}
	copied.SetLabels(map[string]string{delegation.OriginUIDLabel: uid})
	if origin := planned.GetAnnotations()[delegation.OriginAnnotation]; origin != "" {
		copied.SetAnnotations(map[string]string{delegation.OriginAnnotation: origin})
	}
	return copied, nil
}

// isCopy reports whether this plugin created an object as a copy, for any origin.
func isCopy(o *unstructured.Unstructured) bool { return o.GetLabels()[delegation.OriginUIDLabel] != "" }

func ownerOf(mirror *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: mirror.GetAPIVersion(), Kind: mirror.GetKind(), Name: mirror.GetName(), UID: mirror.GetUID()}
}

// adopt adds the mirror to the owners of a copy.
func adopt(ctx context.Context, worker *fleet.Cluster, mirror, present *unstructured.Unstructured) error {
	owner := ownerOf(mirror)
	for _, o := range present.GetOwnerReferences() {
		if o.UID == owner.UID {
			return nil
		}
	}
	// Owners are merged by UID (ObjectMeta, patchMergeKey), so any number of mirrors can add
	// themselves at once. The UID in the patch identifies the object. A resourceVersion would
	// make all but one of these patches fail.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": present.GetUID(), "ownerReferences": []metav1.OwnerReference{owner},
	}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fleet.RequestTimeout)
	defer cancel()
	_, err = worker.Objects(Resource(present.GetKind()), mirror.GetNamespace()).
		Patch(ctx, present.GetName(), types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: fleet.FieldManager})
	if err != nil {
		doing := fmt.Sprintf("make %s an owner of %s %s", object.KindAndName(mirror), present.GetKind(), present.GetName())
		return kubecontext.InContext(worker.Context, doing, worker.Failed(err))
	}
	return nil
}
