package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

func TestExitCode(t *testing.T) {
	usage := &util.UsageError{Err: errors.New("no such flag"), Command: "kubectl x"}
	partial := &util.PartialError{Failed: 1, Total: 3}
	interrupt := &util.SignalError{Signal: syscall.SIGINT}
	for _, tt := range []struct {
		err  error
		code int
		want string
	}{
		{nil, 0, ""},
		{errors.New("evil\x1b[31m"), 1, "error: evil\\x1b[31m\n"},
		{fmt.Errorf("more: %w", usage), 2, "error: more: no such flag\nSee 'kubectl x -h' for help and examples\n"},
		{partial, 4, "error: incomplete answer: 1 of 3 contexts were not read completely\n"},
		{interrupt, 130, ""},
		{&util.SignalError{Signal: syscall.SIGTERM}, 143, ""},
		{&util.SignalError{Signal: syscall.SIGHUP}, 129, ""},
		// The smallest of several codes.
		{errors.Join(interrupt, partial), 4, "error: incomplete answer: 1 of 3 contexts were not read completely\n"},
		{errors.Join(partial, errors.New("the disk is full")), 1, "error: incomplete answer: 1 of 3 contexts were not read completely\nerror: the disk is full\n"},
		{errors.Join(&util.FindingsError{Count: "2 errors"}, partial, interrupt), 3, "error: incomplete answer: 1 of 3 contexts were not read completely\n"},
		{errors.Join(partial, fmt.Errorf("of a command: %w", lateError{})), 4, "error: incomplete answer: 1 of 3 contexts were not read completely\nerror: of a command: late\n"},
		{fmt.Errorf("of a command: %w", lateError{}), 124, "error: of a command: late\n"},
		{fmt.Errorf("lost: %w, and %w; it is in FILE", errors.New("a"), errors.New("b")), 1, "error: lost: a, and b; it is in FILE\n"},
		{fmt.Errorf("printed before: %w", partial), 4, "error: incomplete answer: 1 of 3 contexts were not read completely\n"},
	} {
		var stderr bytes.Buffer
		assert.Equal(t, exitCode(&stderr, tt.err, command.Reach{}), tt.code, "%v", tt.err)
		assert.Equal(t, stderr.String(), tt.want)
	}
}

// TestErrorCommandsHaveFlags: the commands of errors get the flags of the call, however the errors are
// wrapped.
func TestErrorCommandsHaveFlags(t *testing.T) {
	rights := command.Errorf("%s tells", command.Kubectl("c", "", "auth", "can-i", "--list"))
	var errOut bytes.Buffer
	assert.Equal(t, exitCode(&errOut, errors.Join(fmt.Errorf("no: %w", rights), errors.New("`kubectl x`")), command.Reach{Flags: []string{"--as", "some body"}}), 1)
	assert.Equal(t, errOut.String(), "error: no: `kubectl --as 'some body' --context c auth can-i --list` tells\nerror: 'kubectl x'\n")
}

// lateError is an error of a single command.
type lateError struct{}

func (lateError) Error() string { return "late" }
func (lateError) ExitCode() int { return util.ExitTimeout }
