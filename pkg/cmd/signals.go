package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// endings returns the signals that end a command cleanly: Ctrl-C, a termination, and a closed
// terminal or connection.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }

// withSignals returns a context that these signals end, with the signal as its cause. A signal
// that the process was started to ignore, as by nohup and by shells in the background, stays
// ignored.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	received := make(chan os.Signal, 2)
	for _, s := range endings() {
		if !signal.Ignored(s) {
			signal.Notify(received, s)
		}
	}
	go func() {
		select {
		case s := <-received:
			// From now on a signal kills the process, as by default.
			signal.Stop(received)
			cancel(&util.SignalError{Signal: s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		cancel(nil)
	}
}
