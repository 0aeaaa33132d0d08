package read_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// serves is an API server as one user sees it: it answers some paths, denies others, and returns
// NotFound for the rest.
type serves struct {
	answers map[string]string
	refused []string
}

func (s serves) RoundTrip(r *http.Request) (*http.Response, error) {
	code, reason, body := http.StatusNotFound, "NotFound", s.answers[r.URL.Path]
	for _, path := range s.refused {
		if strings.HasPrefix(r.URL.Path, path) {
			code, reason = http.StatusForbidden, "Forbidden"
		}
	}
	if body != "" {
		code = http.StatusOK
	} else {
		body = fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":%q,"code":%d,"message":"%s: %s","details":%s}`, reason, code, reason, r.URL.Path, details(r.URL.Path))
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// details returns the object of a path, as in an API server's Status.
func details(path string) string {
	steps := strings.Split(strings.Trim(path, "/"), "/")
	if len(steps) < 3 {
		return "{}"
	}
	group := ""
	if steps[0] == "apis" {
		group = steps[1]
	}
	return fmt.Sprintf(`{"group":%q,"kind":%q,"name":%q}`, group, steps[len(steps)-2], steps[len(steps)-1])
}

const (
	whichCluster = "/api/v1/namespaces/kube-system"
	none         = `{"apiVersion":"v1","kind":"List","metadata":{},"items":[]}`
)

func identity(uid string) string {
	return fmt.Sprintf(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"kube-system","uid":%q}}`, uid)
}

func jobJSON(namespace, name, uid, more string) string {
	return fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":%q,"name":%q,"uid":%q,"creationTimestamp":"2026-11-22T09:00:00Z"%s`, namespace, name, uid, more)
}

// traced reads the Job ml/train through contexts, each "name server".
func traced(t *testing.T, users map[string]serves) *inspect.Inventory {
	t.Helper()
	var contexts []fleet.Context
	var addresses []kubecontext.Address
	for _, c := range []string{"m https://m", "dev https://w", "admin https://w"} {
		name, host, _ := strings.Cut(c, " ")
		if user, ok := users[name]; ok {
			contexts = append(contexts, fleet.Context{Name: name, Namespace: "ml", CA: "ca", Config: &rest.Config{Host: host, Transport: user}})
		}
	}
	f := fleet.Open(t.Context(), contexts, fleet.Options{Refused: read.Query{}.Refused})
	for _, name := range f.Contexts() {
		addresses = append(addresses, kubecontext.Address{Context: name})
	}
	now := func() time.Time { return time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC) }
	return read.Read(t.Context(), f, read.Want{Named: &read.Wanted{Name: "train", Namespace: "ml"}, Addresses: addresses, Now: now})
}

const (
	mlJob          = "/apis/batch/v1/namespaces/ml/jobs/train"
	theirNamespace = "/api/v1/namespaces/ml"
	mlWorkloads    = "/apis/kueue.x-k8s.io/v1beta2/namespaces/ml/workloads"
	clusterQueues  = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"

	farJob  = "/apis/batch/v1/namespaces/far/jobs/train"
	mlPods  = "/api/v1/namespaces/ml/pods"
	farPods = "/api/v1/namespaces/far/pods"
	pinned  = `,"annotations":{"jobmanagedby.github.io/mirror":"w/far/train/the-mirror"}},"spec":{"managedBy":"jobmanagedby.github.io/dispatch"}}`
	marked  = `,"labels":{"jobmanagedby.github.io/origin-uid":"the-origin"}},"spec":{}}`
)

func manager() serves {
	return serves{answers: map[string]string{whichCluster: identity("m"), mlJob: jobJSON("ml", "train", "the-origin", pinned), mlPods: none}}
}

func messages(v *inspect.Inventory) (texts []string) {
	for _, e := range v.Errors() {
		texts = append(texts, e.Context+" "+string(e.Code)+" "+e.Message)
	}
	return texts
}

// TestTraceReportsRefusals checks that a denial at a place that a mark points to is reported, and
// hides nothing else of its cluster.
func TestTraceReportsRefusals(t *testing.T) {
	v := traced(t, map[string]serves{"m": manager(), "admin": {answers: map[string]string{whichCluster: identity("w")}, refused: []string{"/apis/batch/v1/namespaces/far"}}})
	found := strings.Join(messages(v), "\n")
	assert.Assert(t, strings.Contains(found, "admin Forbidden cannot look for job \"train\""), found)
	assert.NilError(t, v.Facts("admin").Err)
	assert.Assert(t, v.Facts("admin").Gaps[inspect.PartJobs] != nil)
}

// TestTraceAsksTheOther checks that another context of the same cluster replaces one whose user may
// not read the place of a mark, without a denial.
func TestTraceAsksTheOther(t *testing.T) {
	mirror := jobJSON("far", "train", "the-mirror", marked)
	v := traced(t, map[string]serves{
		"m":     manager(),
		"dev":   {answers: map[string]string{"/apis/batch/v1/namespaces/ml/jobs": none, mlWorkloads: none, clusterQueues: none, theirNamespace: identity("n")}, refused: []string{"/api"}},
		"admin": {answers: map[string]string{whichCluster: identity("w"), theirNamespace: identity("n"), farJob: mirror, farPods: none}},
	})
	assert.Equal(t, len(v.Clusters), 2)
	assert.Equal(t, v.Clusters[1].Context+" "+v.Clusters[1].ClusterUID, "dev w")
	assert.Equal(t, len(v.Pairs.Pairs), 1)
	assert.Equal(t, len(v.Pairs.Pairs[0].Mirrors), 1)
	for _, text := range messages(v) {
		assert.Assert(t, !strings.Contains(text, "Forbidden"), text)
	}
}

// TestTraceNamesTheOther checks that a context whose user may not read Workloads or ClusterQueues does not
// represent a cluster if another context may: its user may not run the fixes either.
func TestTraceNamesTheOther(t *testing.T) {
	for _, refused := range [][]string{{mlWorkloads}, {clusterQueues}, nil} {
		v := traced(t, map[string]serves{
			"m":     manager(),
			"dev":   {answers: map[string]string{whichCluster: identity("w")}, refused: refused},
			"admin": {answers: map[string]string{whichCluster: identity("w")}},
		})
		assert.Equal(t, len(v.Clusters), 2)
		assert.Equal(t, v.Clusters[1].Context, map[bool]string{true: "admin", false: "dev"}[refused != nil])
	}
}

// TestTraceByUID checks that the UID identifies a mirror if the cluster of a mark is unknown, and
// that no other object is taken for it.
func TestTraceByUID(t *testing.T) {
	for uid, mirrors := range map[string]int{"the-mirror": 1, "another": 0} {
		job := jobJSON("far", "train", uid, "},\"spec\":{}}")
		if mirrors > 0 {
			job = jobJSON("far", "train", uid, marked)
		}
		v := traced(t, map[string]serves{"m": manager(), "dev": {answers: map[string]string{farJob: job, farPods: none}, refused: []string{whichCluster}}})
		assert.Equal(t, len(v.Pairs.Pairs[0].Mirrors), mirrors)
		assert.Equal(t, len(v.Facts("dev").Jobs), mirrors)
	}
}
