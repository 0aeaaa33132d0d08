package read

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// workloadIn returns a Workload that waits in a namespace.
func workloadIn(t *testing.T, namespace, name string) *kueue.Workload {
	t.Helper()
	var w kueue.Workload
	assert.NilError(t, apijson.Unmarshal([]byte(`{"metadata":{"namespace":"`+namespace+`","name":"`+name+`","uid":"`+name+`"},"spec":{"queueName":"q"}}`), &w))
	return &w
}

// TestNeighboursOfTwoNamespaces: Kueue ignores a Workload in a namespace whose Workloads were read with
// the free quota, and one in a namespace that has to be read. Only the race detector sees that both add to
// one list.
func TestNeighboursOfTwoNamespaces(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"WorkloadList","metadata":{},"items":[{"metadata":{"namespace":"a","name":"a1","uid":"a1"}},{"metadata":{"namespace":"a","name":"a2","uid":"a2"}}]}`)
	}))
	t.Cleanup(server.Close)
	f := fleet.Open(t.Context(), []fleet.Context{{Name: "hub", Config: &rest.Config{Host: server.URL}}}, fleet.Options{})
	a1, b1, b2 := workloadIn(t, "a", "a1"), workloadIn(t, "b", "b1"), workloadIn(t, "b", "b2")
	facts := &inspect.Facts{Kueue: &inspect.KueueFacts{
		Workloads: []*kueue.Workload{a1, b1},
		Capacity:  &inspect.Capacity{Requested: sets.New("b"), Workloads: []*kueue.Workload{b1, b2}},
	}}
	r := &factReader{cluster: f.Clusters()[0], facts: facts, version: "v1beta2"}
	r.readNeighbours(t.Context())
	r.wg.Wait()
	names := sets.New[string]()
	for _, w := range facts.Kueue.Workloads {
		names.Insert(w.Name)
	}
	assert.DeepEqual(t, sets.List(names), []string{"a1", "a2", "b1", "b2"})
	assert.Equal(t, len(facts.Kueue.Workloads), 4)
}

// TestLocalsOfDeniedNamespace: the Workloads may not be listed, not even those of one namespace. Only the
// race detector sees that this gap and that of the ClusterQueues are in one map.
func TestLocalsOfDeniedNamespace(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/team" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"ClusterQueue","metadata":{"name":"team"}}`)
	}))
	t.Cleanup(server.Close)
	f := fleet.Open(t.Context(), []fleet.Context{{Name: "hub", Config: &rest.Config{Host: server.URL}}}, fleet.Options{})
	denied := errors.New("may not be listed in all namespaces")
	queue := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "q"}}
	queue.Spec.ClusterQueue = "team"
	for _, areDenied := range []bool{false, true} {
		capacity := newCapacity()
		capacity.LocalQueues = []*kueue.LocalQueue{queue}
		capacity.AddGap(inspect.PartClaims, denied)
		if areDenied {
			capacity.AddGap(inspect.PartClusterQueues, denied)
		}
		r := &factReader{cluster: f.Clusters()[0], facts: &inspect.Facts{Kueue: &inspect.KueueFacts{Capacity: capacity}}, version: "v1beta2"}
		r.readLocals(t.Context(), "a")
		r.wg.Wait()
		assert.Assert(t, apierrors.IsForbidden(capacity.Gaps[inspect.PartClaims]), "%v", capacity.Gaps)
		assert.Equal(t, len(r.facts.Kueue.ClusterQueues) == 1, areDenied)
	}
}
