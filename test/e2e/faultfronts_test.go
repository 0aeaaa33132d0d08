package e2e

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// evilPath is the path to which a hostile proxy redirects its clients.
const evilPath = "/k8s/clusters/c-evil"

// anotherCluster is the fault of an address that leads to another cluster for a while.
const anotherCluster = "another cluster"

// fronts are faults of proxies in front of several clusters: they answer themselves, redirect
// clients, or forward to another cluster for a while.
func fronts() []fault {
	says := func(name string, code int, kind, body string) fault {
		return fault{name: name, respond: func(_ *faulty, _ <-chan struct{}, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}}
	}
	const offline = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Kubernetes cluster \"worker-1\" not found","reason":"NotFound","code":404}`
	return []fault{
		says("404 of a front", http.StatusNotFound, "application/json", offline),
		says("404 page", http.StatusNotFound, "text/html", "<html><body>404 Not Found</body></html>"),
		says("404 text", http.StatusNotFound, "text/plain", "404 page not found\n"),
		says("login page", http.StatusOK, "text/html", "<html><body>Please log in</body></html>"),
		{name: "redirects", respond: func(p *faulty, _ <-chan struct{}, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, p.URL+evilPath+r.URL.Path, http.StatusTemporaryRedirect)
		}},
		{name: anotherCluster, respond: func(p *faulty, _ <-chan struct{}, w http.ResponseWriter, r *http.Request) {
			p.elsewhere.ServeHTTP(w, r)
		}},
	}
}

// proxyTo forwards requests to a cluster as its administrator.
func proxyTo(t *testing.T, cluster string) *httputil.ReverseProxy {
	t.Helper()
	config, err := set.Config(cluster)
	assert.NilError(t, err)
	transport, err := rest.TransportFor(config)
	assert.NilError(t, err)
	target, err := url.Parse(config.Host)
	assert.NilError(t, err)
	return &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

// pinHooks are called before an origin is patched with the name of its mirror, by the prefix of the
// name of the origin. A hook that returns true is removed, and the request fails.
type pinHooks struct {
	mu    sync.Mutex
	hooks map[string]func()
}

// arm sets a function to call once at the next such request for origins with a prefix; nil removes
// it.
func (h *pinHooks) arm(prefix string, do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hooks == nil {
		h.hooks = map[string]func(){}
	}
	h.hooks[prefix] = do
}

// strikes reports whether a request must fail.
func (h *pinHooks) strikes(r *http.Request) bool {
	if r.Method != http.MethodPatch || path.Base(path.Dir(r.URL.Path)) != "jobs" {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(`"`+delegation.MirrorAnnotation+`":"`)) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for prefix, do := range h.hooks {
		if do != nil && strings.HasPrefix(path.Base(r.URL.Path), prefix) {
			h.hooks[prefix] = nil
			do()
			return true
		}
	}
	return false
}

// forge changes annotations of origins at random times until ctx ends: it removes them, as kubectl
// replace does, copies those of other origins, and names Jobs of other owners. It returns how often
// it did.
func forge(ctx context.Context, t *testing.T, seed uint64, ns string, names []string) (forged int) {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, 7))
	payroll := jobOf(t, worker1, ns, "bystander-mine")
	system, err := client(t, worker1).CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	assert.NilError(t, err)
	place := delegation.Place{ClusterUID: string(system.UID), Namespace: ns, Name: payroll.Name, UID: string(payroll.UID)}
	jobs := client(t, management).BatchV1().Jobs(ns)
	for ctx.Err() == nil {
		pause(ctx, time.Duration(500+chance.IntN(2500))*time.Millisecond)
		value := []string{"null", `"` + place.String() + `"`, ""}[chance.IntN(3)]
		if value == "" {
			other, err := jobs.Get(ctx, names[chance.IntN(len(names))], metav1.GetOptions{})
			if err != nil || other.Annotations[delegation.MirrorAnnotation] == "" {
				continue
			}
			value = `"` + other.Annotations[delegation.MirrorAnnotation] + `"`
		}
		name := names[chance.IntN(len(names))]
		origin, err := jobs.Get(ctx, name, metav1.GetOptions{})
		if err != nil || origin.Status.CompletionTime != nil || origin.Annotations[delegation.MirrorAnnotation] == "" {
			continue // Without a mirror, a forged annotation is refused.
		}
		text := `{"metadata":{"annotations":{"` + delegation.MirrorAnnotation + `":` + value + `}}}`
		if _, err := jobs.Patch(ctx, name, types.MergePatchType, []byte(text), metav1.PatchOptions{}); err == nil {
			forged++
		}
	}
	return forged
}
