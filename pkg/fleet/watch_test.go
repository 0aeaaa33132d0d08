package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
)

// watchable is an API server with ConfigMaps, and watches that a test can end.
type watchable struct {
	mu      sync.Mutex
	version int
	names   []string
	// lists counts lists. from are the resource versions at which watches started.
	lists int
	from  []string
	// refuse is the code with which watches are refused; 0 if they are not. freeze blocks all
	// answers.
	refuse int
	freeze chan struct{}
	// frozen counts the requests for objects during a freeze.
	frozen int
	// events are for the open watch, which ends when the channel is closed.
	events chan string
}

func (s *watchable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	freeze := s.freeze
	if freeze != nil && strings.HasSuffix(r.URL.Path, "/configmaps") {
		s.frozen++
	}
	s.mu.Unlock()
	if freeze != nil {
		select {
		case <-freeze:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !strings.HasSuffix(r.URL.Path, "/configmaps"):
		http.NotFound(w, r)
	case r.URL.Query().Get("watch") == "":
		s.list(w, r)
	default:
		s.watch(w, r)
	}
}

func (s *watchable) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	var items []string
	for _, name := range s.names {
		if wanted := r.URL.Query().Get("fieldSelector"); wanted == "" || wanted == "metadata.name="+name {
			items = append(items, fmt.Sprintf(`{"metadata":{"namespace":"ns","name":%q}}`, name))
		}
	}
	_, _ = fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[%s]}`, s.version, strings.Join(items, ","))
}

func (s *watchable) watch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.from = append(s.from, r.URL.Query().Get("resourceVersion"))
	refuse, events := s.refuse, make(chan string, 10)
	s.events = events
	s.mu.Unlock()
	if refuse != 0 {
		status := apierrors.NewGenericServerResponse(refuse, "watch", corev1.Resource("configmaps"), "", "no", 0, false).ErrStatus
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		w.WriteHeader(refuse)
		_ = json.NewEncoder(w).Encode(status)
		return
	}
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case event, ok := <-events:
			if !ok {
				return
			}
			_, _ = fmt.Fprintln(w, event)
		}
	}
}

// send sends an event to the open watch.
func (s *watchable) send(t *testing.T, event, name string) {
	t.Helper()
	eventually(t, "a watch", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.events != nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.events <- fmt.Sprintf(`{"type":%q,"object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"ns","name":%q,"resourceVersion":"%d"}}}`, event, name, s.version)
}

// end ends the open watch and waits for the next one.
func (s *watchable) end(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	close(s.events)
	s.events = nil
	s.mu.Unlock()
}

func (s *watchable) count() (lists int, from []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, slices.Clone(s.from)
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if is() {
			return poll.Success()
		}
		return poll.Continue("no %s", what)
	}, poll.WithTimeout(time.Minute), poll.WithDelay(time.Millisecond))
}

// watchedNames reads a fleet of one cluster.
type watchedNames struct {
	*watchable
	t       *testing.T
	fleet   *Fleet
	clock   *testclock.FakeClock
	changed <-chan struct{}
}

func newWatchedNames(t *testing.T) *watchedNames {
	t.Helper()
	return newWatchedNamesWithin(t, 0, cache.Retry)
}

func newWatchedNamesWithin(t *testing.T, timeout, retry time.Duration) *watchedNames {
	t.Helper()
	s := &watchable{version: 1, names: []string{"a", "b"}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	n := &watchedNames{watchable: s, t: t, clock: testclock.NewFakeClock(time.Now())}
	n.fleet = Open(t.Context(), []Context{{Name: "one", Namespace: "ns", Config: &rest.Config{Host: server.URL, QPS: -1}}}, Options{Clock: n.clock, Timeout: timeout})
	n.fleet.retry = retry
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	n.changed = n.fleet.Watch(ctx)
	return n
}

type configMap struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
}

func (n *watchedNames) read() string {
	n.t.Helper()
	n.fleet.BeginRound(n.t.Context())
	answers := Ask(n.t.Context(), n.fleet, func(ctx context.Context, c *Cluster) (names []string, err error) {
		err = EachObject(ctx, c, corev1.SchemeGroupVersion.WithResource("configmaps"), "ns", metav1.ListOptions{}, func(o *configMap) {
			names = append(names, o.Metadata.Name)
		})
		return names, err
	})
	if answers[0].Err != nil {
		return answers[0].Err.Error()
	}
	return strings.Join(answers[0].Value, " ")
}

// becomes waits for a result, reading again after each reported change.
func (n *watchedNames) becomes(want string) {
	n.t.Helper()
	for n.read() != want {
		select {
		case <-n.changed:
		case <-time.After(time.Minute):
			n.t.Fatalf("no change is told, and it is %q in place of %q", n.read(), want)
		}
	}
}

// TestWatch checks that repeated reads return the current state without requests.
func TestWatch(t *testing.T) {
	n := newWatchedNames(t)
	assert.Equal(t, n.read(), "a b")
	n.send(t, "ADDED", "aa")
	n.becomes("a aa b")
	n.send(t, "DELETED", "b")
	n.becomes("a aa")
	n.send(t, "MODIFIED", "a")
	<-n.changed
	assert.Equal(t, n.read(), "a aa")

	// After the server ends the watch, it continues after the last event.
	n.send(t, "BOOKMARK", "")
	n.clock.Step(time.Minute)
	n.end(t)
	eventually(t, "second watch", func() bool { _, from := n.count(); return len(from) == 2 })
	lists, from := n.count()
	assert.Equal(t, lists, 1)
	assert.DeepEqual(t, from, []string{"1", "5"})
	n.send(t, "ADDED", "c")
	n.becomes("a aa c")
	lists, _ = n.count()
	assert.Equal(t, lists, 1)
}

// TestWatchEnds checks that data is read again when no watch keeps it current.
func TestWatchEnds(t *testing.T) {
	t.Run("history is gone", func(t *testing.T) {
		n := newWatchedNames(t)
		assert.Equal(t, n.read(), "a b")
		n.send(t, "ADDED", "c")
		n.becomes("a b c")
		n.mu.Lock()
		n.names = []string{"z"}
		n.events <- `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`
		n.mu.Unlock()
		n.becomes("z")
	})
	t.Run("refused", func(t *testing.T) {
		n := newWatchedNames(t)
		n.refuse = http.StatusForbidden
		assert.Equal(t, n.read(), "a b")
		eventually(t, "note", func() bool { return len(n.fleet.WatchFailures()) == 1 })
		assert.Equal(t, n.fleet.WatchFailures()[0].What, "configmaps")
		for range 5 {
			assert.Equal(t, n.read(), "a b")
			n.clock.Step(cache.Soon)
		}
		lists, from := n.count()
		assert.Equal(t, lists, 5)
		assert.Equal(t, len(from), 1, "a watch that is refused is not tried each time")
	})
	t.Run("not wanted", func(t *testing.T) {
		n := newWatchedNames(t)
		assert.Equal(t, n.read(), "a b")
		n.clock.Step(time.Hour)
		assert.Equal(t, n.read(), "a b")
		lists, _ := n.count()
		assert.Equal(t, lists, 2)
	})
}

// TestWatchOfLostCluster checks that a cluster that stops answering is waited for once.
func TestWatchOfLostCluster(t *testing.T) {
	n := newWatchedNamesWithin(t, 2*time.Second, time.Millisecond)
	assert.Equal(t, n.read(), "a b")
	n.mu.Lock()
	n.freeze = make(chan struct{})
	n.mu.Unlock()
	// This object is not known yet, so it has to be requested.
	ask := func() error {
		return Ask(t.Context(), n.fleet, func(ctx context.Context, c *Cluster) (struct{}, error) {
			_, err := Object(ctx, c, corev1.SchemeGroupVersion.WithResource("configmaps"), "ns", "b")
			return struct{}{}, err
		})[0].Err
	}
	assert.ErrorContains(t, ask(), "no answer within")
	<-n.changed
	asked := func() int { n.mu.Lock(); defer n.mu.Unlock(); return n.frozen }
	before := asked()
	assert.ErrorContains(t, ask(), "no answer within")
	assert.Equal(t, asked(), before)

	close(n.freeze)
	n.mu.Lock()
	n.freeze = nil
	n.mu.Unlock()
	<-n.changed // This happens in the background.
	assert.NilError(t, ask())
	lists, _ := n.count()
	assert.Equal(t, n.read(), "a b")
	again, _ := n.count()
	assert.Equal(t, again, lists+1, "what was known before may be outdated")
}

// TestOutage checks that a cluster counts as lost if no request reaches it or it is overloaded, as for
// dispatch, and that a refusal is an answer.
func TestOutage(t *testing.T) {
	refuse := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			status := apierrors.NewGenericServerResponse(code, "get", corev1.Resource("namespaces"), metav1.NamespaceSystem, "no", 0, false).ErrStatus
			status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(status)
		}
	}
	noCredentials := func(http.RoundTripper) http.RoundTripper {
		return roundTripper(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("getting credentials: exec: exit status 1")
		})
	}
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		wrap  func(http.RoundTripper) http.RoundTripper
		want  string
	}{
		"forbidden":      {serve: refuse(http.StatusForbidden)},
		"no such object": {serve: refuse(http.StatusNotFound)},
		"overloaded":     {serve: refuse(http.StatusTooManyRequests), want: "cannot reach the cluster"},
		"out of service": {serve: refuse(http.StatusServiceUnavailable), want: "cannot reach the cluster"},
		"no credentials": {serve: refuse(http.StatusForbidden), wrap: noCredentials, want: "getting credentials: exec: exit status 1. Log in again"},
		"no answer":      {serve: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, want: "no answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.serve)
			t.Cleanup(server.Close)
			f := Open(t.Context(), []Context{{Name: "one", Config: &rest.Config{Host: server.URL, QPS: -1, WrapTransport: tt.wrap}}}, Options{Clock: testclock.NewFakeClock(time.Now())})
			timeout := time.Minute
			if name == "no answer" {
				timeout = time.Millisecond
			}
			err := f.members[0].routes[0].outage(t.Context(), timeout)
			if tt.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.want)
		})
	}
}
