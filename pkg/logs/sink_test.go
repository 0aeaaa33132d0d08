package logs_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

// call is one reading of logs with its results.
type call struct {
	t      *testing.T
	reader *logs.Reader
	clock  *clocktesting.FakeClock

	mu       sync.Mutex
	changed  chan struct{}
	texts    map[string]*strings.Builder
	order    []string
	notes    []string
	expected []logs.Container
}

func newCall(t *testing.T, o logs.Options) *call {
	t.Helper()
	c := &call{t: t, clock: clocktesting.NewFakeClock(epoch), changed: make(chan struct{}), texts: map[string]*strings.Builder{}}
	if o.MaxRequests == 0 {
		o.MaxRequests = 50
	}
	c.reader = &logs.Reader{Options: o, Sink: c, Clock: c.clock, Note: c.note}
	return c
}

// all returns options for complete logs.
func all() logs.Options { return logs.Options{Tail: -1} }

func (c *call) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *call) note(text string) { c.change(func() { c.notes = append(c.notes, text) }) }

// Expect and Write implement Sink.
func (c *call) Expect(container logs.Container) {
	c.change(func() { c.expected = append(c.expected, container) })
}

func (c *call) Write(container logs.Container, text []byte, _ bool) error {
	c.change(func() {
		key := container.Pod + "/" + container.Name
		if c.texts[key] == nil {
			c.texts[key] = &strings.Builder{}
			c.order = append(c.order, key)
		}
		c.texts[key].Write(text)
	})
	return nil
}

func (c *call) text(key string) string {
	if c.texts[key] == nil {
		return ""
	}
	return c.texts[key].String()
}

func (c *call) awaitThat(what string, holds func() bool) {
	c.t.Helper()
	awaitChange(c.t, &c.mu, func() <-chan struct{} { return c.changed }, holds, func() string { return what })
}

// await waits until the log of a container has been read up to a text.
func (c *call) await(key, want string) {
	c.t.Helper()
	c.awaitThat(key+" "+want, func() bool { return len(c.text(key)) >= len(want) })
	c.mu.Lock()
	defer c.mu.Unlock()
	assert.Equal(c.t, c.text(key), want)
}

// awaitNote waits for a message.
func (c *call) awaitNote(part string) {
	c.t.Helper()
	c.awaitThat(part, func() bool { return strings.Contains(strings.Join(c.notes, "\n"), part) })
}

// awaitWaiter waits until a goroutine waits for the clock.
func (c *call) awaitWaiter() {
	c.t.Helper()
	poll.WaitOn(c.t, func(poll.LogT) poll.Result {
		if c.clock.HasWaiters() {
			return poll.Success()
		}
		return poll.Continue("nobody waits for time to pass")
	}, poll.WithDelay(time.Millisecond), poll.WithTimeout(time.Minute))
}

// step advances the clock for a waiting goroutine.
func (c *call) step(d time.Duration) {
	c.t.Helper()
	c.awaitWaiter()
	c.clock.Step(d)
}

// following is a call that follows logs.
type following struct {
	*call
	over chan struct{}
	done chan error
}

// follow begins to follow a target.
func follow(t *testing.T, c *cluster, o logs.Options) *following {
	t.Helper()
	f := &following{call: newCall(t, o), over: make(chan struct{}), done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	slots := make(chan struct{}, f.reader.MaxRequests)
	go func() { f.done <- f.reader.Follow(ctx, c.target(), f.over, slots) }()
	t.Cleanup(cancel)
	return f
}

// end ends the object, and waits until everything is read.
func (f *following) end() error {
	f.t.Helper()
	close(f.over)
	return f.wait()
}

func (f *following) wait() error {
	f.t.Helper()
	select {
	case err := <-f.done:
		return err
	case <-time.After(time.Minute):
		f.t.Fatalf("Follow does not return; notes: %q", f.notes)
		return nil
	}
}
