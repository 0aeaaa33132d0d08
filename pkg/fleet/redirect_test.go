package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
)

// fronted is a context of one of the clusters that share a host, as behind Rancher. The
// cluster redirects to the address that location returns for a path. victim counts
// the requests to every other cluster of the host.
func fronted(t *testing.T, code int, location func(path string) string) (config *rest.Config, victim *atomic.Int64) {
	t.Helper()
	victim = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, isOwn := strings.CutPrefix(r.URL.Path, "/k8s/clusters/c-evil")
		if !isOwn {
			victim.Add(1)
			return
		}
		w.Header().Set("Location", location(path))
		w.WriteHeader(code)
	}))
	t.Cleanup(server.Close)
	config = &rest.Config{Host: server.URL + "/k8s/clusters/c-evil", BearerToken: "secret"}
	assert.NilError(t, prepare(config))
	return config, victim
}

// requests returns requests by every client that is created from a context's settings.
func requests(t *testing.T, config *rest.Config) map[string]func(context.Context) error {
	t.Helper()
	c, err := newCluster(Context{Name: "c", Config: config}, clock.RealClock{}, t.TempDir())
	assert.NilError(t, err)
	jobs := batchv1.SchemeGroupVersion.WithResource("jobs")
	typed, dynamic := c.Kubernetes().BatchV1().Jobs("n"), c.Dynamic().Resource(jobs).Namespace("n")
	streams := remotecommand.StreamOptions{Stdout: io.Discard}
	return map[string]func(context.Context) error{
		"get":   func(ctx context.Context) error { _, err := typed.Get(ctx, "a", metav1.GetOptions{}); return err },
		"list":  func(ctx context.Context) error { _, err := dynamic.List(ctx, metav1.ListOptions{}); return err },
		"watch": func(ctx context.Context) error { _, err := dynamic.Watch(ctx, metav1.ListOptions{}); return err },
		"create": func(ctx context.Context) error {
			_, err := typed.Create(ctx, &batchv1.Job{}, metav1.CreateOptions{})
			return err
		},
		"patch": func(ctx context.Context) error {
			_, err := dynamic.Patch(ctx, "a", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			return err
		},
		"delete": func(ctx context.Context) error { return dynamic.Delete(ctx, "a", metav1.DeleteOptions{}) },
		"metadata": func(ctx context.Context) error {
			_, err := c.Metadata().Resource(jobs).List(ctx, metav1.ListOptions{})
			return err
		},
		"logs": func(ctx context.Context) error {
			_, err := c.Kubernetes().CoreV1().Pods("n").GetLogs("a", &corev1.PodLogOptions{}).Stream(ctx)
			return err
		},
		"rest": func(ctx context.Context) error {
			client, err := c.REST(batchv1.SchemeGroupVersion, "/apis")
			assert.NilError(t, err)
			return client.Get().Resource("jobs").Do(ctx).Error()
		},
		"discovery": func(ctx context.Context) error {
			d, err := c.Discovery()
			assert.NilError(t, err)
			_, err = d.API(ctx)
			return err
		},
		"schemas": func(ctx context.Context) error {
			d, err := c.Discovery()
			assert.NilError(t, err)
			_, err = d.Schemas(ctx, batchv1.SchemeGroupVersion)
			return err
		},
		"a client of its own": func(ctx context.Context) error {
			client, err := rest.HTTPClientFor(config)
			assert.NilError(t, err)
			request, err := http.NewRequestWithContext(ctx, http.MethodPut, config.Host+"/version", strings.NewReader("{}"))
			assert.NilError(t, err)
			response, err := client.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			return err
		},
		"WebSocket": func(ctx context.Context) error {
			executor, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, config.Host+"/api/v1/namespaces/n/pods/a/exec")
			assert.NilError(t, err)
			return executor.StreamWithContext(ctx, streams)
		},
		"SPDY": func(ctx context.Context) error {
			transport, upgrader, err := spdy.RoundTripperFor(config)
			assert.NilError(t, err)
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, config.Host+"/api/v1/namespaces/n/pods/a/portforward", http.NoBody)
			assert.NilError(t, err)
			_, _, err = spdy.Negotiate(upgrader, &http.Client{Transport: transport}, request, "portforward.k8s.io")
			return err
		},
	}
}

// TestNoRedirectIsFollowed checks that no client follows a redirect, for any method and code,
// even within one host.
func TestNoRedirectIsFollowed(t *testing.T) {
	other := &atomic.Int64{}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer elsewhere.Close()
	for _, code := range []int{300, 301, 302, 303, 305, 307, 308} {
		for _, prefix := range []string{"/k8s/clusters/c-victim", elsewhere.URL} {
			config, victim := fronted(t, code, func(path string) string { return prefix + path })
			for name, ask := range requests(t, config) {
				err := ask(t.Context())
				assert.Assert(t, err != nil, "%d %s", code, name)
				// kubectl's streams do not wrap the errors of transports.
				assert.Check(t, strings.Contains(err.Error(), "redirects are never followed") || name == "WebSocket", "%d %s: %v", code, name, err)
				assert.Equal(t, victim.Load()+other.Load(), int64(0), "%d %s", code, name)
			}
		}
	}
}

// TestRedirectError checks that the error names both addresses, without secrets of the second.
func TestRedirectError(t *testing.T) {
	for location, want := range map[string]string{
		"/k8s/clusters/c-victim/version":             "HOST/k8s/clusters/c-victim/version",
		"https://u:secret@other.example/p?token=t#f": "https://other.example/p",
		"//other.example":                            "http://other.example",
		"https://[":                                  "an invalid address",
		"/" + strings.Repeat("a", 1000):              "HOST/aaa",
	} {
		config, _ := fronted(t, http.StatusFound, func(string) string { return location })
		err := requests(t, config)["get"](t.Context())
		var refused *wire.RedirectError
		assert.Assert(t, errors.As(err, &refused), "%v", err)
		host := strings.TrimSuffix(config.Host, "/k8s/clusters/c-evil")
		assert.Equal(t, refused.From, config.Host)
		assert.Assert(t, strings.HasPrefix(refused.To, strings.Replace(want, "HOST", host, 1)), refused.To)
		assert.Assert(t, len(refused.To) < 300 && !strings.Contains(refused.Error(), "secret"))
	}
}

// TestRedirectsToNowhere checks that an answer without an address is no redirect, and neither is
// 304.
func TestRedirectsToNowhere(t *testing.T) {
	for code, location := range map[int]string{http.StatusFound: "", http.StatusNotModified: "/elsewhere"} {
		config, victim := fronted(t, code, func(string) string { return location })
		err := requests(t, config)["a client of its own"](t.Context())
		assert.NilError(t, err)
		assert.Equal(t, victim.Load(), int64(0))
	}
}

// TestNoRequestLeavesTheServer checks that no address that a server chooses for a group, a
// resource or a schema reaches another cluster of the same host.
func TestNoRequestLeavesTheServer(t *testing.T) {
	config, victim := fronted(t, http.StatusNotFound, func(string) string { return "" })
	c, err := newCluster(Context{Name: "c", Config: config}, clock.RealClock{}, "")
	assert.NilError(t, err)
	var refused *wire.AddressError
	for _, gvr := range []schema.GroupVersionResource{
		{Group: "../../c-victim/apis/batch", Version: "v1", Resource: "jobs"},
		{Group: "batch", Version: "../../../c-victim/apis/batch/v1", Resource: "jobs"},
		{Group: "../../../..", Version: "k8s/clusters", Resource: "c-victim"},
		{Group: "../../c-evil-not", Version: "v1", Resource: "jobs"},
	} {
		err := c.Dynamic().Resource(gvr).Delete(t.Context(), "a", metav1.DeleteOptions{})
		assert.Check(t, errors.As(err, &refused), "%v: %v", gvr, err)
	}
	client, err := rest.HTTPClientFor(config)
	assert.NilError(t, err)
	host := strings.TrimSuffix(config.Host, "/k8s/clusters/c-evil")
	for address, isRefused := range map[string]bool{
		host + "/k8s/clusters/c-victim/api":                      true,
		host + "/k8s/clusters/c-evil/../c-victim/api":            true,
		host + "/k8s/clusters/c-evil/%2e%2e/c-victim/api":        true,
		host + "/k8s/clusters/c-evil/..%2fc-victim/api":          true,
		host + "/k8s/clusters/c-evilvictim/api":                  true,
		host + "/api":                                            true,
		"http://other.example/k8s/clusters/c-evil/api":           true,
		strings.Replace(config.Host, "http:", "https:", 1) + "/": true,
		config.Host:              false,
		config.Host + "/":        false,
		config.Host + "/api?a=b": false,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, address, http.NoBody)
		assert.NilError(t, err)
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		assert.Equal(t, errors.As(err, &refused), isRefused, "%s: %v", address, err)
	}
	assert.Equal(t, victim.Load(), int64(0))
}

// TestSchemasMove checks that a schema whose hash changes with every request is read, as the server has it,
// and that no redirect is followed.
func TestSchemasMove(t *testing.T) {
	var lists, documents atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		hash := r.URL.Query().Get("hash")
		switch {
		case r.URL.Path == "/openapi/v3":
			_, _ = fmt.Fprintf(w, `{"paths":{"apis/batch/v1":{"serverRelativeURL":"/openapi/v3/apis/batch/v1?hash=%d"}}}`, lists.Add(1))
		case r.URL.Path == "/openapi/v3/apis/batch/v1" && hash == "":
			_, _ = fmt.Fprint(w, `{"openapi":"3.0.0"}`)
		case r.URL.Path == "/openapi/v3/apis/batch/v1":
			documents.Add(1)
			http.Redirect(w, r, r.URL.Path+"?hash=new", http.StatusMovedPermanently)
		case r.URL.Path == "/apis":
			_, _ = fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		default:
			_, _ = fmt.Fprint(w, `{"kind":"APIVersions","versions":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	assert.NilError(t, prepare(config))
	c, _ := discover(t, config, "")
	d, err := c.Discovery()
	assert.NilError(t, err)
	document, err := d.Schemas(t.Context(), batchv1.SchemeGroupVersion)
	assert.NilError(t, err)
	assert.Equal(t, string(document), `{"openapi":"3.0.0"}`)
	assert.Equal(t, documents.Load(), int64(1))
}
