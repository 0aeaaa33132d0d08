package cmd

import (
	"context"
	"errors"
	"strings"
)

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
