package e2e

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// lines are the lines that a command prints, as they arrive.
type lines struct {
	t   *testing.T
	cmd *exec.Cmd
	ch  chan string
}

// follow starts a command and reads its standard output.
func follow(t *testing.T, args ...string) *lines {
	t.Helper()
	cmd := command(t, args...)
	out, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	l := &lines{t: t, cmd: cmd, ch: make(chan string, 1000)}
	go l.read(out)
	return l
}

func (l *lines) read(out io.Reader) {
	defer close(l.ch)
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		l.ch <- scanner.Text()
	}
}

// expect waits for a line that matches, and returns those before it.
func (l *lines) expect(pattern string) (before []string) {
	l.t.Helper()
	return l.expectFrom(pattern, func() {})
}

// expectFrom is expect for a line that do causes. do is called repeatedly, because nothing shows
// when a command has begun to watch.
func (l *lines) expectFrom(pattern string, do func()) (before []string) {
	l.t.Helper()
	re := regexp.MustCompile(pattern)
	timeout := time.After(poll.Limit)
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			do()
		case line, ok := <-l.ch:
			if !ok {
				l.t.Fatalf("the command ended without a line like %s; it printed %q", pattern, before)
			}
			if re.MatchString(line) {
				return before
			}
			before = append(before, line)
		case <-timeout:
			l.t.Fatalf("no line like %s; there were %q", pattern, before)
		}
	}
}

// interrupt ends the command like Ctrl-C and returns its exit code.
func (l *lines) interrupt() int {
	l.t.Helper()
	assert.NilError(l.t, l.cmd.Process.Signal(syscall.SIGINT))
	for range l.ch {
	}
	_ = l.cmd.Wait()
	return l.cmd.ProcessState.ExitCode()
}

func TestWatchAppendsInAPipe(t *testing.T) {
	t.Parallel()
	const ns = "watch-pipe"
	c := client(t, management)
	assert.NilError(t, fixture.Create(t.Context(), c, fixture.New(ns, "first", fixture.Suspended())))

	w := follow(t, "jobs-managedby", "ls", "-n", ns, "-w", "--output-watch-events")
	w.expect(`^EVENT +NAME +MANAGED-BY +STATUS +COMPLETIONS +DURATION +MIRROR +AGE$`)
	w.expect(`^ADDED +first +built-in +Suspended +0/1 `)
	create(t, ns, "second", fixture.ManagedBy("example.com/x"))
	w.expect(`^ADDED +second +example.com/x +Unclaimed `)
	create(t, ns, "third")
	w.expect(`^(ADDED|MODIFIED) +third +built-in +Complete +1/1 `)
	remove(t, ns, "second")
	w.expect(`^DELETED +second `)
	assert.Equal(t, w.interrupt(), 130)

	// With a filter, an object that no longer matches is reported as deleted. One that never
	// matched is not reported.
	w = follow(t, "jobs-managedby", "ls", "-n", ns, "--watch-only", "--status", "Unclaimed", "-o", "json", "--output-watch-events")
	isThere := false
	w.expectFrom(`"type": "ADDED"`, func() {
		if isThere {
			remove(t, ns, "fourth")
		}
		create(t, ns, "fourth", fixture.ManagedBy("example.com/x"))
		isThere = true
	})
	remove(t, ns, "fourth")
	w.expect(`"type": "DELETED"`)
	create(t, ns, "fifth", fixture.ManagedBy("example.com/x"))
	w.expect(`"name": "fifth"`)
	w.expect(`"status": "Unclaimed"`)
	w.expect(`"type": "ADDED"`)
	_, err := c.BatchV1().Jobs(ns).Patch(t.Context(), "fifth", "application/merge-patch+json",
		[]byte(`{"status":{"startTime":"2026-01-01T00:00:00Z","active":1}}`), metav1.PatchOptions{}, "status")
	assert.NilError(t, err)
	w.expect(`"status": "Running"`)
	w.expect(`"type": "DELETED"`)
	assert.Equal(t, w.interrupt(), 130)
}

// TestWatchSurvivesARestart checks the case that an API server restarts and has lost its history,
// because its etcd was compacted. Every watch, also that of a dispatch, begins again, loses
// nothing, and does not repeat unchanged Jobs.
func TestWatchSurvivesARestart(t *testing.T) {
	const ns = "watch-restart"
	c := client(t, worker1)
	origin(t, ns, "train", fixture.RunsFor("1h"))
	createSettled(t, worker1, ns, "before", "doomed")
	w := follow(t, "jobs-managedby", "ls", "-n", ns, "-w", "--contexts", "worker-1", "--output-watch-events")
	w.expect(`^ADDED +doomed `)
	findings := follow(t, "jobs-managedby", "check", "-n", ns, "-w", "--grace", "0s", "--contexts", "management,worker-1")
	d := dispatches(t, ns, "train")
	d.Expect(dispatch.MirrorCreated, "train")
	w.expect(`^(ADDED|MODIFIED) +train +built-in +Running `)
	eventuallyJob(t, management, ns, "train", isReady)
	seen, err := c.BatchV1().Jobs(ns).List(t.Context(), metav1.ListOptions{})
	assert.NilError(t, err)
	// An object that no watch of Jobs reports, so that their resource version is outdated.
	_, err = c.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "later"}}, metav1.CreateOptions{})
	assert.NilError(t, err)

	assert.NilError(t, set.Stop(t.Context(), worker1))
	assert.NilError(t, set.Compact(t.Context(), worker1))
	assert.NilError(t, set.Start(t.Context(), worker1))
	old, err := c.BatchV1().Jobs(ns).Watch(t.Context(), metav1.ListOptions{ResourceVersion: seen.ResourceVersion})
	assert.NilError(t, err)
	select {
	case e := <-old.ResultChan():
		err = apierrors.FromObject(e.Object)
		assert.Assert(t, apierrors.IsResourceExpired(err) || apierrors.IsGone(err), "the past is not forgotten: %v", err)
	case <-time.After(poll.Limit):
		t.Fatal("the past is not forgotten")
	}
	assert.NilError(t, fixture.Create(t.Context(), c, fixture.New("default", "unseen-"+ns, fixture.Suspended())))
	for _, j := range []*batchv1.Job{fixture.New(ns, "after", fixture.Suspended()), fixture.New(ns, "stuck", fixture.ManagedBy("example.com/nobody"))} {
		_, err := c.BatchV1().Jobs(ns).Create(t.Context(), j, metav1.CreateOptions{})
		assert.NilError(t, err)
	}
	again := w.expect(`^ADDED +after `)
	findings.expect(`stuck`)
	succeed(t, worker1, ns, runningPods(t, worker1, ns, "train", 1)...)
	again = append(again, w.expect(`^MODIFIED +train +built-in +Complete `)...)
	for _, line := range again {
		assert.Assert(t, !regexp.MustCompile(` (before|doomed) `).MatchString(line), "a Job that did not change was reported again: %q", again)
	}
	assert.Equal(t, w.interrupt(), 130)
	assert.Equal(t, findings.interrupt(), 130)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	sameEnd(t, ns, "train")
}

// TestWatchBegunInAnOutage checks that a cluster that is down when the watch begins is watched
// once it is up.
func TestWatchBegunInAnOutage(t *testing.T) {
	const ns = "watch-outage"
	c := client(t, worker1)
	assert.NilError(t, fixture.Create(t.Context(), c, fixture.New(ns, "there", fixture.Suspended())))
	assert.NilError(t, fixture.Create(t.Context(), client(t, worker2), fixture.New(ns, "other", fixture.Suspended())))
	assert.NilError(t, set.Stop(t.Context(), worker1))
	w := follow(t, "jobs-managedby", "ls", "-n", ns, "-w", "--contexts", "worker-*")
	w.expect(`^worker-2 +other `)
	assert.NilError(t, set.Start(t.Context(), worker1))
	w.expect(`^worker-1 +there +built-in +Suspended `)
	assert.Equal(t, w.interrupt(), 130)
}

// TestWatchSurvivesFaults puts a proxy between the plugin and the API server that closes watches
// and does not let them resume.
func TestWatchSurvivesFaults(t *testing.T) {
	t.Parallel()
	const ns = "watch-faults"
	c := client(t, management)
	createSettled(t, management, ns, "before", "doomed")
	p := newProxy(t)
	w := follow(t, "jobs-managedby", "ls", "-n", ns, "-w", "--output-watch-events", "--server", p.URL)
	w.expect(`^ADDED +doomed `)

	p.CloseClientConnections()
	create(t, ns, "after-close")
	// It may exist, or even be complete, before the plugin is connected again.
	w.expect(`^(ADDED|MODIFIED) +after-close +built-in +Complete `)

	// A watch from resource version 1 is answered with 410 Gone, so all Jobs have to be listed
	// again. Changes that happened meanwhile are not lost.
	p.expire.Store(true)
	p.CloseClientConnections()
	remove(t, ns, "doomed")
	w.expect(`^DELETED +doomed `)
	assert.Assert(t, p.expired.Load() > 0, "the proxy expired no watch")
	p.expire.Store(false)
	p.CloseClientConnections()
	create(t, ns, "after-expiry", fixture.Suspended())
	before := w.expect(`^ADDED +after-expiry +built-in +Suspended `)
	_, err := c.BatchV1().Jobs(ns).Patch(t.Context(), "after-expiry", "application/merge-patch+json", []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
	assert.NilError(t, err)
	before = append(before, w.expect(`^MODIFIED +after-expiry +built-in +Complete `)...)
	for _, line := range before {
		assert.Assert(t, !contains(line, "before"), "a Job that did not change was reported again: %q", before)
	}
	assert.Equal(t, w.interrupt(), 130)
}

func TestWatchOfNothingToReadEnds(t *testing.T) {
	t.Parallel()
	cmd := command(t, "jobs-managedby", "ls", "-w", "--context", "nobody")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	assert.ErrorContains(t, cmd.Run(), "exit status 4")
	assert.Assert(t, contains(stderr.String(), `context "nobody": nobody may not `), "%s", &stderr)
}

// TestWatchRedrawsATerminal reads the screen as a terminal gets it.
func TestWatchRedrawsATerminal(t *testing.T) {
	t.Parallel()
	const ns = "watch-terminal"
	c := client(t, management)
	assert.NilError(t, fixture.Create(t.Context(), c, fixture.New(ns, "first", fixture.Suspended())))
	cmd := command(t, "jobs-managedby", "ls", "-n", ns, "-w")
	cmd.Env = append(cmd.Env, "TERM=xterm")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	assert.NilError(t, err)
	l := &lines{t: t, cmd: cmd, ch: make(chan string, 10000)}
	go l.read(terminal)
	l.expect(`^\x1b\[H\x1b\[2J\x1b\[H\x1b\[K\x1b\[1mNAME `)
	l.expect(`^\x1b\[Kfirst +Suspended .*s\r?$`)
	// Each frame is complete and begins in the upper left corner.
	create(t, ns, "second", fixture.ManagedBy("example.com/x"))
	l.expect(`^(\x1b\[J)?\x1b\[H\x1b\[K\x1b\[1mNAME `)
	l.expect(`^\x1b\[Ksecond +\x1b\[33mUnclaimed\x1b\[m `)
	remove(t, ns, "second")
	l.expect(`^\x1b\[K\x1b\[1mbuilt-in\x1b\[m: 1 job \(1 Suspended\)`)
	// Ages change even if nothing happens.
	l.expect(`^(\x1b\[J)?\x1b\[H\x1b\[K\x1b\[1mNAME `)
	_, err = terminal.Write([]byte{3}) // Ctrl-C
	assert.NilError(t, err)
	for range l.ch {
	}
	_ = cmd.Wait()
	assert.Equal(t, cmd.ProcessState.ExitCode(), 130)
}

func create(t *testing.T, ns, name string, options ...fixture.Option) {
	t.Helper()
	_, err := client(t, management).BatchV1().Jobs(ns).Create(t.Context(), fixture.New(ns, name, options...), metav1.CreateOptions{})
	assert.NilError(t, err)
}

// createSettled creates suspended Jobs, and waits until the built-in controller has recorded that
// they are. Nothing changes them after that.
func createSettled(t *testing.T, cluster, ns string, names ...string) {
	t.Helper()
	for _, name := range names {
		createJobs(t, cluster, fixture.New(ns, name, fixture.Suspended()))
	}
	for _, name := range names {
		eventuallyJob(t, cluster, ns, name, func(job *batchv1.Job) bool {
			return job != nil && slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
		})
	}
}

func remove(t *testing.T, ns, name string) {
	t.Helper()
	policy := metav1.DeletePropagationBackground
	assert.NilError(t, client(t, management).BatchV1().Jobs(ns).Delete(context.Background(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}

// proxy is a proxy of the management cluster's API server.
type proxy struct {
	*httptest.Server
	// expire has watches ask for a compacted resource version.
	expire  atomic.Bool
	expired atomic.Int32
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	config, err := set.Config(management)
	assert.NilError(t, err)
	transport, err := rest.TransportFor(config)
	assert.NilError(t, err)
	target, err := url.Parse(config.Host)
	assert.NilError(t, err)
	p := &proxy{}
	p.Server = httptest.NewServer(&httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			query := r.Out.URL.Query()
			if p.expire.Load() && query.Get("watch") != "" && query.Get("sendInitialEvents") == "" {
				query.Set("resourceVersion", "1")
				r.Out.URL.RawQuery = query.Encode()
				p.expired.Add(1)
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}
