package dispatch

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// emptyWorker returns a worker without Jobs. The UIDs of its namespaces are its name.
func emptyWorker(t *testing.T, name string) *worker {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if namespace, ok := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/"); ok {
			meta := metav1.ObjectMeta{Name: namespace, UID: types.UID(name)}
			assert.Check(t, json.NewEncoder(w).Encode(corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: meta}))
			return
		}
		w.WriteHeader(http.StatusNotFound)
		missing := apierrors.NewNotFound(delegation.Job().Resource.GroupResource(), path.Base(r.URL.Path)).ErrStatus
		missing.Kind, missing.APIVersion = "Status", "v1"
		assert.Check(t, json.NewEncoder(w).Encode(missing))
	}))
	t.Cleanup(server.Close)
	clusters := fleet.Open(t.Context(), []fleet.Context{{Name: name, Config: &rest.Config{Host: server.URL}}}, fleet.Options{}).Clusters()
	assert.Equal(t, len(clusters), 1)
	return &worker{context: name, cluster: clusters[0], routes: clusters}
}

// TestGoneMirrorCoversNoTarget checks that the target of the Lease is searched, too, if the origin names
// a mirror that is gone: another dispatcher may have created a mirror there.
func TestGoneMirrorCoversNoTarget(t *testing.T) {
	origin := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job"}}
	origin.SetNamespace("ml")
	origin.SetName("train")
	origin.SetUID("origin")
	placeOn := func(cluster, uid string) delegation.Place {
		return delegation.Place{ClusterUID: cluster, Namespace: "ml", Name: "train", UID: uid}
	}
	w1, w2 := emptyWorker(t, "w1"), emptyWorker(t, "w2")
	for name, tt := range map[string]struct {
		workers []*worker
		target  delegation.Place
		// err is the error if the target cannot be searched.
		err string
	}{
		"on a worker":          {[]*worker{w1, w2}, placeOn("w2", ""), ""},
		"on no known cluster":  {[]*worker{w1}, placeOn("w2", ""), "job ml/train is already dispatched to ml/train"},
		"with a UID":           {[]*worker{w1}, placeOn("w2", "u"), "job ml/train is already dispatched to ml/train (UID u)"},
		"where the mirror was": {[]*worker{w1}, placeOn("w1", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := &dispatchOptions{flags: &dispatchFlags{newMirror: true}, Environment: util.Environment{IOStreams: genericiooptions.NewTestIOStreamsDiscard()}}
			s := &mirrorSearch{workers: tt.workers, otherContexts: func() *otherContexts { return &otherContexts{} }}
			r := request{kind: delegation.Job()}
			r.Origin = origin
			got := o.bindingOf(t.Context(), s, r, dispatch.Record{Mirror: placeOn("w1", "gone"), Target: tt.target})
			if tt.err != "" {
				assert.ErrorContains(t, got.err, tt.err)
				return
			}
			assert.NilError(t, got.err)
			assert.Equal(t, got.worker, w1)
			assert.DeepEqual(t, got.cleared, []delegation.Place{tt.target})
		})
	}
}
