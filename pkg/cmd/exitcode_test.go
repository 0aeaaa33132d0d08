package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestExitCode(t *testing.T) {
	usage := &usageError{err: errors.New("no such flag"), command: "kubectl x"}
	partial := &partialError{failed: 1, total: 3}
	interrupt := &signalError{syscall.SIGINT}
	for _, tt := range []struct {
		err  error
		code int
		told string
	}{
		{nil, 0, ""},
		{errors.New("evil\x1b[31m"), 1, "error: evil\\x1b[31m\n"},
		{fmt.Errorf("more: %w", usage), 2, "error: more: no such flag\nSee 'kubectl x -h' for help and examples\n"},
		{partial, 4, "error: 1 of 3 contexts could not be read, or not wholly\n"},
		{interrupt, 130, ""},
		{&signalError{syscall.SIGTERM}, 143, ""},
		{&signalError{syscall.SIGHUP}, 129, ""},
		// Where several apply, the smallest.
		{errors.Join(interrupt, partial), 4, "error: 1 of 3 contexts could not be read, or not wholly\n"},
		{errors.Join(partial, errors.New("the disk is full")), 1, "error: 1 of 3 contexts could not be read, or not wholly\nerror: the disk is full\n"},
		{errors.Join(&findingsError{"2 errors"}, partial, interrupt), 3, "error: found 2 errors\nerror: 1 of 3 contexts could not be read, or not wholly\n"},
		{errors.Join(partial, fmt.Errorf("of a command: %w", timedOut{})), 4, "error: 1 of 3 contexts could not be read, or not wholly\nerror: of a command: late\n"},
		{fmt.Errorf("of a command: %w", timedOut{}), 124, "error: of a command: late\n"},
		{fmt.Errorf("lost: %w, and %w; it is in FILE", errors.New("a"), errors.New("b")), 1, "error: lost: a, and b; it is in FILE\n"},
		{fmt.Errorf("what was told before: %w", partial), 4, "error: 1 of 3 contexts could not be read, or not wholly\n"},
	} {
		var told bytes.Buffer
		assert.Equal(t, exitCode(&told, tt.err), tt.code, "%v", tt.err)
		assert.Equal(t, told.String(), tt.told)
	}
}

// timedOut is an error of a single command.
type timedOut struct{}

func (timedOut) Error() string { return "late" }
func (timedOut) ExitCode() int { return ExitTimeout }
