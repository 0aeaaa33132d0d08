package probe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// server is an API server without Jobs, whose kube-system has a UID.
type server struct{ uid string }

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	code, body := http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found","details":{"group":"batch","kind":"jobs","name":"p"}}`
	if r.URL.Path == "/api/v1/namespaces/kube-system" {
		code, body = http.StatusOK, fmt.Sprintf(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"kube-system","uid":%q}}`, s.uid)
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// TestRemoverNeedsProof: if the answer to the creation was lost, a Job counts as gone only once
// its cluster proves that. Another cluster at the same address proves nothing. A cluster that nothing
// identifies is believed, but that is no proof.
func TestRemoverNeedsProof(t *testing.T) {
	for name, tt := range map[string]struct {
		before, now      string
		isLeft, isProven bool
	}{
		"the same cluster":     {"u", "u", false, true},
		"another cluster":      {"u", "v", true, false},
		"unidentified cluster": {"", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{uid: tt.before}
				f := fleet.Open(t.Context(), []fleet.Context{{Name: "hub", Namespace: "ml", Config: &rest.Config{Host: "https://hub", Transport: s}}}, fleet.Options{})
				manager := f.Clusters()[0]
				assert.Equal(t, manager.UID(), tt.before)
				s.uid = tt.now
				ctx, cancel := context.WithTimeout(t.Context(), 3*checkInterval)
				defer cancel()
				r := &Remover{
					Clock: clock.RealClock{}, Manager: manager, Namespace: "ml", Name: "p",
					KueueVersion: func(context.Context, *fleet.Cluster) (string, error) { return "", nil },
				}
				done := r.Run(ctx)
				assert.Equal(t, len(done.Left) > 0, tt.isLeft, "%v", done.Left)
				assert.Equal(t, done.IsProven, tt.isProven)
			})
		})
	}
}

// worker is an API server that has the mirror of a probe or not, and namespaces with UIDs.
type worker struct {
	mu         sync.Mutex
	hasMirror  bool
	namespaces map[string]string
}

func (w *worker) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	answer := func(code int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case name == "p" && w.hasMirror:
		return answer(http.StatusOK, `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"p","namespace":"ml","uid":"m"}}`)
	case name == "p":
		return answer(http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found","details":{"group":"batch","kind":"jobs","name":"p"}}`)
	case w.namespaces[name] != "":
		return answer(http.StatusOK, fmt.Sprintf(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":%q,"uid":%q}}`, name, w.namespaces[name]))
	}
	return answer(http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`)
}

// TestWorkersNeedProof checks that a mirror counts as gone only once its cluster proves that: the 404 of
// another cluster at the same address does not count. A cluster that nothing identifies is believed, and
// named.
func TestWorkersNeedProof(t *testing.T) {
	for name, tt := range map[string]struct {
		namespaces, now map[string]string
		left            string
		unproven        []string
		// introduced is the UID of kube-system, if another context has read it.
		introduced string
	}{
		"the same cluster":         {map[string]string{"kube-system": "u"}, map[string]string{"kube-system": "u"}, "", nil, ""},
		"known by the namespace":   {map[string]string{"ml": "n"}, map[string]string{"ml": "n"}, "", nil, ""},
		"known by another context": {map[string]string{"ml": "n"}, map[string]string{"ml": "n"}, "", nil, "u"},
		"another one than the introduced": {
			map[string]string{"ml": "n"}, map[string]string{"ml": "o"}, "the context now reaches another cluster", nil, "u",
		},
		"another cluster": {map[string]string{"kube-system": "u"}, map[string]string{"kube-system": "v"}, "the context now reaches another cluster", nil, ""},
		"another by the namespace": {
			map[string]string{"ml": "n"}, map[string]string{"ml": "o"}, "the context now reaches another cluster", nil, "",
		},
		"unidentified cluster": {nil, nil, "", []string{"far"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := &server{uid: "m"}, &worker{hasMirror: true, namespaces: tt.namespaces}
				manager := fleet.Open(t.Context(), []fleet.Context{{Name: "hub", Namespace: "ml", Config: &rest.Config{Host: "https://hub", Transport: near}}}, fleet.Options{}).Clusters()[0]
				workers := fleet.Open(t.Context(), []fleet.Context{{Name: "far", Config: &rest.Config{Host: "https://far", Transport: far}}}, fleet.Options{}).Clusters()
				if tt.introduced != "" {
					workers[0].SetUID(tt.introduced)
				}
				Identify(t.Context(), workers, "ml")
				far.mu.Lock()
				far.hasMirror, far.namespaces = false, tt.now
				far.mu.Unlock()
				ctx, cancel := context.WithTimeout(t.Context(), 3*checkInterval)
				defer cancel()
				done := (&Remover{
					Clock: clock.RealClock{}, Manager: manager, Workers: workers, Namespace: "ml", Name: "p",
					KueueVersion: func(context.Context, *fleet.Cluster) (string, error) { return "", nil },
				}).Run(ctx)
				if tt.left == "" {
					assert.Equal(t, len(done.Left), 0, "%v", done.Left)
				} else {
					assert.Equal(t, len(done.Left), 1)
					assert.ErrorContains(t, done.Left[0].Err, tt.left)
					assert.Assert(t, !done.Left[0].IsSeen)
				}
				assert.DeepEqual(t, done.Unproven, tt.unproven)
			})
		})
	}
}
