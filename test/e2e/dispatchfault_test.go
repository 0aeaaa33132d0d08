package e2e

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// behindProxy returns a kubeconfig in which the server of one context is behind a proxy that can be
// cut.
func behindProxy(t *testing.T, cluster string) (kubeconfig string, proxy *toxiproxy.Proxy) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(set.Kubeconfig)
	assert.NilError(t, err)
	entry := config.Clusters[config.Contexts[cluster].Cluster]
	server, err := url.Parse(entry.Server)
	assert.NilError(t, err)

	logger := zerolog.Nop()
	proxy = toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), logger), cluster, "127.0.0.1:0", server.Host)
	assert.NilError(t, proxy.Start())
	t.Cleanup(proxy.Stop)
	// The certificate is for the real address.
	entry.Server, entry.TLSServerName = "https://"+proxy.Listen, server.Hostname()
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	assert.NilError(t, clientcmd.WriteToFile(*config, kubeconfig))
	return kubeconfig, proxy
}

// TestDispatchSurvivesPartitions checks the case that one of the clusters cannot be reached until
// after the Lease has expired.
func TestDispatchSurvivesPartitions(t *testing.T) {
	t.Parallel()
	for _, cluster := range []string{management, worker1} {
		t.Run(cluster, func(t *testing.T) {
			ns := "dispatch-partition-" + cluster
			kubeconfig, proxy := behindProxy(t, cluster)
			origin(t, ns, "train", fixture.Pods(2), fixture.RunsFor("12s"))
			d := dispatches(t, ns, "train", "--kubeconfig", kubeconfig)
			made := d.Expect(dispatch.MirrorCreated, "train")
			eventuallyJob(t, management, ns, "train", func(j *batchv1.Job) bool { return j.Status.Active == 2 })
			proxy.Stop()
			d.Expect(dispatch.Disconnected, "")
			// The Job ends while the origin cannot be written.
			eventuallyJob(t, worker1, ns, "train", func(j *batchv1.Job) bool { return j.Status.Succeeded == 2 && j.Status.CompletionTime != nil })
			if cluster == management {
				d.Expect(dispatch.LeaseLost, "train")
			}
			assert.Equal(t, jobOf(t, management, ns, "train").Status.Succeeded, int32(0))
			assert.NilError(t, proxy.Start())
			assert.Equal(t, d.End(), 0, d.Stderr.String())
			// On a slow machine, more connections may be lost. The end of each outage is reported.
			assert.Equal(t, d.Count(dispatch.Reconnected), d.Count(dispatch.Disconnected))
			sameEnd(t, ns, "train")
			assert.Equal(t, string(jobOf(t, worker1, ns, "train").UID), made.Mirror.UID)
		})
	}
}

// TestDispatchReportsAHang checks the case that a connection stays open, but no data arrive.
func TestDispatchReportsAHang(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-hang"
	kubeconfig, proxy := behindProxy(t, worker1)
	origin(t, ns, "train", fixture.RunsFor("5s"))
	d := dispatches(t, ns, "train", "--kubeconfig", kubeconfig)
	d.Expect(dispatch.MirrorCreated, "train")
	toxic, err := proxy.Toxics.AddToxicJson(strings.NewReader(`{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`))
	assert.NilError(t, err)
	d.Expect(dispatch.Disconnected, "")
	eventuallyJob(t, worker1, ns, "train", func(j *batchv1.Job) bool { return j.Status.CompletionTime != nil })
	assert.NilError(t, proxy.Toxics.RemoveToxic(t.Context(), toxic.Name))
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	assert.Equal(t, d.Count(dispatch.Reconnected), d.Count(dispatch.Disconnected))
	sameEnd(t, ns, "train")
}

// TestDispatchSurvivesConnectionsThatBreak breaks connections again and again, in the middle of
// requests.
func TestDispatchSurvivesConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-flaky"
	kubeconfig, proxy := behindProxy(t, worker1)
	origin(t, ns, "train", fixture.Pods(20), fixture.RunsFor("4s"))
	d := dispatches(t, ns, "train", "--kubeconfig", kubeconfig)
	for range 10 {
		d.Expect(dispatch.StatusCopied, "train")
		proxy.Stop()
		// Another process may have the port for a moment.
		assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
			return proxy.Start() == nil, nil
		}))
		if jobOf(t, worker1, ns, "train").Status.CompletionTime != nil {
			break
		}
	}
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	sameEnd(t, ns, "train")
}

// TestDispatchInterruptedTwice checks that the first Ctrl-C removes the mirror and releases the
// Lease. If that hangs, the second one ends the dispatch at once. Nothing is left in between.
func TestDispatchInterruptedTwice(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-twice"
	kubeconfig, proxy := behindProxy(t, worker1)
	origin(t, ns, "train", fixture.RunsFor("2h"))
	d := dispatches(t, ns, "train", "--kubeconfig", kubeconfig, "--on-interrupt", "delete")
	d.Expect(dispatch.StatusCopied, "train")
	_, err := proxy.Toxics.AddToxicJson(strings.NewReader(`{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`))
	assert.NilError(t, err)
	d.Signal(syscall.SIGINT)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.End()
	}()
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for isOver := false; !isOver; {
		select {
		case <-again.C:
			// It may have ended meanwhile.
			_ = d.Cmd.Process.Signal(syscall.SIGINT)
		case <-ended:
			isOver = true
		}
	}
	status, ok := d.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	assert.Assert(t, ok && status.Signaled() && status.Signal() == syscall.SIGINT, "it ended with %v: %s", d.Cmd.ProcessState, d.Stderr.String())

	// The same command resumes with the same mirror.
	mirror := jobOf(t, worker1, ns, "train")
	assert.Assert(t, mirror != nil)
	next := dispatches(t, ns, "train", "--detach-after-start")
	assert.Equal(t, next.End(), 0, next.Stderr.String())
	assert.Equal(t, next.Count(dispatch.MirrorFound), 1)
	assert.Equal(t, jobOf(t, worker1, ns, "train").UID, mirror.UID)
}
