package cmd

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// The exit codes, the same for every output format. Where several apply, the
// smallest is taken.
const (
	ExitOK    = 0
	ExitError = 1
	ExitUsage = 2
	// ExitFindings: check found something at or above --fail-on, or what trace was asked
	// of can run nowhere.
	ExitFindings = 3
	ExitPartial  = 4
	// ExitFailed: a dispatched Job has failed.
	ExitFailed = 5
	// ExitTimeout: --timeout was over first.
	ExitTimeout = 124
	// ExitSignal is added to the number of the signal that ended a command.
	ExitSignal = 128
)

// usageError is a mistake in how the command was called.
type usageError struct {
	err error
	// command is whose help to look at, such as "kubectl jobs-managedby ls".
	command string
}

func (e *usageError) ExitCode() int { return ExitUsage }
func (e *usageError) Unwrap() error { return e.err }
func (e *usageError) Error() string {
	return fmt.Sprintf("%v\nSee '%s -h' for help and examples", e.err, e.command)
}

// partialError says that some contexts could not be read. What is wrong with
// each of them has been told before.
type partialError struct{ failed, total int }

func (e *partialError) ExitCode() int { return ExitPartial }

func (e *partialError) Error() string {
	if e.total == 1 {
		return "the context could not be read, or not wholly"
	}
	return fmt.Sprintf("%d of %d contexts could not be read, or not wholly", e.failed, e.total)
}

// findingsError says that check found something. What it is has been told before.
type findingsError struct{ count string }

func (e *findingsError) ExitCode() int { return ExitFindings }
func (e *findingsError) Error() string { return "found " + e.count }

// signalError says that a signal ended the command.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string { return "ended by a signal: " + e.signal.String() }

func (e *signalError) ExitCode() int {
	if number, ok := e.signal.(syscall.Signal); ok {
		return ExitSignal + int(number)
	}
	return ExitError
}

// joined is like errors.Join, and leaves a single error as it is.
func joined(errs []error) error {
	var kept []error
	for _, err := range errs {
		if err != nil {
			kept = append(kept, err)
		}
	}
	if len(kept) == 1 {
		return kept[0]
	}
	return errors.Join(kept...)
}

// separate are the errors that errors.Join has put below one another, none if err is
// another error: one that is made of several may say more than they do.
func separate(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	if joined := errors.Join(several.Unwrap()...); joined == nil || joined.Error() != err.Error() {
		return nil
	}
	return several.Unwrap()
}
