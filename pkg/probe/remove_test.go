package probe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

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
	}
}
