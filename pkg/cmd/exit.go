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

// exitCode returns the exit code of the process for a command's error, and prints the error on w.
// reach is how printed commands must be called.
func exitCode(w io.Writer, err error, reach command.Reach) int {
	if err == nil {
		return util.ExitOK
	}
	for _, message := range messages(err, reach) {
		fmt.Fprintf(w, "error: %s\n", printers.SafeLines(message))
	}
	return codeOf(err)
}

// messages returns the messages of an error, one for each error that it is made of. A signal has
// none, because its sender knows.
func messages(err error, reach command.Reach) (texts []string) {
	if several := util.SplitErrors(err); len(several) > 0 {
		for _, e := range several {
			texts = append(texts, messages(e, reach)...)
		}
		return texts
	}
	var (
		found      *util.FindingsError
		incomplete *util.IncompleteError
		partial    *util.PartialError
		signal     *util.SignalError
	)
	var usage *util.UsageError
	if errors.As(err, &usage) {
		if several := util.SplitErrors(usage.Err); len(several) > 1 {
			last := len(several) - 1
			for _, e := range several[:last] {
				texts = append(texts, messages(e, reach)...)
			}
			return append(texts, messages(&util.UsageError{Err: several[last], Command: usage.Command}, reach)...)
		}
	}
	switch {
	case errors.As(err, &signal), errors.As(err, &found), errors.As(err, &incomplete):
		// The output already says so.
		return nil
	case errors.As(err, &partial):
		return []string{partial.Error()}
	}
	return []string{string(command.ProseOf(err).Reached(reach))}
}

// codedError is an error with its own exit code.
type codedError interface {
	error
	ExitCode() int
}

// codeOf returns the smallest exit code of all errors that an error is made of.
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
