package cmd

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
)

// servedRecording serves the clusters of a recording, and returns a kubeconfig that
// reaches them. before is called with each request.
func servedRecording(t *testing.T, name string, before func(*http.Request)) (kubeconfig string) {
	t.Helper()
	recorded, err := bundle.Open(filepath.Join(recordings, name))
	assert.NilError(t, err)
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "kwok-mgr"
	for _, c := range recorded.Contexts() {
		assert.Assert(t, c.Config != nil && c.Config.Transport != nil)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			before(r)
			if r.Context().Err() != nil {
				return
			}
			answer, err := c.Config.Transport.RoundTrip(r)
			if err != nil {
				return
			}
			defer func() { _ = answer.Body.Close() }()
			w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
			w.WriteHeader(answer.StatusCode)
			_, _ = io.Copy(w, answer.Body)
		}))
		t.Cleanup(server.Close)
		config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: server.URL}
		config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, Namespace: c.Namespace}
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	assert.NilError(t, clientcmd.WriteToFile(*config, kubeconfig))
	return kubeconfig
}

// TestInterruptedAnywhere interrupts commands while each of their requests is on its
// way: that is an interrupt, and no error of any other kind.
func TestInterruptedAnywhere(t *testing.T) {
	for _, args := range []string{
		"ls --all-contexts -o wide", "ls --kinds all", "trace train", "trace", "check", "logs train", "kinds --all-contexts", "snapshot DIR --all-contexts",
		"dispatch train --to kwok-w1", "dispatch -l x --kinds all --to kwok-w1", "cancel train", "cancel -l x --kinds all",
		"recreate train --managed-by= --yes --dry-run=server",
	} {
		t.Run(args, func(t *testing.T) {
			for at := int64(1); ; at++ {
				ctx, interrupt := context.WithCancelCause(t.Context())
				var asked atomic.Int64
				kubeconfig := servedRecording(t, "running", func(r *http.Request) {
					if asked.Add(1) == at {
						interrupt(&util.SignalError{Signal: syscall.SIGINT})
						select {
						case <-r.Context().Done():
						case <-time.After(5 * time.Millisecond): // Not all requests are broken off.
						}
					}
				})
				var told bytes.Buffer
				root, _ := newRootCommand(util.Environment{
					IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: io.Discard, ErrOut: &told}, Program: "kubectl-jobs_managedby",
					Args: append(strings.Fields(strings.ReplaceAll(args, "DIR", filepath.Join(t.TempDir(), "new"))),
						"--kubeconfig", kubeconfig, "--cache-dir", t.TempDir()),
					LookupEnv: func(string) (string, bool) { return "", false }, Clock: clock.RealClock{},
				})
				code := exitCode(&told, root.ExecuteContext(ctx))
				interrupt(nil)
				if asked.Load() < at {
					assert.Assert(t, at > 2, "it has asked for nothing: %s", told.String())
					return
				}
				assert.Equal(t, code, 130, "interrupted at request %d: %s", at, told.String())
			}
		})
	}
}

// TestHangUp: a terminal that is closed ends a command as Ctrl-C does.
func TestHangUp(t *testing.T) {
	// Whoever runs the tests may have them ignore it, as nohup does.
	heeded := make(chan os.Signal, 1)
	signal.Notify(heeded, syscall.SIGHUP)
	defer signal.Stop(heeded)
	ctx, stop := withSignals(t.Context())
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	assert.NilError(t, err)
	assert.NilError(t, self.Signal(syscall.SIGHUP))
	<-ctx.Done()
	assert.Equal(t, codeOf(util.Interrupted(ctx)), 129)
}
