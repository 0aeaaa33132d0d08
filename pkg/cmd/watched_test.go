package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// watchedFleet serves the clusters of a bundle with watches, sends the events of a test, and
// counts its requests.
type watchedFleet struct {
	t          *testing.T
	transports map[string]http.RoundTripper
	kubeconfig string
	// clock is shared by all.
	clock *roundsClock
	// may reports whether a request is allowed.
	may func(context string, r rbactest.Request) bool

	mu sync.Mutex
	// asked are the numbers of requests by verb, and of those that were refused.
	asked map[string]int
	// watches are the open watches.
	watches map[*watchStream]bool
	// stopped are the contexts whose server does not answer.
	stopped map[string]bool
}

// watchStream is an open watch.
type watchStream struct {
	context, path string
	events        chan string
}

func newWatchedFleet(t *testing.T, dir string) *watchedFleet {
	t.Helper()
	f := &watchedFleet{
		t: t, clock: &roundsClock{FakeClock: testclock.NewFakeClock(time.Now())}, transports: map[string]http.RoundTripper{}, asked: map[string]int{}, watches: map[*watchStream]bool{}, stopped: map[string]bool{},
		may: func(string, rbactest.Request) bool { return true },
	}
	for _, c := range openBundle(t, dir).Contexts() {
		f.transports[c.Name] = c.Config.Transport
	}
	f.kubeconfig = serve(t, dir, func(name string, w http.ResponseWriter, r *http.Request) bool {
		f.serve(name, w, r)
		return true
	})
	return f
}

func (f *watchedFleet) serve(name string, w http.ResponseWriter, r *http.Request) {
	if f.isStopped(name) {
		panic(http.ErrAbortHandler)
	}
	asked, isObject := rbactest.RequestOf(r)
	w.Header().Set("Date", f.clock.Now().UTC().Format(http.TimeFormat))
	if isObject && !f.may(name, asked) {
		f.note("refused")
		rbactest.Refuse(w, asked)
		return
	}
	if asked.Verb == "watch" {
		f.note(asked.Verb)
		f.watch(name, w, r)
		return
	}
	answer, err := f.transports[name].RoundTrip(r)
	if err != nil {
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusNotFound && asked.Verb == "list" {
		// The resource is not served.
		asked.Verb = "refused"
	}
	f.note(asked.Verb)
	relay(w, answer)
}

// note counts a request.
func (f *watchedFleet) note(verb string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[verb]++
}

func (f *watchedFleet) watch(name string, w http.ResponseWriter, r *http.Request) {
	s := &watchStream{context: name, path: r.URL.Path, events: make(chan string, 100)}
	f.mu.Lock()
	f.watches[s] = true
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	controller := http.NewResponseController(w)
	_ = controller.Flush()
	defer func() {
		f.mu.Lock()
		delete(f.watches, s)
		f.mu.Unlock()
	}()
	for {
		select {
		case <-r.Context().Done():
			return
		case event, isOpen := <-s.events:
			if !isOpen {
				return
			}
			_, _ = io.WriteString(w, event+"\n")
			_ = controller.Flush()
		}
	}
}

// happen sends an event to all watches of a path, about the first object that is listed there.
func (f *watchedFleet) happen(name, path, event string) {
	f.t.Helper()
	assert.Assert(f.t, f.send(name, path, event) > 0, "nobody watches %s of %s", path, name)
}

// send is happen, except that it returns the number of watches, which may be zero.
func (f *watchedFleet) send(name, path, event string) (count int) {
	f.t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://cluster"+path, http.NoBody)
	assert.NilError(f.t, err)
	answer, err := f.transports[name].RoundTrip(r)
	assert.NilError(f.t, err)
	defer func() { _ = answer.Body.Close() }()
	var list struct {
		Kind, APIVersion string
		Items            []map[string]any
	}
	assert.NilError(f.t, json.NewDecoder(answer.Body).Decode(&list))
	assert.Assert(f.t, len(list.Items) > 0, "%s of %s", path, name)
	object := list.Items[0]
	object["kind"], object["apiVersion"] = strings.TrimSuffix(list.Kind, "List"), list.APIVersion
	text, err := json.Marshal(map[string]any{"type": event, "object": object})
	assert.NilError(f.t, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.watches {
		if s.context == name && s.path == path {
			s.events <- string(text)
			count++
		}
	}
	return count
}

// stopServer ends the watches of a cluster, and closes its connections without an answer, until the
// returned function is called. Commands notice it within --context-timeout.
func (f *watchedFleet) stopServer(name string) (start func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped[name] = true
	for s := range f.watches {
		if s.context == name {
			delete(f.watches, s)
			close(s.events)
		}
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.stopped, name)
	}
}

func (f *watchedFleet) isStopped(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped[name]
}

// count returns the requests so far by verb, and the number of open watches.
func (f *watchedFleet) count() (asked map[string]int, watches int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.asked), len(f.watches)
}

// roundsClock counts how often a ticker is waited for.
type roundsClock struct {
	*testclock.FakeClock
	mu     sync.Mutex
	rounds int
}

func (c *roundsClock) NewTicker(d time.Duration) clock.Ticker {
	ticker := c.FakeClock.NewTicker(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rounds++
	return ticker
}

func (c *roundsClock) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rounds
}

// output is what a command has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// watching is a command that watches.
type watching struct {
	t           *testing.T
	clock       *roundsClock
	out, errOut *output
	stop        func() (code int)
	// ended is closed when the command has ended.
	ended chan struct{}
}

// follow runs a command with -w.
func (f *watchedFleet) follow(args ...string) *watching {
	f.t.Helper()
	return f.start(append(args, "-w")...)
}

// start runs a command that watches by itself.
func (f *watchedFleet) start(args ...string) *watching {
	f.t.Helper()
	w := &watching{t: f.t, clock: f.clock, out: &output{}, errOut: &output{}, ended: make(chan struct{})}
	ctx, interrupt := context.WithCancelCause(f.t.Context())
	root, _ := newRootCommand(util.Environment{
		IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: w.out, ErrOut: w.errOut}, Program: "kubectl-jobs_managedby",
		Args:      append(args, "--kubeconfig", f.kubeconfig, "--cache-dir", f.t.TempDir()),
		LookupEnv: func(string) (string, bool) { return "", false }, Clock: w.clock,
	})
	var code int
	go func() {
		defer close(w.ended)
		code = exitCode(w.errOut, root.ExecuteContext(ctx), command.Reach{})
	}()
	w.stop = func() int {
		interrupt(&util.SignalError{Signal: syscall.SIGINT})
		<-w.ended
		return code
	}
	return w
}

// until waits for a condition that the command reaches by itself.
func (w *watching) until(what string, is func() bool) {
	w.t.Helper()
	poll.WaitOn(w.t, func(poll.LogT) poll.Result {
		if is() {
			return poll.Success()
		}
		return poll.Continue("%s; it printed %s, and told %s", what, w.out, w.errOut)
	}, poll.WithTimeout(time.Minute), poll.WithDelay(time.Millisecond))
}

// awaitRound waits until the command waits for the clock after that many rounds, or has ended. If the
// clock advanced during a reading, the command would take it for a slow one, and wait longer.
func (w *watching) awaitRound(after int) {
	w.t.Helper()
	w.until("it looks again", func() bool { return w.clock.count() > after || w.hasEnded() })
}

func (w *watching) hasEnded() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// rest lets the command judge rounds more times, two seconds apart.
func (w *watching) rest(rounds int) {
	w.t.Helper()
	w.awaitRound(0)
	for range rounds {
		before := w.clock.count()
		w.clock.Step(2 * time.Second)
		w.awaitRound(before)
		assert.Assert(w.t, !w.hasEnded(), "it ended: %s", w.errOut)
	}
}

// restUntil lets the command judge again until a condition holds at the end of a round, or after the
// command has ended.
func (w *watching) restUntil(what string, is func() bool) {
	w.t.Helper()
	w.awaitRound(0)
	w.until(what, func() bool {
		if is() {
			return true
		}
		before := w.clock.count()
		w.clock.Step(2 * time.Second)
		w.awaitRound(before)
		return is()
	})
}
