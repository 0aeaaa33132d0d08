package fleet_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// busyTransport answers every creation with 503 and the wish to be asked again.
type busyTransport struct{ creations int }

func (b *busyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/plain"}}, Request: r, Body: io.NopCloser(strings.NewReader("no"))}
	if r.Method == http.MethodPost {
		b.creations++
		answer.StatusCode = http.StatusServiceUnavailable
		answer.Header.Set("Retry-After", "0")
	}
	return answer, nil
}

// TestCreationIsSentOnce checks that client-go does not repeat a creation whose answer was lost: the
// second answer would be that the object already exists.
func TestCreationIsSentOnce(t *testing.T) {
	busy := &busyTransport{}
	f := fleet.Open(t.Context(), []fleet.Context{{Name: "busy", Config: &rest.Config{Host: "https://busy.example", Transport: busy}}}, fleet.Options{})
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "b"}}}
	_, err := f.Clusters()[0].Create(t.Context(), schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, o, "")
	assert.Assert(t, err != nil)
	assert.Equal(t, busy.creations, 1)
}
