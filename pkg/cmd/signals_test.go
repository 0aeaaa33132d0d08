package cmd

import (
	"bytes"
	"context"
	"io"
	"net/http"
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

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// TestInterruptAtEachRequest interrupts commands during each of their requests: the error is an
// interrupt, and no other.
func TestInterruptAtEachRequest(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"ls --all-contexts -o wide", "ls --kinds all", "trace train", "trace", "check", "logs train", "kinds --all-contexts", "snapshot DIR --all-contexts",
		"dispatch train --to kwok-w1", "dispatch -l x --kinds all --to kwok-w1", "cancel train --yes", "cancel -l x --kinds all --yes",
		"recreate train --managed-by= --yes --dry-run=server",
	} {
		t.Run(args, func(t *testing.T) {
			for at := int64(1); ; at++ {
				ctx, interrupt := context.WithCancelCause(t.Context())
				var asked atomic.Int64
				kubeconfig := serve(t, filepath.Join(recordings, "running"), func(_ string, _ http.ResponseWriter, r *http.Request) bool {
					if asked.Add(1) == at {
						interrupt(&util.SignalError{Signal: syscall.SIGINT})
						select {
						case <-r.Context().Done():
						case <-time.After(5 * time.Millisecond): // Not all requests are cancelled.
						}
					}
					return false
				})
				var errOut bytes.Buffer
				root, _ := newRootCommand(util.Environment{
					IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: io.Discard, ErrOut: &errOut}, Program: "kubectl-jobs_managedby",
					Args: append(strings.Fields(strings.ReplaceAll(args, "DIR", filepath.Join(t.TempDir(), "new"))),
						"--kubeconfig", kubeconfig, "--cache-dir", t.TempDir()),
					LookupEnv: func(string) (string, bool) { return "", false }, Clock: &skippingClock{},
				})
				code := exitCode(&errOut, root.ExecuteContext(ctx), command.Reach{})
				interrupt(nil)
				if asked.Load() < at {
					assert.Assert(t, at > 2, "the command has sent too few requests: %s", errOut.String())
					return
				}
				assert.Equal(t, code, 130, "interrupted at request %d: %s", at, errOut.String())
			}
		})
	}
}

// TestHangUp: closing the terminal ends a command like Ctrl-C.
func TestHangUp(t *testing.T) {
	// The test process may have been started to ignore it, as by nohup.
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
