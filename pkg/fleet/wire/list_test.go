package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// listOfThings returns the list of the resource things of a server.
func listOfThings(t *testing.T, config *rest.Config) List {
	t.Helper()
	config.APIPath, config.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	assert.NilError(t, err)
	return List{
		Request: func() (*rest.Request, error) {
			return client.Get().Resource("things").SetHeader("Accept", "application/json"), nil
		},
		Check: func(err error) error { return err },
	}
}

// TestEachObjectEnds checks that a list that repeats its continue token ends in an error, and so
// does an answer that is not a list.
func TestEachObjectEnds(t *testing.T) {
	for answer, want := range map[string]string{
		`{"kind":"List","metadata":{"continue":"again"},"items":[{}]}`: errNoEnd.Error(),
		`{}`:   "it is not a list",
		`null`: "it is not a list",
		`{"kind":"Status","apiVersion":"v1","status":"Success"}`:          "it is not a list",
		`{"kind":"ThingList","metadata":{},"items":null}`:                 "",
		`{"metadata":{},"items":[]}`:                                      "",
		`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{}]}`: "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		}))
		visited := 0
		_, err := EachObject(t.Context(), listOfThings(t, &rest.Config{Host: server.URL}), metav1.ListOptions{}, func(map[string]any) { visited++ })
		server.Close()
		if want == "" {
			assert.NilError(t, err, answer)
			continue
		}
		assert.ErrorContains(t, err, want, answer)
		assert.Assert(t, visited <= 2, answer)
	}
}
