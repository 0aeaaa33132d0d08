package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// answers is an API server with answers for some paths, and ETags.
type answers struct {
	mu    sync.Mutex
	paths map[string]any
	// sent are the paths of answers that were sent with content. unchanged are those that were
	// answered with 304.
	sent, unchanged []string
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, ok := a.paths[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if code, isCode := answer.(int); isCode {
		w.WriteHeader(code)
		return
	}
	body, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	etag := fmt.Sprintf("%q", fmt.Sprintf("%x", body))
	w.Header().Set("ETag", etag)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("Content-Type", "application/json")
	if strings.Contains(r.URL.RawQuery, "hash=") {
		// The API server sets these headers for addresses that change with their content.
		w.Header().Set("Cache-Control", "public")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).Format(time.RFC1123))
	}
	if r.Header.Get("If-None-Match") == etag {
		a.unchanged = append(a.unchanged, r.URL.Path)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	a.sent = append(a.sent, r.URL.Path)
	_, _ = w.Write(body)
}

// serve starts a server that serves resources in some groups and versions.
func serve(t *testing.T, served map[string][]string) (*answers, string) {
	t.Helper()
	a := &answers{}
	a.install(served)
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, server.URL
}

func (a *answers) install(served map[string][]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	versions := func(group string) []metav1.GroupVersionForDiscovery {
		var all []metav1.GroupVersionForDiscovery
		// The preferred version is not the first.
		for _, version := range []string{"v1beta1", "v1"} {
			if gv := (schema.GroupVersion{Group: group, Version: version}).String(); served[gv] != nil {
				all = append(all, metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: version})
			}
		}
		return all
	}
	a.paths = map[string]any{"/api": metav1.APIVersions{Versions: []string{"v1"}}}
	groups, published := metav1.APIGroupList{}, map[string]any{}
	seen := map[string]bool{}
	for text, names := range served {
		gv, err := schema.ParseGroupVersion(text)
		if err != nil {
			panic(err)
		}
		path := "/apis/" + text
		if gv.Group == "" {
			path = "/api/" + text
		} else if !seen[gv.Group] {
			seen[gv.Group] = true
			all := versions(gv.Group)
			groups.Groups = append(groups.Groups, metav1.APIGroup{Name: gv.Group, Versions: all, PreferredVersion: all[len(all)-1]})
		}
		list := metav1.APIResourceList{GroupVersion: text}
		for _, name := range names {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: "Kind"})
		}
		a.paths[path] = list
		a.paths["/openapi/v3"+path] = map[string]any{"of": text}
		published[strings.TrimPrefix(path, "/")] = map[string]string{"serverRelativeURL": "/openapi/v3" + path + "?hash=1"}
	}
	a.paths["/apis"] = groups
	a.paths["/openapi/v3"] = map[string]any{"paths": published}
}

// asked returns the numbers of requests since the last call.
func (a *answers) asked() (sent, unchanged int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	sent, unchanged = len(a.sent), len(a.unchanged)
	a.sent, a.unchanged = nil, nil
	return sent, unchanged
}

// discover returns the API as a new process finds it.
func discover(t *testing.T, config *rest.Config, cacheDir string) (*Cluster, *API) {
	t.Helper()
	c, err := newCluster(Context{Name: "c", Config: config}, clock.RealClock{}, cacheDir)
	assert.NilError(t, err)
	return c, apiOf(t, c)
}

func apiOf(t *testing.T, c *Cluster) *API {
	t.Helper()
	d, err := c.Discovery()
	assert.NilError(t, err)
	api, err := d.API(t.Context())
	assert.NilError(t, err)
	return api
}

func groupsOf(api *API) []string {
	var all []string
	for _, list := range api.Lists {
		all = append(all, list.GroupVersion)
	}
	return all
}

func TestDiscoveryIsCachedWhereKubectlCachesIt(t *testing.T) {
	served := map[string][]string{"v1": {"pods"}, "batch/v1": {"jobs"}}
	a, _ := serve(t, served)
	// Some hosts share a name and differ in their path.
	const prefix = "/k8s/clusters/c~1-(x)"
	server := httptest.NewServer(http.StripPrefix(prefix, a))
	t.Cleanup(server.Close)

	ours, kubectls, host := t.TempDir(), t.TempDir(), server.URL+prefix
	discover(t, &rest.Config{Host: host}, ours)
	flags := genericclioptions.NewConfigFlags(false)
	flags.CacheDir, flags.APIServer = &kubectls, &host
	client, err := flags.ToDiscoveryClient()
	assert.NilError(t, err)
	_, _, err = client.ServerGroupsAndResources()
	assert.NilError(t, err)

	assert.DeepEqual(t, filesIn(t, ours), filesIn(t, kubectls))
	assert.Assert(t, len(filesIn(t, ours)) > 3)
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	assert.NilError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

// TestDiscoveryBelievesTheServerOnly checks that the cache saves transfers, and hides no changes.
func TestDiscoveryBelievesTheServerOnly(t *testing.T) {
	served := map[string][]string{"v1": {"pods"}, "batch/v1": {"jobs"}, "example.com/v1beta1": {"widgets"}, "example.com/v1": {"widgets"}}
	a, url := serve(t, served)
	dir := t.TempDir()

	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	schemasOf := func(c *Cluster) {
		t.Helper()
		d, err := c.Discovery()
		assert.NilError(t, err)
		for range 2 {
			document, err := d.Schemas(t.Context(), gv)
			assert.NilError(t, err)
			assert.Equal(t, string(document), `{"of":"example.com/v1"}`)
		}
	}
	c, api := discover(t, &rest.Config{Host: url}, dir)
	assert.Equal(t, len(api.Lists), 4)
	schemasOf(c)
	sent, unchanged := a.asked()
	assert.Equal(t, sent, 2+4+2, "the groups, their resources, and the schemas of one of them")
	assert.Equal(t, unchanged, 0)

	// Another process gets the same.
	c, api = discover(t, &rest.Config{Host: url}, dir)
	assert.Equal(t, len(api.Lists), 4)
	schemasOf(c)
	sent, unchanged = a.asked()
	assert.Equal(t, sent, 0)
	assert.Equal(t, unchanged, 2+4+1, "schemas at an address with a hash never change")

	served["new.example.com/v1"] = []string{"gadgets"}
	a.install(served)
	assert.Equal(t, len(apiOf(t, c).Lists), 4, "one process is told one thing")
	c.forget()
	assert.Equal(t, len(apiOf(t, c).Lists), 5, "unless it asks anew")
	_, api = discover(t, &rest.Config{Host: url}, dir)
	assert.Equal(t, len(api.Lists), 5)
}

// TestBeginRoundReadsDiscovery checks that one round of questions gets one answer, and the next
// round a current one.
func TestBeginRoundReadsDiscovery(t *testing.T) {
	served := map[string][]string{"v1": {"pods"}}
	a, url := serve(t, served)
	dir := t.TempDir()
	f := Open(t.Context(), []Context{{Name: "c", Config: &rest.Config{Host: url}}}, Options{CacheDir: dir})
	ask := func() int {
		t.Helper()
		answers := Ask(t.Context(), f, func(ctx context.Context, c *Cluster) (*API, error) {
			d, err := c.Discovery()
			if err != nil {
				return nil, err
			}
			return d.API(ctx)
		})
		assert.NilError(t, answers[0].Err)
		return len(answers[0].Value.Lists)
	}
	assert.Equal(t, ask(), 1)
	assert.Assert(t, len(filesIn(t, dir)) > 0)
	served["example.com/v1"] = []string{"widgets"}
	a.install(served)
	assert.Equal(t, ask(), 1)
	f.BeginRound(t.Context())
	assert.Equal(t, ask(), 2)
}

func TestDiscoveryReturnsThePreferredVersionFirst(t *testing.T) {
	_, url := serve(t, map[string][]string{"v1": {"pods"}, "example.com/v1beta1": {"widgets"}, "example.com/v1": {"widgets"}})
	for _, dir := range []string{"", t.TempDir()} {
		_, api := discover(t, &rest.Config{Host: url}, dir)
		assert.DeepEqual(t, groupsOf(api), []string{"v1", "example.com/v1", "example.com/v1beta1"})
	}
}

func TestDiscoveryReportsFailedGroups(t *testing.T) {
	// A group without resources has not failed.
	a, url := serve(t, map[string][]string{"v1": {"pods"}, "batch/v1": {"jobs"}, "down.example.com/v1": {"widgets"}, "external.metrics.k8s.io/v1beta1": {}})
	a.paths["/apis/down.example.com/v1"] = http.StatusServiceUnavailable
	for _, dir := range []string{"", t.TempDir()} {
		_, api := discover(t, &rest.Config{Host: url}, dir)
		groups := groupsOf(api)
		assert.Assert(t, slices.Contains(groups, "v1") && slices.Contains(groups, "batch/v1"), groups)
		assert.Equal(t, len(api.Failed), 1, "%v", api.Failed)
		assert.Assert(t, api.Failed[schema.GroupVersion{Group: "down.example.com", Version: "v1"}] != nil)
	}
}

func TestUnpublishedSchemas(t *testing.T) {
	a, url := serve(t, map[string][]string{"v1": {"pods"}})
	ask := func() ([]byte, error) {
		c, _ := discover(t, &rest.Config{Host: url}, "")
		d, err := c.Discovery()
		assert.NilError(t, err)
		return d.Schemas(t.Context(), schema.GroupVersion{Group: "example.com", Version: "v1"})
	}
	document, err := ask()
	assert.NilError(t, err)
	assert.Assert(t, document == nil)

	// Old servers have no OpenAPI v3.
	delete(a.paths, "/openapi/v3")
	document, err = ask()
	assert.NilError(t, err)
	assert.Assert(t, document == nil)

	a.paths["/openapi/v3"] = http.StatusForbidden
	_, err = ask()
	assert.ErrorContains(t, err, "read its OpenAPI schemas")
}

// TestDiscoveryOfABundleIsNotCached checks that answers of a snapshot do not enter the cache of
// the real server.
func TestDiscoveryOfABundleIsNotCached(t *testing.T) {
	a, url := serve(t, map[string][]string{"v1": {"pods"}})
	dir := t.TempDir()
	config := &rest.Config{Host: url, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return w.Result(), nil
	})}
	_, api := discover(t, config, dir)
	assert.DeepEqual(t, groupsOf(api), []string{"v1"})
	assert.Equal(t, len(filesIn(t, dir)), 0)
}

func TestDiscoveryMetersTheClock(t *testing.T) {
	_, url := serve(t, map[string][]string{"v1": {"pods"}})
	dir := t.TempDir()
	for range 2 {
		c, _ := discover(t, &rest.Config{Host: url}, dir)
		skew := c.Skew()
		assert.Assert(t, skew.Known && skew.Min <= 0 && skew.Max >= 0, "%v", skew)
	}
}

func TestDiscoveryHeedsItsContext(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	for _, dir := range []string{"", t.TempDir()} {
		c, err := newCluster(Context{Name: "c", Config: &rest.Config{Host: server.URL}}, clock.RealClock{}, dir)
		assert.NilError(t, err)
		_, err = within(t.Context(), 50*time.Millisecond, func(ctx context.Context) (*API, error) {
			d, err := c.Discovery()
			if err != nil {
				return nil, err
			}
			return d.API(ctx)
		})
		var late *kubecontext.TimeoutError
		assert.Assert(t, errors.As(err, &late), "%v", err)
	}
}
