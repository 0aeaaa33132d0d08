//go:build !windows

package check

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestInterruptedCommand checks that an interrupted command can clean up, and that none of its children remains, not
// even one that ignores the signal.
func TestInterruptedCommand(t *testing.T) {
	dir := t.TempDir()
	pipe, script := filepath.Join(dir, "pipe"), filepath.Join(dir, "script")
	assert.NilError(t, syscall.Mkfifo(pipe, 0o600))
	assert.NilError(t, os.WriteFile(script, []byte(`#!/bin/sh
exec 9>"$1" 2>/dev/null
sleep 600 &
(trap '' TERM; sleep 600) &
trap 'echo cleaned up >&9; exit 1' TERM
echo started >&9
wait
`), 0o700))
	ctx, interrupt := context.WithCancel(t.Context())
	n := &notifier{command: []string{script, pipe}, timeout: time.Hour, killDelay: killDelay}
	ended := make(chan error, 1)
	go func() { ended <- n.run(ctx, inspect.FindingEvent{}) }()

	// The children have the pipe open, so it ends with the last of them.
	from, err := os.Open(pipe)
	assert.NilError(t, err)
	lines := bufio.NewReader(from)
	first, err := lines.ReadString('\n')
	assert.NilError(t, err)
	assert.Equal(t, first, "started\n")
	interrupt()
	rest, err := io.ReadAll(lines)
	assert.NilError(t, err)
	assert.Equal(t, string(rest), "cleaned up\n")
	assert.ErrorContains(t, <-ended, "context canceled")
}

// TestInterruptedTwice checks that a second signal kills a command that ignores the first one.
func TestInterruptedTwice(t *testing.T) {
	dir := t.TempDir()
	pipe, script := filepath.Join(dir, "pipe"), filepath.Join(dir, "script")
	assert.NilError(t, syscall.Mkfifo(pipe, 0o600))
	assert.NilError(t, os.WriteFile(script, []byte("#!/bin/sh\ntrap '' TERM\necho started >\"$1\"\nexec sleep 600\n"), 0o700))
	ctx, interrupt := context.WithCancel(t.Context())
	n := &notifier{command: []string{script, pipe}, timeout: time.Hour, killDelay: time.Hour}
	ended := make(chan error, 1)
	go func() { ended <- n.run(ctx, inspect.FindingEvent{}) }()
	started, err := os.ReadFile(pipe)
	assert.NilError(t, err)
	assert.Equal(t, string(started), "started\n")

	// The signal must not end the tests.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, os.Interrupt)
	defer signal.Stop(ignored)
	interrupt()
	for tries := 0; ; tries++ {
		assert.Assert(t, tries < 6000, "the command still runs")
		assert.NilError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
		select {
		case err := <-ended:
			assert.ErrorContains(t, err, "context canceled")
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
