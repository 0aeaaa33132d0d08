package command

import (
	"errors"
	"fmt"
	"strings"
)

// Error is an error whose text contains commands. Errorf returns one.
type Error interface {
	error
	// Prose returns the text of Error.
	Prose() Prose
}

// Errorf is fmt.Errorf for errors with commands, as Say is fmt.Sprintf: only Commands and Prose
// among the arguments can contain commands. It wraps errors as usual.
func Errorf(format string, args ...any) error {
	plain(args)
	return &proseError{fmt.Errorf(format, args...)}
}

// proseError is an error of Errorf.
type proseError struct{ error }

func (e *proseError) Prose() Prose { return Prose(e.Error()) }

func (e *proseError) Unwrap() error { return e.error }

// ProseOf returns an error as Prose. Commands in a wrapped Error remain commands. All other text,
// which may come from a server, loses its backquotes.
func ProseOf(err error) Prose {
	if own, ok := err.(Error); ok { //nolint:errorlint // Wrapped errors follow below, with the text around them.
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
		b.WriteString(string(ProseOf(cause)))
		text = after
	}
	b.WriteString(unmarked(text))
	return Prose(b.String())
}

// causesOf returns the errors that an error wraps, without nil.
func causesOf(err error) []error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return several.Unwrap()
	}
	if cause := errors.Unwrap(err); cause != nil {
		return []error{cause}
	}
	return nil
}

// plainError is an error argument of Errorf. Its text is that of ProseOf.
type plainError struct{ error }

func (e plainError) Error() string { return string(ProseOf(e.error)) }

func (e plainError) Unwrap() error { return e.error }
