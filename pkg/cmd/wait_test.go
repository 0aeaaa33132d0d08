package cmd

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestWait: a wait ends when its condition holds for the Job, wherever it runs, and prints the
// changes that it has seen.
func TestWait(t *testing.T) {
	running := newWatchedFleet(t, filepath.Join(recordings, "running"))
	for _, c := range []struct {
		args     string
		code     int
		out      string
		messages []string
	}{
		{"train --for=running", util.ExitOK, "job default/train is running on kwok-w1\n", []string{"job default/train: running on kwok-w1"}},
		{"job/train --for=admitted", util.ExitOK, "job default/train is running on kwok-w1\n", nil},
		{"train --for=finished --timeout=1ms", util.ExitTimeout, "", []string{"job default/train is not finished after 1ms; its state was not read in that time"}},
		{"nothere --for=running", util.ExitError, "", []string{`job "nothere" not found in namespace "default"`}},
		{"train", util.ExitOK, "job default/train is running on kwok-w1\n", nil},
		{"train --for=", util.ExitUsage, "", []string{`unknown --for ""; choose one of admitted, running, finished`}},
		{"train --for=ready", util.ExitUsage, "", []string{`unknown --for "ready"; choose one of admitted, running, finished`}},
		{"rayservice/serve --for=finished", util.ExitUsage, "", []string{"--for=finished: RayServices run until they are deleted. Use --for=running"}},
		{"lws/serve --for=finished", util.ExitUsage, "", []string{"LeaderWorkerSets run until they are deleted"}},
		{"--for=running", util.ExitUsage, "", []string{"name"}},
		{"train --for=running --timeout=-1s", util.ExitUsage, "", []string{"--timeout must not be negative"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			out, errOut, code := run(t, append([]string{"wait", "--kubeconfig", running.kubeconfig}, strings.Fields(c.args)...)...)
			assert.Equal(t, code, c.code, errOut)
			assert.Equal(t, out, c.out, errOut)
			for _, text := range c.messages {
				assert.Assert(t, strings.Contains(errOut, text), errOut)
			}
		})
	}
}

// TestWaitForAdmittedWithoutPods: a Job whose Pods the worker refuses is admitted, and does not run.
func TestWaitForAdmittedWithoutPods(t *testing.T) {
	t.Parallel()
	f := newWatchedFleet(t, filepath.Join(recordings, "service-account-missing-on-workers"))
	out, errOut, code := run(t, "wait", "train", "--for=admitted", "--timeout=30s", "--kubeconfig", f.kubeconfig)
	assert.Equal(t, code, util.ExitOK, errOut)
	assert.Assert(t, strings.Contains(out, "job default/train is not running"), out)
}

// TestWaitSaysWhy: a wait shows the reason that trace shows.
func TestWaitSaysWhy(t *testing.T) {
	for _, name := range []string{"no-quota-on-workers", "wrong-queue", "deactivated"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := tracedJob(name)
			f := newWatchedFleet(t, filepath.Join(recordings, name))
			out, errOut, code := run(t, "trace", job, "-o", "json", "--kubeconfig", f.kubeconfig)
			assert.Assert(t, code == util.ExitOK || code == util.ExitPartial, errOut)
			want := strings.TrimSuffix(tracesIn(t, out)[0].Message, ".")
			w := f.start("wait", job)
			w.until("it shows the reason of trace", func() bool { return strings.Contains(w.errOut.String(), want) })
			w.stop()
		})
	}
}

// TestWaitWithoutAnAnswer: a wait continues while the only cluster that has the Job does not answer.
func TestWaitWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	f := newWatchedFleet(t, filepath.Join(recordings, "no-queue-name"))
	w := f.start("wait", "train", "--for", "finished", "--context-timeout", "5s")
	w.until("it reports the Job", func() bool { return strings.Contains(w.errOut.String(), "job default/train: ") })
	w.rest(1)
	start := f.stopServer("kwok-mgr")
	w.restUntil("it reports the outage", func() bool {
		return strings.Contains(w.errOut.String(), "Last known state; cannot read kwok-mgr")
	})
	w.rest(3)
	start()
	w.restUntil("it reports the Job again", func() bool {
		return strings.HasSuffix(w.errOut.String(), "Ignored by Kueue: no queue label\n")
	})
	w.restUntil("it ends", func() bool {
		// Some watches may begin after an event was sent.
		f.send("kwok-mgr", "/apis/batch/v1/namespaces/default/jobs", "DELETED")
		return strings.Contains(w.errOut.String(), "job default/train was deleted during the wait")
	})
	assert.Equal(t, w.stop(), util.ExitError)
}

// TestWaitTimeoutBoundsContexts: --timeout includes the time to reach contexts.
func TestWaitTimeoutBoundsContexts(t *testing.T) {
	t.Parallel()
	kubeconfig := serve(t, filepath.Join(recordings, "running"), func(_ string, _ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	})
	_, errOut, code := run(t, "wait", "--kubeconfig", kubeconfig, "train", "--timeout=100ms")
	assert.Equal(t, code, util.ExitTimeout, errOut)
	assert.Assert(t, strings.Contains(errOut, "job default/train is not running after 100ms; its state was not read in that time"), errOut)
}
