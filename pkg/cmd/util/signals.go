package util

import (
	"context"
	"errors"
	"strings"
)

// Interrupted returns the signal that ended ctx as an error, or nil.
func Interrupted(ctx context.Context) error {
	var stopped *SignalError
	if errors.As(context.Cause(ctx), &stopped) {
		return stopped
	}
	return nil
}

// unlessInterrupted makes of the error of a command that a signal has ended what the
// signal makes of it: a request that was broken off by it has not failed. What went
// wrong besides is told beside it.
func unlessInterrupted(ctx context.Context, err error) error {
	stopped := Interrupted(ctx)
	if stopped == nil || err == nil {
		return err
	}
	several := Separate(err)
	if len(several) == 0 {
		several = []error{err}
	}
	var kept []error
	for _, e := range several {
		switch {
		case len(Separate(e)) > 0:
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
	return Joined(append(kept, stopped))
}
