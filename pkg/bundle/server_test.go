package bundle_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

const objects = kubeSystem + `
- apiVersion: batch/v1
  kind: Job
  metadata: {name: b, namespace: z, labels: {tier: gold}, resourceVersion: "7"}
  status: {succeeded: 3}
- apiVersion: batch/v1
  kind: Job
  metadata: {name: c, namespace: x, labels: {tier: lead}, resourceVersion: "12"}
- apiVersion: batch/v1
  kind: Job
  metadata: {name: a, namespace: x, resourceVersion: "9"}
- apiVersion: v1
  kind: Event
  metadata: {name: e1, namespace: x}
  involvedObject: {kind: Job, name: a, uid: u1}
  count: 4
- apiVersion: v1
  kind: Event
  metadata: {name: e2, namespace: x}
  involvedObject: {kind: Pod, name: p, uid: u2}
- apiVersion: kueue.x-k8s.io/v1beta1
  kind: ClusterQueue
  metadata: {name: q}
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: ClusterQueue
  metadata: {name: q}
- apiVersion: example.com/v1
  kind: Policy
  metadata: {name: p}
`

// ask sends a request to the only context of a snapshot, and returns the decoded answer.
func ask(t *testing.T, b *bundle.Bundle, method, path string, accept ...string) (int, any) {
	t.Helper()
	c := b.Contexts()[0].Config
	request, err := http.NewRequestWithContext(t.Context(), method, c.Host+path, strings.NewReader("{}"))
	assert.NilError(t, err)
	request.Header["Accept"] = accept
	response, err := c.Transport.RoundTrip(request)
	assert.NilError(t, err)
	defer func() { _ = response.Body.Close() }()
	assert.Equal(t, response.Header.Get("Content-Type"), "application/json")
	body, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	var value any
	assert.NilError(t, json.Unmarshal(body, &value), "%s", body)
	return response.StatusCode, value
}

// names returns the names in a list, with namespaces.
func names(value any) string {
	var names []string
	items, _ := value.(map[string]any)["items"].([]any)
	for _, item := range items {
		m := item.(map[string]any)["metadata"].(map[string]any)
		name := fmt.Sprint(m["name"])
		if m["namespace"] != nil {
			name = fmt.Sprint(m["namespace"], "/", name)
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestLists(t *testing.T) {
	b := one(t, "", objects)
	for path, want := range map[string]string{
		"/apis/batch/v1/jobs":                                                         "x/a x/c z/b",
		"/apis/batch/v1/namespaces/x/jobs":                                            "x/a x/c",
		"/apis/batch/v1/namespaces/none/jobs":                                         "",
		"/apis/batch/v1/jobs?labelSelector=tier":                                      "x/c z/b",
		"/apis/batch/v1/jobs?labelSelector=tier+in+(gold,silver)":                     "z/b",
		"/apis/batch/v1/jobs?labelSelector=!tier":                                     "x/a",
		"/apis/batch/v1/jobs?fieldSelector=metadata.name%3Dc":                         "x/c",
		"/apis/batch/v1/jobs?fieldSelector=metadata.namespace!%3Dx":                   "z/b",
		"/apis/batch/v1/jobs?fieldSelector=status.successful%3D0":                     "x/a x/c",
		"/apis/batch/v1/jobs?fieldSelector=status.successful%3D3,metadata.name%3Db":   "z/b",
		"/apis/batch/v1/jobs?labelSelector=tier&fieldSelector=metadata.namespace%3Dx": "x/c",
		"/api/v1/events?fieldSelector=involvedObject.uid%3Du1":                        "x/e1",
		"/api/v1/namespaces/x/events?fieldSelector=involvedObject.kind%3DPod":         "x/e2",
		"/api/v1/events?fieldSelector=involvedObject.fieldPath%3D":                    "x/e1 x/e2",
		"/api/v1/pods":       "",
		"/api/v1/namespaces": "kube-system",
		"/apis/kueue.x-k8s.io/v1beta2/clusterqueues":     "q",
		"/apis/kueue.x-k8s.io/v1beta2/workloads":         "",
		"/apis/example.com/v1/policies":                  "p",
		"/apis/batch/v1/jobs?limit=2":                    "x/a x/c",
		"/apis/batch/v1/jobs?limit=2&continue=2":         "z/b",
		"/apis/batch/v1/jobs?limit=3":                    "x/a x/c z/b",
		"/apis/batch/v1/jobs?watch=false&limit=0":        "x/a x/c z/b",
		"/apis/batch/v1/jobs?resourceVersion=0&limit=10": "x/a x/c z/b",
	} {
		code, value := ask(t, b, http.MethodGet, path)
		assert.Equal(t, code, http.StatusOK, path)
		assert.Equal(t, names(value), want, path)
	}
	_, value := ask(t, b, http.MethodGet, "/apis/batch/v1/jobs?limit=2")
	assert.DeepEqual(t, value.(map[string]any)["metadata"], map[string]any{"resourceVersion": "12", "continue": "2"})
	assert.Equal(t, value.(map[string]any)["kind"], "JobList")
}

func TestObjects(t *testing.T) {
	b := one(t, "", objects)
	_, value := ask(t, b, http.MethodGet, "/apis/batch/v1/namespaces/z/jobs/b", "application/json")
	assert.DeepEqual(t, value, map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "status": map[string]any{"succeeded": 3.0},
		"metadata": map[string]any{"name": "b", "namespace": "z", "labels": map[string]any{"tier": "gold"}, "resourceVersion": "7"},
	})
	const partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	_, value = ask(t, b, http.MethodGet, "/apis/batch/v1/namespaces/x/jobs/a", partial)
	assert.DeepEqual(t, value, map[string]any{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
		"metadata": map[string]any{"name": "a", "namespace": "x", "resourceVersion": "9"},
	})
	_, value = ask(t, b, http.MethodGet, "/apis/batch/v1/namespaces/x/jobs", strings.ReplaceAll(partial, "Metadata;", "MetadataList;"))
	assert.Equal(t, value.(map[string]any)["kind"], "PartialObjectMetadataList")
	assert.Equal(t, names(value), "x/a x/c")
}

// TestRefusals checks that errors are those of an API server.
func TestRefusals(t *testing.T) {
	b := one(t, `
  unread:
  - {resource: workloads.kueue.x-k8s.io, status: {code: 403, reason: Forbidden, message: you may not}}
  - {resource: secrets, status: {message: no code}}
  - {resource: localqueues.kueue.x-k8s.io, status: {code: 404, reason: NotFound, message: what}}
  - {resource: "*.hidden.example.com", status: {code: 403, reason: Forbidden, message: not even that}}
`, objects)
	for request, want := range map[string]string{
		"POST /apis/batch/v1/namespaces/x/jobs":                                   "405 MethodNotAllowed a snapshot is read-only",
		"DELETE /apis/batch/v1/namespaces/x/jobs/a":                               "405 MethodNotAllowed a snapshot is read-only",
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":             "405 MethodNotAllowed a snapshot is read-only",
		"GET /apis/batch/v1/jobs?watch=true":                                      "405 MethodNotAllowed a snapshot cannot be watched: it records one moment",
		"GET /apis/batch/v1/namespaces/x/jobs/none":                               `404 NotFound jobs.batch "none" not found`,
		"GET /apis/batch/v1/namespaces/z/jobs/a":                                  `404 NotFound jobs.batch "a" not found`,
		"GET /apis/batch/v1/jobs/a":                                               "404 NotFound the server could not find the requested resource (get jobs.batch a)",
		"GET /apis/batch/v1/namespaces/x/jobs/a/status":                           "404 NotFound the server could not find the requested resource (get jobs.batch a)",
		"GET /apis/batch/v2/jobs":                                                 "404 NotFound the server could not find the requested resource (get jobs.batch)",
		"GET /apis/none.example.com/v1/things":                                    "404 NotFound the server could not find the requested resource (get things.none.example.com)",
		"GET /apis/kueue.x-k8s.io/v1beta2/namespaces/x/clusterqueues":             "404 NotFound the server could not find the requested resource (get clusterqueues.kueue.x-k8s.io)",
		"GET /api/v1/configmaps":                                                  "404 NotFound the server could not find the requested resource (get configmaps)",
		"GET /apis/none.example.com":                                              "404 NotFound the server could not find the requested resource",
		"GET /apis/none.example.com/v1":                                           "404 NotFound the server could not find the requested resource",
		"GET /":                                                                   "404 NotFound the server could not find the requested resource",
		"GET /healthz":                                                            "404 NotFound the server could not find the requested resource",
		"GET /api/v1//pods":                                                       "404 NotFound the server could not find the requested resource",
		"GET /apis/batch/v1/jobs?labelSelector=,,":                                "400 BadRequest found ',', expected: !, identifier, or 'end of string'",
		"GET /apis/batch/v1/jobs?fieldSelector=nothing":                           "400 BadRequest invalid selector: 'nothing'; can't understand 'nothing'",
		"GET /apis/batch/v1/jobs?fieldSelector=foo.bar%3Dtrain":                   `400 BadRequest field label "foo.bar" not supported`,
		"GET /api/v1/events?fieldSelector=count%3D4":                              `400 BadRequest field label "count" not supported`,
		"GET /apis/example.com/v1/policies?fieldSelector=spec.x%3Dy":              `400 BadRequest field label "spec.x" not supported`,
		"GET /apis/batch/v1/jobs?continue=4":                                      "400 BadRequest the continue token is not from this snapshot",
		"GET /apis/batch/v1/jobs?continue=-1":                                     "400 BadRequest the continue token is not from this snapshot",
		"GET /apis/kueue.x-k8s.io/v1beta2/workloads":                              "403 Forbidden you may not",
		"GET /apis/kueue.x-k8s.io/v1beta1/namespaces/x/workloads/w":               "403 Forbidden you may not",
		"GET /apis/kueue.x-k8s.io/v1beta2/namespaces/x/localqueues":               "404 NotFound what",
		"GET /api/v1/namespaces/kueue-system/secrets/s":                           "403 Forbidden no code",
		"GET /apis/hidden.example.com":                                            "403 Forbidden not even that",
		"GET /apis/hidden.example.com/v1/namespaces/x/things?fieldSelector=a%3Db": "403 Forbidden not even that",
	} {
		method, path, _ := strings.Cut(request, " ")
		code, value := ask(t, b, method, path)
		text, err := json.Marshal(value)
		assert.NilError(t, err)
		var status metav1.Status
		assert.NilError(t, json.Unmarshal(text, &status))
		assert.Equal(t, status.Kind+status.APIVersion+status.Status, "Statusv1Failure", request)
		assert.Equal(t, int(status.Code), code, request)
		assert.Equal(t, fmt.Sprintf("%d %s %s", status.Code, status.Reason, status.Message), want, request)
	}
}

func TestDiscovery(t *testing.T) {
	b := one(t, "  version: v1.36.3\n  served: [flowcontrol.apiserver.k8s.io/v1, not/a/version]\n", objects)
	_, value := ask(t, b, http.MethodGet, "/version")
	assert.Equal(t, value.(map[string]any)["gitVersion"], "v1.36.3")
	assert.Equal(t, value.(map[string]any)["minor"], "36")
	_, value = ask(t, b, http.MethodGet, "/api")
	assert.DeepEqual(t, value.(map[string]any)["versions"], []any{"v1"})
	_, value = ask(t, b, http.MethodGet, "/apis")
	var groups []any
	for _, g := range value.(map[string]any)["groups"].([]any) {
		groups = append(groups, g.(map[string]any)["name"])
	}
	assert.DeepEqual(t, groups, []any{"batch", "example.com", "flowcontrol.apiserver.k8s.io", "kueue.x-k8s.io"})
	_, value = ask(t, b, http.MethodGet, "/apis/kueue.x-k8s.io")
	assert.DeepEqual(t, value.(map[string]any)["preferredVersion"], map[string]any{"groupVersion": "kueue.x-k8s.io/v1beta2", "version": "v1beta2"})
	assert.Equal(t, len(value.(map[string]any)["versions"].([]any)), 2)
	for path, want := range map[string]string{
		"/api/v1":              "events true namespaces false pods true pods/status true secrets true ",
		"/apis/batch/v1":       "jobs true jobs/status true ",
		"/apis/example.com/v1": "policies false ",
		"/apis/kueue.x-k8s.io/v1beta2": "admissionchecks false clusterqueues false localqueues true " +
			"multikueueclusters false multikueueconfigs false workloads true ",
	} {
		_, value = ask(t, b, http.MethodGet, path)
		text := ""
		for _, r := range value.(map[string]any)["resources"].([]any) {
			text += fmt.Sprint(r.(map[string]any)["name"], " ", r.(map[string]any)["namespaced"], " ")
		}
		assert.Equal(t, text, want)
	}
}

// TestIdentity checks that the recorded UID is used if the Namespace is missing, also with a path
// in the server's URL.
func TestIdentity(t *testing.T) {
	for items, want := range map[string]string{"": "told", kubeSystem: "uid-of-a"} {
		b := one(t, "  clusterUID: told\n  server: https://proxy.example/clusters/a/\n", items)
		assert.Equal(t, clusters(t, b, fleet.Options{}).Clusters()[0].UID(), want)
	}
	assert.Equal(t, clusters(t, one(t, "", ""), fleet.Options{}).Clusters()[0].UID(), "")
}

// TestSkew checks that the skew of a clock is reproduced.
func TestSkew(t *testing.T) {
	b := one(t, "  clockSkewSeconds: -90\n", kubeSystem)
	c := clusters(t, b, fleet.Options{}).Clusters()[0]
	_ = c.UID() // The answer to this request has a Date header.
	skew := c.Skew()
	assert.Equal(t, fmt.Sprint(skew.Min, skew.Max, skew.Known), "-1m30s -1m29s true")
	c = clusters(t, one(t, "", kubeSystem), fleet.Options{}).Clusters()[0]
	_ = c.UID()
	assert.Assert(t, !c.Skew().Known)
}
