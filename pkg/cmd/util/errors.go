package util

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// The exit codes, the same for every output format. If several apply, the smallest is used.
const (
	ExitOK    = 0
	ExitError = 1
	ExitUsage = 2
	// ExitFindings: check or doctor has findings at or above --fail-on, a probe failed, or a Job of
	// trace --filename can run nowhere.
	ExitFindings = 3
	ExitPartial  = 4
	// ExitFailed: the Job of wait or dispatch failed.
	ExitFailed = 5
	// ExitTimeout: --timeout passed first.
	ExitTimeout = 124
	// ExitSignal is added to the number of the signal that ended a command.
	ExitSignal = 128
)

// UsageError is a mistake in the call of a command.
type UsageError struct {
	Err error
	// Command is the command whose help to read, such as "kubectl jobs-managedby ls".
	Command string
}

// ExitCode is 2.
func (e *UsageError) ExitCode() int { return ExitUsage }

func (e *UsageError) Unwrap() error { return e.Err }
func (e *UsageError) Error() string {
	return fmt.Sprintf("%v\nSee '%s -h' for help and examples", e.Err, e.Command)
}

// PartialError is returned if some contexts could not be read. The reasons were printed before.
type PartialError struct{ Failed, Total int }

// ExitCode is 4.
func (e *PartialError) ExitCode() int { return ExitPartial }

func (e *PartialError) Error() string {
	if e.Total == 1 {
		return "incomplete answer: the context was not read completely"
	}
	return fmt.Sprintf("incomplete answer: %d of %d contexts were not read completely", e.Failed, e.Total)
}

// FindingsError is returned if check has findings, which were printed before.
type FindingsError struct{ Count string }

// ExitCode is 3.
func (e *FindingsError) ExitCode() int { return ExitFindings }

func (e *FindingsError) Error() string { return e.Count + " found" }

// SignalError is returned if a signal ended the command.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return "ended by a signal: " + e.Signal.String() }

// ExitCode is 128 plus the number of the signal.
func (e *SignalError) ExitCode() int {
	if number, ok := e.Signal.(syscall.Signal); ok {
		return ExitSignal + int(number)
	}
	return ExitError
}

// JoinErrors is errors.Join, except that a single error stays unchanged.
func JoinErrors(errs []error) error {
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

// SplitErrors returns the errors that errors.Join has joined. It returns nil for any other error:
// an error that wraps several may have a text of its own.
func SplitErrors(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	if joined := errors.Join(several.Unwrap()...); joined == nil || joined.Error() != err.Error() {
		return nil
	}
	return several.Unwrap()
}
