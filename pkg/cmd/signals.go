package cmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
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
			cancel(&signalError{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		cancel(nil)
	}
}

// interrupted returns the signal that ended ctx as an error, or nil.
func interrupted(ctx context.Context) error {
	var stopped *signalError
	if errors.As(context.Cause(ctx), &stopped) {
		return stopped
	}
	return nil
}

// unlessInterrupted makes of the error of a command that a signal has ended what the
// signal makes of it: a request that was broken off by it has not failed. What went
// wrong besides is told beside it.
func unlessInterrupted(ctx context.Context, err error) error {
	stopped := interrupted(ctx)
	if stopped == nil || err == nil {
		return err
	}
	several := separate(err)
	if len(several) == 0 {
		several = []error{err}
	}
	var kept []error
	for _, e := range several {
		switch {
		case len(separate(e)) > 0:
			kept = append(kept, unlessInterrupted(ctx, e))
		case errors.Is(e, stopped), strings.Contains(e.Error(), context.Canceled.Error()):
			// Not all that is told of a cause is wrapped around it.
		default:
			kept = append(kept, e)
		}
	}
	if len(kept) == len(several) {
		return err
	}
	return joined(append(kept, stopped))
}
