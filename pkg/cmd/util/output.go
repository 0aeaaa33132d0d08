package util

import (
	"bufio"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// WriteBuffered calls write with a buffered w, and flushes the buffer.
func WriteBuffered(w io.Writer, write func(io.Writer) error) error {
	out := bufio.NewWriter(w)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	return nil
}

// Print writes an answer to Out in the chosen format, and its table to TableOut if both are
// wanted.
func (e Environment) Print(write, table func(io.Writer) error) error {
	if err := WriteBuffered(e.Out, write); err != nil || e.TableOut == nil {
		return err
	}
	return WriteBuffered(e.TableOut, table)
}

// Report writes a line for people. It ignores errors, because they could not be printed either.
func Report(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintln(w, printers.Safe(fmt.Sprintf(format, args...)))
}

// ReportErrors reports which contexts were not read, and why.
func ReportErrors(w io.Writer, errs []inspect.ContextError) {
	for _, e := range inspect.FoldRefusals(errs) {
		Report(w, "error: context %q: %s", e.Context, e.Message)
	}
}

// ReportUnchecked reports what was not checked, and why.
func ReportUnchecked(w io.Writer, unchecked []inspect.Unchecked) {
	for _, u := range unchecked {
		Report(w, "not checked: %s", printers.UncheckedText(u))
	}
}

// ReportUnneeded notes which contexts were not read, though the answer did not need them. width is that of
// the terminal, 0 without one.
func ReportUnneeded(w io.Writer, errs []inspect.ContextError, width int) {
	for _, e := range inspect.FoldRefusals(errs) {
		_ = printers.Note(w, fmt.Sprintf("context %q: %s", e.Context, e.Message), width)
	}
}

// Partial returns an error for the contexts of a fleet that could not be read, or nil if there are
// none. Contexts that reach the same cluster count once.
func Partial(errs []inspect.ContextError, f *fleet.Fleet) error {
	failed := sets.New[string]()
	for _, e := range errs {
		failed.Insert(e.Context)
	}
	if failed.Len() == 0 {
		return nil
	}
	return &PartialError{Failed: failed.Len(), Total: len(f.Contexts())}
}

// IncompleteError is returned if an answer depends on something that could not be read, which was
// printed.
type IncompleteError struct{}

func (*IncompleteError) Error() string { return `the answer is incomplete: see "not checked"` }

// ExitCode is the code of an incomplete answer.
func (*IncompleteError) ExitCode() int { return ExitPartial }

// Incomplete returns an *IncompleteError if anything was not checked, otherwise nil.
func Incomplete(unchecked []inspect.Unchecked) error {
	if len(unchecked) == 0 {
		return nil
	}
	return &IncompleteError{}
}
