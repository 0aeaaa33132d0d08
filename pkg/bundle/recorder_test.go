package bundle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// answering changes the answers of a snapshot to requests for one resource.
func answering(b *bundle.Bundle, path string, change func(*http.Request, *http.Response)) []fleet.Context {
	contexts := b.Contexts()
	for i := range contexts {
		config := rest.CopyConfig(contexts[i].Config)
		contexts[i].Config = config
		next := config.Transport
		config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && r.URL.Path == path {
				change(r, response)
			}
			return response, err
		})
	}
	return contexts
}

// edited changes the metadata and the items of a list in a response.
func edited(t *testing.T, response *http.Response, edit func(about map[string]any, items []any) []any) {
	t.Helper()
	var list map[string]any
	assert.NilError(t, json.NewDecoder(response.Body).Decode(&list))
	about, ok := list["metadata"].(map[string]any)
	assert.Assert(t, ok)
	items, ok := list["items"].([]any)
	assert.Assert(t, ok)
	list["items"] = edit(about, items)
	text, err := json.Marshal(list)
	assert.NilError(t, err)
	response.Body = io.NopCloser(bytes.NewReader(text))
}

// says replaces a response.
func says(response *http.Response, code int, contentType, text string) {
	response.StatusCode, response.Header = code, http.Header{"Content-Type": {contentType}}
	response.Body = io.NopCloser(strings.NewReader(text))
}

// TestListsInChunks checks that a list in chunks is recorded completely, each object once. If
// some chunks fail, that is recorded and the rest is kept.
func TestListsInChunks(t *testing.T) {
	const workloads = "/apis/kueue.x-k8s.io/v1beta2/workloads"
	items := kubeSystem
	for i := range 1200 {
		items += fmt.Sprintf("- {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w%04d, namespace: default}}\n", i)
	}
	b := one(t, "", items)
	for name, tt := range map[string]struct {
		change func(t *testing.T, asked int, r *http.Request, response *http.Response)
		held   int
		unread string
	}{
		"complete": {change: func(*testing.T, int, *http.Request, *http.Response) {}, held: 1200},
		"whole list after the first chunk": {
			change: func(t *testing.T, asked int, _ *http.Request, response *http.Response) {
				t.Helper()
				edited(t, response, func(about map[string]any, items []any) []any {
					if asked == 1 {
						about["remainingItemCount"] = 700
						return items
					}
					// The first one was deleted meanwhile.
					return items[1:]
				})
			},
			held: 1199,
		},
		"expired in between": {
			change: func(_ *testing.T, asked int, _ *http.Request, response *http.Response) {
				if asked == 2 {
					says(response, http.StatusGone, "application/json", `{"kind":"Status","apiVersion":"v1","metadata":{"continue":"0500"},"status":"Failure","reason":"Expired","code":410}`)
				}
			},
			held: 1200,
		},
		"failing in between": {
			change: func(_ *testing.T, asked int, _ *http.Request, response *http.Response) {
				if asked == 2 {
					says(response, http.StatusInternalServerError, "text/plain", "etcd is full\n")
				}
			},
			held: 500, unread: `an error on the server ("etcd is full") has prevented the request from succeeding (get workloads.kueue.x-k8s.io)`,
		},
		"broken off": {
			change: func(t *testing.T, asked int, _ *http.Request, response *http.Response) {
				t.Helper()
				if asked == 3 {
					text, err := io.ReadAll(response.Body)
					assert.NilError(t, err)
					response.Body = io.NopCloser(bytes.NewReader(text[:len(text)-len("}]}")-1]))
				}
			},
			held: 1000, unread: "the answer of the server is invalid: ",
		},
		"no list": {
			change: func(_ *testing.T, _ int, _ *http.Request, response *http.Response) {
				says(response, http.StatusOK, "application/json", `{"kind":"Workload","items":null}`)
			},
			unread: "the answer of the server is invalid: it is not a list",
		},
		"invalid items": {
			change: func(t *testing.T, _ int, _ *http.Request, response *http.Response) {
				t.Helper()
				edited(t, response, func(_ map[string]any, items []any) []any {
					for _, item := range items {
						item.(map[string]any)["spec"] = "of another age"
					}
					return items
				})
			},
			held: 1200,
		},
		"not JSON": {
			change: func(_ *testing.T, _ int, _ *http.Request, response *http.Response) {
				says(response, http.StatusOK, "application/vnd.kubernetes.protobuf", "k8s\x00\x0a")
			},
			unread: "the answer of the server is invalid: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			contexts := answering(b, workloads, func(r *http.Request, response *http.Response) {
				asked++
				tt.change(t, asked, r, response)
			})
			f := fleet.Open(t.Context(), contexts, fleet.Options{AllNamespaces: true})
			recording, err := bundle.Take(t.Context(), f, bundle.Options{AllNamespaces: true})
			assert.NilError(t, err)
			c := recording.Contexts()[0]
			assert.Equal(t, len(c.Failed()) > 0, tt.unread != "", "%v", c.Failed())
			for _, u := range c.Failed() {
				assert.Equal(t, u.Resource, "workloads.kueue.x-k8s.io")
				assert.Assert(t, strings.HasPrefix(u.Status.Message, tt.unread), u.Status.Message)
			}
			assert.Equal(t, *c.Objects, tt.held+1)
		})
	}
}

// TestAllKindsForbidden checks that all other objects are recorded if Jobs and objects of all other
// kinds are refused.
func TestAllKindsForbidden(t *testing.T) {
	b := one(t, `
  unread:
  - {resource: jobs.batch, status: {code: 403, reason: Forbidden, message: no jobs}}
  - {resource: pods, status: {code: 403, reason: Forbidden, message: no pods}}
`, kubeSystem+"- {apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}}\n")
	dir, _ := again(t, b, clusters(t, b, fleet.Options{}), bundle.Options{})
	text := texts(t, dir)
	assert.Equal(t, strings.Count(text["a.yaml"], "kind: ClusterQueue\n"), 1)
	assert.Assert(t, strings.Contains(text["snapshot.yaml"], "message: no jobs") && strings.Contains(text["snapshot.yaml"], "message: no pods"), text["snapshot.yaml"])
}
