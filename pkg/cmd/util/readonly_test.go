package util

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestReadOnly: only reading requests reach the server.
func TestReadOnly(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method+" "+r.URL.Path)
	}))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &readOnly{next: http.DefaultTransport}}
	for _, tt := range []struct {
		method, path string
		isSent       bool
	}{
		{"GET", "/apis/batch/v1/namespaces/ml/jobs/exec", true},
		{"HEAD", "/version", true},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true},
		{"POST", "/prefix/apis/authorization.k8s.io/v1/subjectaccessreviews", true},
		{"POST", "/apis/batch/v1/namespaces/ml/jobs", false},
		{"POST", "/apis/example.com/v1/namespaces/ml/subjectaccessreviews", false},
		{"POST", "/api/v1/namespaces/ml/pods/p/eviction", false},
		{"PUT", "/apis/batch/v1/namespaces/ml/jobs/train", false},
		{"PATCH", "/apis/batch/v1/namespaces/ml/jobs/train/status", false},
		{"DELETE", "/apis/batch/v1/namespaces/ml/jobs/train", false},
		{"DELETE", "/apis/batch/v1/namespaces/ml/jobs", false},
		{"GET", "/api/v1/namespaces/ml/pods/p/exec", false},
		{"GET", "/api/v1/namespaces/ml/services/s/proxy/delete", false},
		{"GET", "/api/v1/nodes/n/proxy/run", false},
	} {
		sent = nil
		request, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL+tt.path, strings.NewReader("{}"))
		assert.NilError(t, err)
		response, err := client.Do(request)
		if err == nil {
			assert.NilError(t, response.Body.Close())
		}
		assert.Equal(t, len(sent) == 1, tt.isSent, "%s %s", tt.method, tt.path)
		refused := (*WriteRefusedError)(nil)
		assert.Equal(t, errors.As(err, &refused), !tt.isSent, "%s %s: %v", tt.method, tt.path, err)
	}
}
