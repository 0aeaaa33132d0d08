package dependency_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/apiserver"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
)

// TestRemoveLeft removes what an older version has left, and nothing that anybody owns,
// that is another origin's, or that is none of ours.
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
	kinds := map[schema.GroupVersionResource]string{dependency.Resource("ConfigMap"): "ConfigMapList", dependency.Resource("Secret"): "SecretList"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds,
		copied("ConfigMap", "left", "u"), copied("ConfigMap", "owned", "u", "train"), copied("ConfigMap", "of-another", "v"), copied("ConfigMap", "own", ""),
		copied("Secret", "key", "u"))
	side := &apiserver.Side{Context: "worker", Dynamic: client}
	removed, err := dependency.RemoveLeft(t.Context(), side, "ml", "u")
	assert.NilError(t, err)
	assert.DeepEqual(t, removed, []dependency.Object{{Kind: "ConfigMap", Namespace: "ml", Name: "left"}, {Kind: "Secret", Namespace: "ml", Name: "key"}})
	rest, err := client.Resource(dependency.Resource("ConfigMap")).Namespace("ml").List(t.Context(), metav1.ListOptions{})
	assert.NilError(t, err)
	assert.Equal(t, len(rest.Items), 3)

	// Who may not look is told nothing of it; what cannot be removed is told.
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("nobody may"))
	client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
	_, err = dependency.RemoveLeft(t.Context(), side, "ml", "u")
	assert.NilError(t, err)
	client.PrependReactor("delete", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
	_, err = dependency.RemoveLeft(t.Context(), side, "ml", "v")
	assert.ErrorContains(t, err, "remove ConfigMaps that were copied for the mirror")
}
