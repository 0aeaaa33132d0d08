package read

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// watching reads a server repeatedly, and compares what it has read.
type watching struct {
	t       *testing.T
	fleet   *fleet.Fleet
	changed <-chan struct{}
	listing Listing
	rows    inspect.Rows
	outages inspect.Outages
	// pending are the differences that no test has seen.
	pending []string
}

func watchServer(t *testing.T, server *httptest.Server) *watching {
	t.Helper()
	contexts := []fleet.Context{{Name: "hub", Namespace: "ml", Config: &rest.Config{Host: server.URL, QPS: -1}}}
	w := &watching{t: t, listing: Listing{IsRepeated: true}}
	w.fleet = fleet.Open(t.Context(), contexts, fleet.Options{Timeout: 500 * time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	w.changed = w.fleet.Watch(ctx)
	w.read()
	return w
}

// read reads once.
func (w *watching) read() {
	w.t.Helper()
	list, others := w.listing.Read(w.t.Context(), w.fleet)
	lost, regained := w.outages.Update(list.Errors)
	for _, e := range lost {
		w.pending = append(w.pending, "LOST "+e.Message)
	}
	for range regained {
		w.pending = append(w.pending, "REGAINED")
	}
	for _, c := range w.rows.Update(list.All(), others) {
		w.pending = append(w.pending, fmt.Sprintf("%s %s %s %s", c.Type, c.Job.Name, c.Job.UID, c.Job.Status))
	}
}

// next returns the next difference.
func (w *watching) next() string {
	w.t.Helper()
	timeout := time.After(20 * time.Second)
	for len(w.pending) == 0 {
		select {
		case <-w.changed:
		case <-time.After(50 * time.Millisecond):
		case <-timeout:
			w.t.Fatal("nothing differs")
		}
		w.fleet.BeginRound(w.t.Context())
		w.read()
	}
	text := w.pending[0]
	w.pending = w.pending[1:]
	return text
}

// expect checks the next differences.
func (w *watching) expect(want ...string) {
	w.t.Helper()
	for _, one := range want {
		assert.Equal(w.t, w.next(), one)
	}
}

// hub is an API server with Jobs and Workloads.
type hub struct {
	mu      sync.Mutex
	version int
	// jobs are by name. claimed are the UIDs with Workloads.
	jobs    map[string]hubJob
	claimed []string
	// hangs makes all requests hang. refused is the resource that is denied.
	hangs   bool
	refused string
	// events are the channels of open watches, by resource.
	events map[string]chan string
}

type hubJob struct {
	uid, owner string
	active     int
}

func newHub(t *testing.T) (*hub, *httptest.Server) {
	t.Helper()
	h := &hub{jobs: map[string]hubJob{}, events: map[string]chan string{}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return h, server
}

// change changes the hub without an event.
func (h *hub) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version++
	do()
}

// behind changes the hub during a watch and ends that watch, so that its events are lost.
func (h *hub) behind(t *testing.T, resource string, do func()) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.events[resource] == nil {
			return poll.Continue("nobody watches %s", resource)
		}
		h.version++
		do()
		h.events[resource] <- `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`
		delete(h.events, resource)
		return poll.Success()
	}, poll.WithTimeout(20*time.Second), poll.WithDelay(time.Millisecond))
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	w.Header().Set("Content-Type", "application/json")
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.hangs:
		h.mu.Unlock()
		<-r.Context().Done()
		h.mu.Lock()
	case resource == h.refused:
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`)
	case r.URL.Query().Get("watch") != "":
		h.watch(w, r, resource)
	case resource == "jobs":
		h.list(w, "batch/v1", "Job", h.jobObjects())
	case resource == "workloads":
		h.list(w, "meta.k8s.io/v1", "PartialObjectMetadata", h.workloadObjects())
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (h *hub) jobObjects() (items []map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(h.jobs)) {
		j := h.jobs[name]
		spec := map[string]any{}
		if j.owner != "" {
			spec["managedBy"] = j.owner
		}
		items = append(items, map[string]any{
			"metadata": map[string]any{"name": name, "namespace": "ml", "uid": j.uid}, "spec": spec, "status": map[string]any{"active": j.active},
		})
	}
	return items
}

func (h *hub) workloadObjects() (items []map[string]any) {
	for _, uid := range h.claimed {
		items = append(items, map[string]any{"metadata": map[string]any{"name": "w-" + uid, "namespace": "ml", "labels": map[string]any{"kueue.x-k8s.io/job-uid": uid}}})
	}
	return items
}

func (h *hub) list(w io.Writer, apiVersion, kind string, items []map[string]any) {
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": kind + "List", "apiVersion": apiVersion, "metadata": metav1.ListMeta{ResourceVersion: fmt.Sprint(h.version + 1)}, "items": items,
	})
}

func (h *hub) watch(w http.ResponseWriter, r *http.Request, resource string) {
	events := make(chan string, 1)
	h.events[resource] = events
	h.mu.Unlock()
	defer h.mu.Lock()
	_ = http.NewResponseController(w).Flush()
	select {
	case <-r.Context().Done():
	case event := <-events:
		_, _ = io.WriteString(w, event+"\n")
	}
}

// TestListingDiffers checks that two readings of a watched server differ by what has happened.
func TestListingDiffers(t *testing.T) {
	h, server := newHub(t)
	h.jobs["a"], h.jobs["b"], h.jobs["c"] = hubJob{uid: "1"}, hubJob{uid: "2"}, hubJob{uid: "3"}
	w := watchServer(t, server)
	w.expect("ADDED a 1 Unclaimed", "ADDED b 2 Unclaimed", "ADDED c 3 Unclaimed")
	h.behind(t, "jobs", func() {
		h.jobs["b"] = hubJob{uid: "2", active: 1}
		delete(h.jobs, "c")
	})
	w.expect("DELETED c 3 Unclaimed", "MODIFIED b 2 Running")
	h.behind(t, "jobs", func() { h.jobs["a"] = hubJob{uid: "4"} })
	w.expect("DELETED a 1 Unclaimed", "ADDED a 4 Unclaimed")
}

// TestListingOfClaims checks that a Job differs when Kueue creates its Workload, and that unreadable
// Workloads are an outage, during which the Job does not seem unclaimed.
func TestListingOfClaims(t *testing.T) {
	h, server := newHub(t)
	h.jobs["a"] = hubJob{uid: "1", owner: string(delegation.MultiKueue)}
	w := watchServer(t, server)
	w.expect("ADDED a 1 Unclaimed")
	h.behind(t, "workloads", func() { h.claimed = []string{"1"} })
	w.expect("MODIFIED a 1 Pending")
	h.behind(t, "workloads", func() { h.refused = "workloads" })
	w.expect("LOST cannot list workloads.kueue.x-k8s.io: no; jobs of MultiKueue without a status may be unclaimed")
	h.behind(t, "jobs", func() { h.jobs["b"] = hubJob{uid: "2"} })
	w.expect("ADDED b 2 Unclaimed")
	h.behind(t, "jobs", func() { delete(h.jobs, "a") })
	w.expect("REGAINED", "DELETED a 1 Pending")
}

// TestListingDuringAHang checks that an open connection without data is an outage, during which
// the Jobs stay listed.
func TestListingDuringAHang(t *testing.T) {
	h, server := newHub(t)
	h.jobs["b"] = hubJob{uid: "2"}
	w := watchServer(t, server)
	w.expect("ADDED b 2 Unclaimed")
	h.change(func() { h.hangs = true })
	w.expect("LOST cannot reach the cluster: no answer within 500ms. Raise --context-timeout, or skip the context with --contexts '^hub'")
	w.read()
	assert.Equal(t, len(w.pending), 0, "%q", w.pending)
	h.change(func() {
		h.hangs = false
		h.jobs["a"] = hubJob{uid: "1"}
	})
	w.expect("REGAINED", "ADDED a 1 Unclaimed")
}

// TestListingEarly checks that the Jobs of a context can be seen while a later one hangs, and that
// those of a later one are not, since their rows come last.
func TestListingEarly(t *testing.T) {
	for slow, want := range map[int][]string{0: nil, 1: {"west/a"}} {
		var contexts []fleet.Context
		var hubs []*hub
		for _, name := range []string{"west", "east"} {
			h, server := newHub(t)
			h.jobs["a"] = hubJob{uid: name}
			hubs = append(hubs, h)
			contexts = append(contexts, fleet.Context{Name: name, Namespace: "ml", Config: &rest.Config{Host: server.URL, QPS: -1}})
		}
		f := fleet.Open(t.Context(), contexts, fleet.Options{Timeout: time.Second})
		hubs[slow].change(func() { hubs[slow].hangs = true })
		l := Listing{IsRepeated: true}
		done := make(chan []*inspect.Job)
		go func() {
			list, _ := l.Read(t.Context(), f)
			done <- list.All()
		}()
		var early []string
		for isRead := false; !isRead; {
			select {
			case jobs := <-done:
				isRead = true
				assert.Equal(t, len(jobs), 1)
			case <-time.After(10 * time.Millisecond):
				if jobs := l.Early().All(); len(jobs) > 0 {
					early = []string{jobs[0].Context + "/" + jobs[0].Name}
				}
			}
		}
		assert.DeepEqual(t, early, want)
		assert.Equal(t, len(l.Early().Items), 0)
	}
}

// TestWatchOfRubbish checks that invalid events are not shown, that the watch starts again, and
// that later changes are reported.
func TestWatchOfRubbish(t *testing.T) {
	for name, rubbish := range map[string]string{
		"a page":           "<html>\x1b[2J",
		"brackets":         strings.Repeat("[", 1<<16),
		"an unknown event": `{"type":"EVIL\u001b[2J","object":{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"x"}}}` + "\n",
		"another kind":     `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"5"}}}` + "\n",
		"no object":        `{"type":"ADDED"}` + "\n",
		"half an event":    `{"type":"ADDED","object":{"kind":"Job"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const job = `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"job-%d","namespace":"ml","uid":"%[1]d","resourceVersion":"%[1]d"}}`
			var watches atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case !strings.HasSuffix(r.URL.Path, "/jobs"):
					w.WriteHeader(http.StatusNotFound)
				case r.URL.Query().Get("watch") != "":
					if watches.Add(1) == 1 {
						_, _ = io.WriteString(w, rubbish)
						return
					}
					_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":`+job+"}\n", 2)
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				default:
					_, _ = fmt.Fprintf(w, `{"kind":"JobList","apiVersion":"batch/v1","metadata":{"resourceVersion":"1"},"items":[`+job+`]}`, 1)
				}
			}))
			defer server.Close()
			w := watchServer(t, server)
			for {
				change := w.next()
				assert.Assert(t, !strings.HasPrefix(change, "ADDED") || strings.HasPrefix(change, "ADDED job-"), "%s", change)
				if strings.HasPrefix(change, "ADDED job-2 ") {
					return
				}
			}
		})
	}
}
