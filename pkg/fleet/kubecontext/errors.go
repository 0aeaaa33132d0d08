package kubecontext

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// Code says in one word why a context gave no answer. The codes are part of
// the output that scripts may rely on.
type Code string

const (
	// CodeUnreachable: no connection to the API server.
	CodeUnreachable Code = "Unreachable"
	// CodeCertificate: TLS failed, as one side rejects the certificate of the other.
	CodeCertificate Code = "Certificate"
	// CodeTimeout: it did not answer in time.
	CodeTimeout Code = "Timeout"
	// CodeUnauthorized: it does not accept the credentials.
	CodeUnauthorized Code = "Unauthorized"
	// CodeCredentials: no credentials could be had, so it was never asked.
	CodeCredentials Code = "Credentials"
	// CodeForbidden: it knows the user, who may not do this.
	CodeForbidden Code = "Forbidden"
	// CodeNotFound: it does not serve what was asked for.
	CodeNotFound Code = "NotFound"
	// CodeBadRequest: it does not understand the question, such as a field
	// selector it does not know.
	CodeBadRequest Code = "BadRequest"
	// CodeConfig: the kubeconfig's entry cannot be used.
	CodeConfig Code = "Config"
	// CodeError: anything else.
	CodeError Code = "Error"
)

// Codes returns all codes.
func Codes() []Code {
	return []Code{
		CodeUnreachable, CodeCertificate, CodeTimeout, CodeUnauthorized, CodeCredentials, CodeForbidden,
		CodeNotFound, CodeBadRequest, CodeConfig, CodeError,
	}
}

// ConfigError is returned for a context whose entry in the kubeconfig is not
// usable, so that no server was ever asked.
type ConfigError struct{ Err error }

func (e *ConfigError) Unwrap() error { return e.Err }

func (e *ConfigError) Error() string {
	return "the kubeconfig entry is not usable: " + e.Err.Error()
}

// TimeoutError is returned for a cluster that did not answer in its time.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("no answer within %s", e.After)
}

// RecordedError is an error that a context gave when a bundle was made of it.
type RecordedError struct {
	Reason Code
	// Text is the message as it was told then, with what to do about it.
	Text string
}

func (e *RecordedError) Error() string { return e.Text }

// Error is what went wrong with one context.
type Error struct {
	// Context is the context's name.
	Context string
	// Doing is the action that failed, as in "cannot list jobs"; "" if Err names it.
	Doing string
	Err   error
	// IsBounded is whether it was asked with a limit of time that no flag raises.
	IsBounded bool
}

func (e *Error) Unwrap() error { return e.Err }

// Error names the context, what failed, why, and what to do.
func (e *Error) Error() string { return string(e.Prose()) }

// Prose is what Error returns: advice may hold commands, a server's words never do.
func (e *Error) Prose() command.Prose {
	return command.Say("context %q: %s", e.Context, command.Prose(e.Message()))
}

// Message is Error without the context.
func (e *Error) Message() string {
	var recorded *RecordedError
	if errors.As(e.Err, &recorded) {
		return recorded.Text
	}
	found := e.diagnose()
	message, advice := command.Text(found.cause), found.advice
	if e.IsBounded && found.code == CodeTimeout {
		message, advice = "no answer in time", ""
	}
	if e.Doing != "" {
		message = command.Say("cannot %s: %s", e.Doing, message)
	}
	if advice != "" {
		message = command.Say("%s. %s", command.Prose(strings.TrimRight(string(message), ".")), advice)
	}
	return string(message)
}

// Code classifies the error.
func (e *Error) Code() Code { return e.diagnose().code }

// RightsHint advises how to list what the user of a context may do.
func RightsHint(name string) command.Prose {
	return command.Say("See your rights with %s", command.Kubectl(name, "", "auth", "can-i", "--list"))
}

// withoutURL is an error without the verb and URL that net/http puts in front.
func withoutURL(err error) error {
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err
	}
	return err
}

// InContext makes an error of one context of any other. What an *Error says was
// being done is kept; otherwise it is doing, which may be "".
func InContext(name, doing string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Context: name, Doing: cmp.Or(e.Doing, doing), Err: e.Err, IsBounded: e.IsBounded}
	}
	return &Error{Context: name, Doing: doing, Err: err}
}
