package dependency_test

import (
	"errors"
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// TestRemoveLeft checks that copies left by an older version are deleted. Objects with owners,
// copies of another origin, and other objects remain.
func TestRemoveLeft(t *testing.T) {
	copied := func(kind, name, origin string, owners ...string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
		o.SetNamespace("ml")
		o.SetName(name)
		o.SetUID(types.UID(name))
		if origin != "" {
			o.SetLabels(map[string]string{delegation.OriginUIDLabel: origin})
		}
		var references []metav1.OwnerReference
		for _, owner := range owners {
			references = append(references, metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: owner, UID: types.UID(owner)})
		}
		o.SetOwnerReferences(references)
		return o
	}
	server := dispatchtest.NewServer(t)
	for _, o := range []*unstructured.Unstructured{
		copied("ConfigMap", "left", "u"), copied("ConfigMap", "owned", "u", "train"), copied("ConfigMap", "of-another", "v"), copied("ConfigMap", "own", ""),
		copied("Secret", "key", "u"),
	} {
		server.Create(t, dependency.Resource(o.GetKind()), o)
	}
	worker := server.Cluster(t, "worker")
	removed, err := dependency.RemoveUnowned(t.Context(), worker, "ml", "u")
	assert.NilError(t, err)
	assert.DeepEqual(t, removed, []dependency.Object{{Kind: "ConfigMap", Namespace: "ml", Name: "left"}, {Kind: "Secret", Namespace: "ml", Name: "key"}})
	for _, name := range []string{"owned", "of-another", "own"} {
		assert.Assert(t, server.Get(dependency.Resource("ConfigMap"), "ml", name) != nil, name)
	}

	// A missing right to list is not reported, a failing deletion is.
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no user may"))
	refused := http.MethodGet
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if r.Method == refused {
			return forbidden
		}
		return nil
	}
	_, err = dependency.RemoveUnowned(t.Context(), worker, "ml", "u")
	assert.NilError(t, err)
	refused = http.MethodDelete
	_, err = dependency.RemoveUnowned(t.Context(), worker, "ml", "v")
	assert.ErrorContains(t, err, "remove ConfigMaps that were copied for the mirror")
}
