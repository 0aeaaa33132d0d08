package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// faulty is a proxy of an API server that fails like a network and overloaded servers: now and then
// a fault affects a request.
type faulty struct {
	*httptest.Server
	connections *connections
	next        http.Handler
	// elsewhere is another cluster at the same address.
	elsewhere http.Handler
	pins      pinHooks
	// strayed is the number of requests that followed a redirect.
	strayed atomic.Int64
	admin   kubernetes.Interface
	// compact compacts the cluster's etcd.
	compact func()
	// now is the current fault, nil if there is none.
	now atomic.Pointer[fault]
	// befallen is the number of requests with a fault.
	befallen atomic.Int64
}

// fault affects requests until it is over.
type fault struct {
	name string
	// respond answers a request, or does not.
	respond func(p *faulty, over <-chan struct{}, w http.ResponseWriter, r *http.Request)
	// begin is called once when the fault begins; nil if there is nothing to do.
	begin func(p *faulty)
	over  chan struct{}
}

// connections are the open connections of a server. They are closed all at once.
type connections struct {
	net.Listener
	mu   sync.Mutex
	open []net.Conn
}

func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.mu.Lock()
		c.open = append(c.open, conn)
		c.mu.Unlock()
	}
	return conn, err
}

// reset closes all of them abruptly.
func (c *connections) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	c.open = nil
}

// newFaulty starts a faulty proxy of a cluster.
func newFaulty(t *testing.T, cluster string) *faulty {
	t.Helper()
	compact := func() {
		if err := set.Compact(t.Context(), cluster); err != nil {
			t.Error(err)
		}
	}
	p := &faulty{admin: client(t, cluster), compact: compact, next: proxyTo(t, cluster), elsewhere: proxyTo(t, worker2)}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, evilPath) {
			p.strayed.Add(1)
		}
		if p.pins.strikes(r) {
			panic(http.ErrAbortHandler)
		}
		if now := p.now.Load(); now != nil {
			p.befallen.Add(1)
			now.respond(p, now.over, w, r)
			return
		}
		p.next.ServeHTTP(w, r)
	}))
	p.connections = &connections{Listener: p.Listener}
	p.Listener = p.connections
	p.EnableHTTP2 = true
	p.StartTLS()
	t.Cleanup(func() {
		p.connections.reset()
		p.Close()
	})
	return p
}

// behindFaults writes a kubeconfig in which the servers of clusters are behind proxies.
func behindFaults(t *testing.T, file string, proxies map[string]*faulty) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(set.Kubeconfig)
	assert.NilError(t, err)
	for cluster, p := range proxies {
		entry := config.Clusters[config.Contexts[cluster].Cluster]
		entry.Server, entry.CertificateAuthority = p.URL, ""
		entry.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	}
	assert.NilError(t, clientcmd.WriteToFile(*config, file))
}

// inject applies a fault to all requests for a while.
func (p *faulty) inject(ctx context.Context, f fault, lasts time.Duration) {
	f.over = make(chan struct{})
	p.now.Store(&f)
	if f.begin != nil {
		f.begin(p)
	}
	pause(ctx, lasts)
	p.now.Store(nil)
	close(f.over)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// faults returns the possible faults of requests.
func faults() []fault {
	answers := func(name string, code int, reason metav1.StatusReason, retryAfter string) fault {
		return fault{name: name, respond: func(_ *faulty, _ <-chan struct{}, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code), Message: name,
			})
		}}
	}
	return append(fronts(), []fault{
		answers("500", http.StatusInternalServerError, metav1.StatusReasonInternalError, ""),
		answers("503", http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, ""),
		answers("504", http.StatusGatewayTimeout, metav1.StatusReasonTimeout, ""),
		answers("429", http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "1"),
		{name: "connections reset", respond: abort, begin: func(p *faulty) { p.connections.reset() }},
		{name: "answers lost", respond: loseAnswer, begin: func(p *faulty) { p.connections.reset() }},
		{name: "black hole", respond: swallow},
		{name: "slow", respond: delay},
		{name: "answers cut off", respond: cutOff, begin: func(p *faulty) { p.connections.reset() }},
		{name: "conflicts", respond: conflict},
		{name: "watches expired", respond: expire, begin: func(p *faulty) { p.connections.reset() }},
		{name: "etcd compacted", respond: pass, begin: func(p *faulty) {
			p.compact()
			p.connections.reset()
		}},
	}...)
}

func pass(p *faulty, _ <-chan struct{}, w http.ResponseWriter, r *http.Request) {
	p.next.ServeHTTP(w, r)
}

func abort(*faulty, <-chan struct{}, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// loseAnswer processes a request and drops the answer.
func loseAnswer(p *faulty, _ <-chan struct{}, _ http.ResponseWriter, r *http.Request) {
	if !isWatch(r) {
		p.next.ServeHTTP(httptest.NewRecorder(), r)
	}
	panic(http.ErrAbortHandler)
}

// swallow does not answer a request.
func swallow(_ *faulty, over <-chan struct{}, _ http.ResponseWriter, r *http.Request) {
	select {
	case <-over:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

func delay(p *faulty, _ <-chan struct{}, w http.ResponseWriter, r *http.Request) {
	pause(r.Context(), 300*time.Millisecond)
	p.next.ServeHTTP(w, r)
}

// cutOff closes the connection in the middle of an answer.
func cutOff(p *faulty, _ <-chan struct{}, w http.ResponseWriter, r *http.Request) {
	p.next.ServeHTTP(&cutWriter{ResponseWriter: w, left: 100}, r)
}

type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(text []byte) (int, error) {
	if len(text) >= w.left {
		_, _ = w.ResponseWriter.Write(text[:w.left])
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	w.left -= len(text)
	return w.ResponseWriter.Write(text)
}

func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// conflict changes a Job right before a client writes to it.
func conflict(p *faulty, _ <-chan struct{}, w http.ResponseWriter, r *http.Request) {
	steps := strings.Split(strings.TrimSuffix(r.URL.Path, "/status"), "/")
	if (r.Method == http.MethodPut || r.Method == http.MethodPatch) && len(steps) > 3 && steps[len(steps)-2] == "jobs" {
		text := `{"metadata":{"annotations":{"test/written":"` + time.Now().Format(time.RFC3339Nano) + `"}}}`
		_, _ = p.admin.BatchV1().Jobs(steps[len(steps)-3]).Patch(r.Context(), path.Base(strings.Join(steps, "/")), types.MergePatchType, []byte(text), metav1.PatchOptions{})
	}
	p.next.ServeHTTP(w, r)
}

// expire starts a watch at a resource version that the server has compacted.
func expire(p *faulty, _ <-chan struct{}, w http.ResponseWriter, r *http.Request) {
	if query := r.URL.Query(); isWatch(r) && query.Get("sendInitialEvents") == "" {
		query.Set("resourceVersion", "1")
		r.URL.RawQuery = query.Encode()
	}
	p.next.ServeHTTP(w, r)
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }
