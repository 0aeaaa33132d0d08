package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// endings are the signals that end a command in good order: Ctrl-C, a termination, and
// a terminal or a connection that is closed.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }

// withSignals returns a context that these signals end, with the signal as its cause.
// One that the process was started to ignore, as nohup and shells in the background do,
// stays ignored.
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
			// From here on the next one kills, as it does by default.
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
