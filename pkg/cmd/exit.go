package cmd

import (
	"errors"
	"fmt"
	"io"

	"k8s.io/client-go/util/exec"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// exitCode turns the error of a command into the exit code of the process, and
// tells the user about it on w. reach are the flags by which commands that are told reach
// the clusters that were asked.
func exitCode(w io.Writer, err error, reach ...string) int {
	if err == nil {
		return util.ExitOK
	}
	for _, message := range messages(err, reach) {
		fmt.Fprintf(w, "error: %s\n", printers.SafeLines(message))
	}
	return codeOf(err)
}

// messages are what the user is told of an error, one for each of those that it is
// made of. That a signal ended the command is known to who sent it.
func messages(err error, reach []string) (told []string) {
	if several := util.Separate(err); len(several) > 0 {
		for _, e := range several {
			told = append(told, messages(e, reach)...)
		}
		return told
	}
	var (
		found      *util.FindingsError
		incomplete *util.IncompleteError
		partial    *util.PartialError
		signal     *util.SignalError
	)
	switch {
	case errors.As(err, &signal), errors.As(err, &found), errors.As(err, &incomplete):
		// The output says so already.
		return nil
	case errors.As(err, &partial):
		return []string{partial.Error()}
	}
	return []string{string(command.Told(err).Reached(reach))}
}

// codedError is an error with an exit code of its own.
type codedError interface {
	error
	ExitCode() int
}

// codeOf is the smallest code of all that an error is made of.
func codeOf(err error) int {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		smallest := 0
		for _, e := range several.Unwrap() {
			if code := codeOf(e); smallest == 0 || code < smallest {
				smallest = code
			}
		}
		return smallest
	}
	var (
		remote exec.CodeExitError
		coded  codedError
	)
	switch {
	case errors.As(err, &remote):
		return remote.Code
	case errors.As(err, &coded):
		return coded.ExitCode()
	}
	return util.ExitError
}
