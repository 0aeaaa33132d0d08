package read

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"
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
