package fleet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// front answers by path instead of a server. It forbids paths without an answer.
type front map[string]reply

type reply struct {
	code int
	body string
	kind string
}

func (f front) RoundTrip(r *http.Request) (*http.Response, error) {
	a, ok := f[r.URL.Path]
	if !ok {
		a = reply{http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`, ""}
	}
	kind := "application/json"
	if a.kind != "" {
		kind = a.kind
	}
	return &http.Response{
		StatusCode: a.code, Header: http.Header{"Content-Type": {kind}}, Request: r, Body: io.NopCloser(strings.NewReader(a.body)),
	}, nil
}

func notFound(details string) reply {
	return reply{http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found"` + details + `}`, ""}
}

func namespaceOf(uid string) reply {
	return reply{http.StatusOK, fmt.Sprintf(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"seen","uid":%q}}`, uid), ""}
}

const (
	trainJob  = "/apis/batch/v1/namespaces/ml/jobs/train"
	ofTrain   = `,"details":{"group":"batch","kind":"jobs","name":"train"}`
	ml        = "/api/v1/namespaces/ml"
	teleports = `,"details":{}`
)

func jobsResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
}

// TestAbsenceNeedsProof checks that a Job counts as gone only if a Status names it, and if the
// cluster has proven its identity over the same connection.
func TestAbsenceNeedsProof(t *testing.T) {
	const unreachable = "the answer 404 is not from the API server of the cluster"
	for _, tt := range []struct {
		name   string
		job    reply
		system reply
		// later are the answers after the cluster is known.
		later  front
		refuse string
	}{
		{name: "the API server says so", job: notFound(ofTrain), system: namespaceOf("u")},
		{name: "known by the user's namespace", job: notFound(ofTrain), later: front{ml: namespaceOf("n")}},
		{name: "a Status without details", job: notFound(""), system: namespaceOf("u"), refuse: unreachable},
		{name: "a Status with empty details", job: notFound(teleports), system: namespaceOf("u"), refuse: unreachable},
		{name: "a Status of another object", job: notFound(strings.ReplaceAll(ofTrain, "train", "other")), system: namespaceOf("u"), refuse: unreachable},
		{name: "a Status of another kind", job: notFound(strings.ReplaceAll(ofTrain, "jobs", "clusters")), system: namespaceOf("u"), refuse: unreachable},
		{name: "a page", job: reply{http.StatusNotFound, "<html>404</html>", "text/html"}, system: namespaceOf("u"), refuse: unreachable},
		{name: "plain text", job: reply{http.StatusNotFound, "404 page not found", "text/plain"}, system: namespaceOf("u"), refuse: unreachable},
		{name: "another cluster by now", job: notFound(ofTrain), system: namespaceOf("u"), later: front{kubeSystem: namespaceOf("v")}, refuse: "now reaches another cluster"},
		{name: "the cluster cannot be read by now", job: notFound(ofTrain), system: namespaceOf("u"), later: front{kubeSystem: notFound("")}, refuse: unreachable},
		{name: "nothing identifies the cluster", job: notFound(ofTrain), refuse: "the cluster cannot be identified: the user may get neither namespace kube-system nor namespace ml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := front{trainJob: tt.job}
			if tt.system.code != 0 {
				server[kubeSystem] = tt.system
			}
			if n, ok := tt.later[ml]; ok {
				server[ml] = n
			}
			c := Open(t.Context(), []Context{{Name: "c", Config: &rest.Config{Host: "https://a", Transport: server}}}, Options{}).Clusters()[0]
			assert.NilError(t, c.LearnNamespaces(t.Context(), "ml"))
			_ = c.UID()
			for path, a := range tt.later {
				server[path] = a
			}
			err := c.ProveAbsent(t.Context(), jobsResource(), "ml", "train")
			if tt.refuse == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.refuse)
			assert.Equal(t, kubecontext.IsConnection(err), !strings.Contains(tt.refuse, "identified"), "what may pass is tried again")
		})
	}
}

// TestListsNeedAnAPIServer checks that a 404 for a list of Jobs is not taken from the API server,
// which always serves batch/v1. Other groups may be missing, which only the list of groups
// proves.
func TestListsNeedAnAPIServer(t *testing.T) {
	page := reply{http.StatusNotFound, "404 page not found", "text/plain"}
	server := front{
		kubeSystem: namespaceOf("u"), "/apis/batch/v1/jobs": page, "/apis/jobset.x-k8s.io/v1alpha2/jobsets": page,
		"/apis": {http.StatusOK, `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"batch","versions":[{"version":"v1"}]}]}`, ""},
	}
	c := Open(t.Context(), []Context{{Name: "c", Config: &rest.Config{Host: "https://a", Transport: server}}}, Options{}).Clusters()[0]
	list := func(r schema.GroupVersionResource) error {
		return EachObject(t.Context(), c, r, "", metav1.ListOptions{}, func(map[string]any) {})
	}
	err := list(jobsResource())
	var stray *kubecontext.StrayError
	assert.Assert(t, errors.As(err, &stray), "%v", err)
	jobsets := schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}
	assert.Assert(t, kubecontext.IsUnserved(list(jobsets)))
	assert.NilError(t, c.ProveUnserved(t.Context(), jobsets))
	assert.ErrorContains(t, c.ProveUnserved(t.Context(), schema.GroupVersionResource{Group: "batch"}), "is served")
	server["/apis"] = page
	assert.Assert(t, c.ProveUnserved(t.Context(), jobsets) != nil)
}
