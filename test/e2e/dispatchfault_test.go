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

// behindProxy makes a kubeconfig in which the server of one context is behind a
// proxy that can be cut.
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

// TestDispatchSurvivesPartitions: a cluster that cannot be reached for a while, on
// either side, until after the Lease has run out.
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
			// The Job ends while nobody can be told.
			eventuallyJob(t, worker1, ns, "train", func(j *batchv1.Job) bool { return j.Status.Succeeded == 2 && j.Status.CompletionTime != nil })
			if cluster == management {
				d.Expect(dispatch.LeaseLost, "train")
			}
			assert.Equal(t, jobOf(t, management, ns, "train").Status.Succeeded, int32(0))
			assert.NilError(t, proxy.Start())
			assert.Equal(t, d.End(), 0, d.Told.String())
			// On a slow machine more of them may be lost; the end of each is told.
			assert.Equal(t, d.Count(dispatch.Reconnected), d.Count(dispatch.Disconnected))
			sameEnd(t, ns, "train")
			assert.Equal(t, string(jobOf(t, worker1, ns, "train").UID), made.Mirror.UID)
		})
	}
}

// TestDispatchTellsOfAHang: a connection that stays open, and over which nothing
// comes any more.
func TestDispatchTellsOfAHang(t *testing.T) {
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
	assert.Equal(t, d.End(), 0, d.Told.String())
	assert.Equal(t, d.Count(dispatch.Reconnected), d.Count(dispatch.Disconnected))
	sameEnd(t, ns, "train")
}

// TestDispatchSurvivesConnectionsThatBreak: again and again, in the middle of
// whatever goes on.
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
	assert.Equal(t, d.End(), 0, d.Told.String())
	sameEnd(t, ns, "train")
}

// TestDispatchInterruptedTwice: the first Ctrl-C does what it should in good order,
// and where that hangs, the second ends all at once. Nothing is left half done.
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
	assert.Assert(t, ok && status.Signaled() && status.Signal() == syscall.SIGINT, "it ended with %v: %s", d.Cmd.ProcessState, d.Told.String())

	// The same command goes on with the same mirror.
	mirror := jobOf(t, worker1, ns, "train")
	assert.Assert(t, mirror != nil)
	next := dispatches(t, ns, "train", "--detach-after-start")
	assert.Equal(t, next.End(), 0, next.Told.String())
	assert.Equal(t, next.Count(dispatch.MirrorFound), 1)
	assert.Equal(t, jobOf(t, worker1, ns, "train").UID, mirror.UID)
}
