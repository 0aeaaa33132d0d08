package util

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// endings returns the signals that end a command cleanly: Ctrl-C, a termination, and a closed
// terminal or connection.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }

// NotifyEnd sends the signals of endings to a channel. A signal that the process was started to ignore, as by
// nohup and by shells in the background, stays ignored.
func NotifyEnd(received chan<- os.Signal) {
	for _, s := range endings() {
		if !signal.Ignored(s) {
			signal.Notify(received, s)
		}
	}
}

// Interrupted returns the signal that ended ctx as an error, or nil.
func Interrupted(ctx context.Context) error {
	var stopped *SignalError
	if errors.As(context.Cause(ctx), &stopped) {
		return stopped
	}
	return nil
}

// unlessInterrupted returns the error of a command that a signal may have ended: errors of
// cancelled requests are replaced by the signal, and other errors are kept.
func unlessInterrupted(ctx context.Context, err error) error {
	stopped := Interrupted(ctx)
	if stopped == nil || err == nil {
		return err
	}
	several := SplitErrors(err)
	if len(several) == 0 {
		several = []error{err}
	}
	var kept []error
	for _, e := range several {
		switch {
		case len(SplitErrors(e)) > 0:
			kept = append(kept, unlessInterrupted(ctx, e))
		case errors.Is(e, stopped), strings.Contains(e.Error(), context.Canceled.Error()):
			// Not every error wraps its cause.
		default:
			kept = append(kept, e)
		}
	}
	if len(kept) == len(several) {
		return err
	}
	return JoinErrors(append(kept, stopped))
}
