package read

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// paths is an API server that answers some paths, and NotFound for the rest.
type paths map[string]string

func (p paths) RoundTrip(r *http.Request) (*http.Response, error) {
	code, body := http.StatusOK, p[r.URL.Path]
	if body == "" {
		steps := strings.Split(r.URL.Path, "/")
		code, body = http.StatusNotFound, fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","reason":"NotFound","code":404,"details":{"group":%q,"kind":%q,"name":%q}}`,
			kueue.Group, steps[len(steps)-2], steps[len(steps)-1])
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader(body))}, nil
}

const mlWorkloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/ml/workloads"

func workloadJSON(name, more string) string {
	return fmt.Sprintf(`{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"namespace":"ml","name":%q%s`, name, more)
}

// fleetWith opens the context m of a manager with these Workloads, and the workers a and b. The
// worker b has a copy of the Workload "other".
func fleetWith(t *testing.T, workloads ...string) *fleet.Fleet {
	t.Helper()
	uid := func(uid string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","uid":%q}}`, uid)
	}
	const identity = "/api/v1/namespaces/kube-system"
	var contexts []fleet.Context
	for name, served := range map[string]paths{
		"m": {identity: uid("m"), mlWorkloads: `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + strings.Join(workloads, ",") + `]}`},
		"a": {identity: uid("a")},
		"b": {identity: uid("b"), mlWorkloads + "/other": workloadJSON("other", `,"labels":{"kueue.x-k8s.io/multikueue-origin":"multikueue"}}}`)},
	} {
		contexts = append(contexts, fleet.Context{Name: name, Namespace: "ml", Config: &rest.Config{Host: "https://" + name, Transport: served}})
	}
	return fleet.Open(t.Context(), contexts, fleet.Options{})
}

// TestLocate checks that Workloads of other Jobs show which context reaches a worker whose address
// may not be read.
func TestLocate(t *testing.T) {
	f := fleetWith(t,
		workloadJSON("old", `},"status":{"clusterName":"tokyo","conditions":[{"type":"Finished","status":"True"}]}}`),
		workloadJSON("other", `},"status":{"clusterName":"paris"}}`))
	waiting := &kueue.Workload{}
	waiting.Namespace, waiting.Name, waiting.Status.Nominated = "ml", "train", []string{"paris", "tokyo"}
	copied := &kueue.Workload{}
	copied.Namespace, copied.Name, copied.Labels = "ml", "train", map[string]string{delegation.MultiKueueOriginLabel: "multikueue"}
	var all []*inspect.Facts
	for name, w := range map[string]*kueue.Workload{"m": waiting, "a": copied, "b": copied} {
		k := &inspect.KueueFacts{Version: "v1beta2", Workloads: []*kueue.Workload{w}}
		all = append(all, &inspect.Facts{Context: name, ClusterUID: name, Kueue: k, Gaps: map[inspect.Part]error{}})
	}
	v := inspect.NewInventory(time.Time{}, all, nil)
	assert.Equal(t, v.ClusterText(v.Facts("m"), "paris"), "paris or tokyo")
	locate(t.Context(), f, v, []string{"ml"})
	assert.Equal(t, v.ContextOf(v.Facts("m"), "paris"), "b")
	assert.Equal(t, v.ContextOf(v.Facts("m"), "tokyo"), "a", "the other one")
	assert.Equal(t, v.ClusterText(v.Facts("m"), "paris"), "paris")
}

// TestMirrorWithoutContext checks that the mirror of a dispatched Job is unknown if no context
// reaches its cluster.
func TestMirrorWithoutContext(t *testing.T) {
	f := fleetWith(t)
	for cluster, want := range map[string]bool{"away": true, "a": false, "": false} {
		j := &inspect.Job{ManagedBy: delegation.Dispatch, Status: delegation.Complete, Marks: &delegation.Marks{}}
		j.Context = "m"
		j.Marks.Mirror = delegation.Place{ClusterUID: cluster, Namespace: "ml", Name: "train", UID: "the-mirror"}
		Mirrors(t.Context(), f, []*inspect.Job{j}, nil, nil, func(string) bool { return true }, func(string, string) bool { return true })
		assert.Equal(t, j.Mirrors == nil, want, cluster)
	}
}
