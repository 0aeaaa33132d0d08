package util

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// TestUnlessInterrupted: an interrupted request is no failure, and real failures are still
// reported.
func TestUnlessInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	cut := fmt.Errorf("context \"here\": cannot read it: %w", context.Canceled)
	full := errors.New("the disk is full")
	assert.Equal(t, unlessInterrupted(ctx, cut), cut)
	interrupt(&SignalError{Signal: syscall.SIGHUP})
	for _, tt := range []struct {
		err  error
		want string
	}{
		{cut, "ended by a signal: hangup"},
		{errors.New("in words alone: context canceled"), "ended by a signal: hangup"},
		{errors.Join(cut, errors.Join(cut, cut)), "ended by a signal: hangup\nended by a signal: hangup"},
		{full, "the disk is full"},
		{errors.Join(full, cut), "the disk is full\nended by a signal: hangup"},
	} {
		assert.Error(t, unlessInterrupted(ctx, tt.err), tt.want)
	}
}
