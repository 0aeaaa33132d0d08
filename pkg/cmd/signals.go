package cmd

import (
	"context"
	"os"
	"os/signal"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// withSignals returns a context that the signals of util.NotifyEnd end, with the signal as its cause.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	received := make(chan os.Signal, 2)
	util.NotifyEnd(received)
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
