package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
)

// serveVisibility has an API server serve the API for the order of Kueue's queues as an aggregated
// API, as Kueue does. It gives these answers, by their paths.
func serveVisibility(t *testing.T, cluster string, answers map[string]string) {
	t.Helper()
	const group = "/apis/visibility.kueue.x-k8s.io/v1beta2"
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[strings.TrimPrefix(r.URL.Path, group)]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}`
		}
		_, _ = fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	assert.NilError(t, err)
	objects := fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: visibility, namespace: default}
spec: {type: ExternalName, externalName: localhost, ports: [{port: %[1]s}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta2.visibility.kueue.x-k8s.io}
spec:
  group: visibility.kueue.x-k8s.io
  version: v1beta2
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: visibility, namespace: default, port: %[1]s}
`, port)
	kubectl := func(ctx context.Context, words ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, filepath.Join(set.Programs, "kubectl"), append([]string{"--kubeconfig", set.Kubeconfig, "--context", cluster}, words...)...)
		cmd.Stdin = strings.NewReader(objects)
		out, err := cmd.CombinedOutput()
		assert.NilError(t, err, "%s", out)
	}
	kubectl(t.Context(), "apply", "-f", "-")
	t.Cleanup(func() { kubectl(context.Background(), "delete", "--timeout=5m", "-f", "-") })
	kubectl(t.Context(), "wait", "--for=condition=Available", "--timeout=5m", "apiservice/v1beta2.visibility.kueue.x-k8s.io")
}

// TestTraceShowsKueuesOwnOrder checks that if Kueue's visibility API is served and the user may
// read it, trace shows its position in the queue. Otherwise the position is computed.
func TestTraceShowsKueuesOwnOrder(t *testing.T) {
	serving(t, alone, worker2)
	const ns = "ordered"
	m, err := kueue.Start(t.Context(), set, kueue.Config{Program: kueueProgram, Manager: worker2})
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, m.Remove(context.Background())) })
	addGPUs(t, m, ns, map[string]string{worker2: "1"})
	createJobs(t, worker2, fixture.New(ns, "train", fixture.Labels(delegation.QueueNameLabel, gpuQueue), fixture.Limits("nvidia.com/gpu", "9")))
	c := client(t, worker2)
	job, err := c.BatchV1().Jobs(ns).Get(t.Context(), "train", metav1.GetOptions{})
	assert.NilError(t, err)
	name := delegation.Job().WorkloadNames("train", string(job.UID), "")[0]
	for _, condition := range []string{"create", "condition=QuotaReserved=false"} {
		assert.NilError(t, m.Await(t.Context(), worker2, "-n", ns, "workloads.kueue.x-k8s.io/"+name, "--for="+condition))
	}

	position := func() inspect.QueuePosition {
		t.Helper()
		tr := trace(t, "train", "-n", ns, "--contexts", worker2)
		assert.Equal(t, len(tr.Placements), 1)
		assert.Assert(t, tr.Placements[0].Position != nil, "%+v", tr.Placements[0])
		return *tr.Placements[0].Position
	}
	computed := inspect.QueuePosition{ClusterQueue: ns, Place: 1, Of: 1, Ahead: []string{}, Source: inspect.Computed}
	assert.DeepEqual(t, position(), computed)

	pending := func(items ...string) string {
		return `{"kind":"PendingWorkloadsSummary","apiVersion":"visibility.kueue.x-k8s.io/v1beta2","metadata":{},"items":[` + strings.Join(items, ",") + `]}`
	}
	ours := fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q},"priority":0,"localQueueName":"gpu","positionInClusterQueue":2,"positionInLocalQueue":0}`, name, ns)
	first := `{"metadata":{"name":"job-sweep-1","namespace":"other","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"sweep","uid":"s","controller":true}]},"positionInClusterQueue":0}`
	serveVisibility(t, worker2, map[string]string{
		"": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"visibility.kueue.x-k8s.io/v1beta2","resources":[]}`,
		"/namespaces/" + ns + "/localqueues/gpu/pendingworkloads": pending(ours),
		"/clusterqueues/" + ns + "/pendingworkloads":              pending(first, `{"metadata":{"name":"bare","namespace":"other"},"positionInClusterQueue":1}`, ours),
	})
	byKueue := inspect.QueuePosition{ClusterQueue: ns, Place: 3, Of: 3, Ahead: []string{"other/sweep", "other/bare"}, Source: inspect.ByKueue}
	assert.DeepEqual(t, position(), byKueue)
	out, _ := succeeds(t, "trace", "train", "-n", ns, "--contexts", worker2, "-o", "wide")
	assert.Assert(t, contains(out, "worker-2: place 3 of 3 in ClusterQueue "+ns+" (by Kueue's visibility API), behind other/sweep, other/bare"), out)

	// With Kueue's own roles, users who submit may read only the order of LocalQueues. Others see
	// what can be computed, which is nothing without the Workloads of all namespaces.
	as := func(user string) *inspect.QueuePosition {
		t.Helper()
		for _, group := range []string{"", "batch", "kueue.x-k8s.io"} {
			allowAs(t, c, ns, user+"-"+group, user, group, "*")
		}
		out, _, code := run(t, "trace", "train", "-n", ns, "--contexts", worker2, "--as", user, "-o", "json")
		assert.Assert(t, code == 0 || code == 4, out)
		var tr inspect.Trace
		assert.NilError(t, json.Unmarshal([]byte(out), &tr))
		return tr.Placements[0].Position
	}
	allowAs(t, c, ns, "submitter", "submitter", "visibility.kueue.x-k8s.io", "localqueues/pendingworkloads")
	assert.DeepEqual(t, as("submitter"), &inspect.QueuePosition{ClusterQueue: ns, Place: 3, Ahead: []string{}, Source: inspect.ByKueue})
	assert.Assert(t, as("visitor") == nil)
}
