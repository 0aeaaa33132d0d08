package util

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

// UsageError is a mistake in how the command was called.
type UsageError struct {
	Err error
	// Command is whose help to look at, such as "kubectl jobs-managedby ls".
	Command string
}

// ExitCode is 2.
func (e *UsageError) ExitCode() int { return ExitUsage }

func (e *UsageError) Unwrap() error { return e.Err }
func (e *UsageError) Error() string {
	return fmt.Sprintf("%v\nSee '%s -h' for help and examples", e.Err, e.Command)
}

// PartialError says that some contexts could not be read. What is wrong with
// each of them has been told before.
type PartialError struct{ Failed, Total int }

// ExitCode is 4.
func (e *PartialError) ExitCode() int { return ExitPartial }

func (e *PartialError) Error() string {
	if e.Total == 1 {
		return "incomplete answer: the context was not read completely"
	}
	return fmt.Sprintf("incomplete answer: %d of %d contexts were not read completely", e.Failed, e.Total)
}

// FindingsError says that check found something. What it is has been told before.
type FindingsError struct{ Count string }

// ExitCode is 3.
func (e *FindingsError) ExitCode() int { return ExitFindings }

func (e *FindingsError) Error() string { return e.Count + " found" }

// SignalError says that a signal ended the command.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return "ended by a signal: " + e.Signal.String() }

// ExitCode is 128 and the number of the signal.
func (e *SignalError) ExitCode() int {
	if number, ok := e.Signal.(syscall.Signal); ok {
		return ExitSignal + int(number)
	}
	return ExitError
}

// Joined is like errors.Join, and leaves a single error as it is.
func Joined(errs []error) error {
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

// Separate are the errors that errors.Join has put below one another, none if err is
// another error: one that is made of several may say more than they do.
func Separate(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	if joined := errors.Join(several.Unwrap()...); joined == nil || joined.Error() != err.Error() {
		return nil
	}
	return several.Unwrap()
}
