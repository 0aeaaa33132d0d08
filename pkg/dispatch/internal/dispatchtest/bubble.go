package dispatchtest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// BubbleCluster returns the server as a cluster for a synctest bubble, where time limits take no real time. Its
// requests need no network, which would keep the clock of the bubble from running. It has no watches. Its identity
// is already read.
func (s *Server) BubbleCluster(t *testing.T, name string) *fleet.Cluster {
	t.Helper()
	return s.cluster(t, name, &rest.Config{Host: "https://" + name, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}, Transport: direct{s}})
}

// direct is a transport that calls the server.
type direct struct{ server *Server }

// RoundTrip answers a request.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.URL.Query().Get("watch") == "true" {
		return nil, errors.New("a server has no watches in a bubble")
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	d.server.ServeHTTP(answer, r)
	response := answer.Result()
	response.Request = r
	return response, nil
}

// cluster opens a cluster, and reads what identifies it.
func (s *Server) cluster(t *testing.T, name string, config *rest.Config) *fleet.Cluster {
	t.Helper()
	clusters := fleet.Open(t.Context(), []fleet.Context{{Name: name, Config: config}}, fleet.Options{}).Clusters()
	assert.Equal(t, len(clusters), 1)
	// Later requests come from the test only.
	_ = clusters[0].UID()
	for namespace := range s.Namespaces {
		assert.NilError(t, clusters[0].LearnNamespaces(t.Context(), namespace))
	}
	return clusters[0]
}
