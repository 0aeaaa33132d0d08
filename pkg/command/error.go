package command

import (
	"errors"
	"fmt"
	"strings"
)

// Error is an error whose text has commands. Errorf makes one.
type Error interface {
	error
	// Prose is what Error returns.
	Prose() Prose
}

// Errorf is fmt.Errorf for errors that have commands, as Say is fmt.Sprintf: nothing else
// in it can be taken for one. What it wraps is kept.
func Errorf(format string, args ...any) error {
	plain(args)
	return &said{fmt.Errorf(format, args...)}
}

// said is an error of Errorf.
type said struct{ error }

func (e *said) Prose() Prose { return Prose(e.Error()) }

func (e *said) Unwrap() error { return e.error }

// Told is an error as Prose. Commands of an Error that it wraps stay what they are; all
// other text, which may be a server's, loses its backquotes.
func Told(err error) Prose {
	if own, ok := err.(Error); ok { //nolint:errorlint // What is wrapped is looked for below, with the text around it.
		return own.Prose()
	}
	var b strings.Builder
	text := err.Error()
	for _, cause := range causesOf(err) {
		before, after, ok := strings.Cut(text, cause.Error())
		if !ok || cause.Error() == "" {
			continue
		}
		b.WriteString(unmarked(before))
		b.WriteString(string(Told(cause)))
		text = after
	}
	b.WriteString(unmarked(text))
	return Prose(b.String())
}

// causesOf are the errors that one wraps, none of which is nil.
func causesOf(err error) []error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return several.Unwrap()
	}
	if cause := errors.Unwrap(err); cause != nil {
		return []error{cause}
	}
	return nil
}

// plainError is an error among the arguments of Errorf: its text is what Told says.
type plainError struct{ error }

func (e plainError) Error() string { return string(Told(e.error)) }

func (e plainError) Unwrap() error { return e.error }
