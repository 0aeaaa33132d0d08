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

// Code is the reason why a context gave no answer. The codes are part of the output that scripts
// may rely on.
type Code string

const (
	// CodeUnreachable: no connection to the API server.
	CodeUnreachable Code = "Unreachable"
	// CodeCertificate: TLS failed, as one side rejects the certificate of the other.
	CodeCertificate Code = "Certificate"
	// CodeTimeout: the server did not answer in time.
	CodeTimeout Code = "Timeout"
	// CodeUnauthorized: the server rejects the credentials.
	CodeUnauthorized Code = "Unauthorized"
	// CodeCredentials: no credentials were available, so no request was sent.
	CodeCredentials Code = "Credentials"
	// CodeForbidden: the user has no right to do this.
	CodeForbidden Code = "Forbidden"
	// CodeNotFound: the server does not serve the requested API.
	CodeNotFound Code = "NotFound"
	// CodeBadRequest: the server does not understand the request, such as an unknown field
	// selector.
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

// Label returns the code as tables show it next to the name of a context or an object, which exists even
// if its server does not serve the API.
func (c Code) Label() string {
	if c == CodeNotFound {
		return "NotServed"
	}
	return string(c)
}

// ConfigError means that a context's entry in the kubeconfig is not usable, so that no request
// was sent.
type ConfigError struct{ Err error }

func (e *ConfigError) Unwrap() error { return e.Err }

func (e *ConfigError) Error() string {
	return "the kubeconfig entry is not usable: " + e.Err.Error()
}

// TimeoutError means that a cluster did not answer in its time.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("no answer within %s", e.After)
}

// RecordedError is an error of a context that a snapshot has recorded.
type RecordedError struct {
	Reason Code
	// Text is the recorded message, with the fix.
	Text string
}

func (e *RecordedError) Error() string { return e.Text }

// Error is an error of one context.
type Error struct {
	// Context is the context's name.
	Context string
	// Doing is the action that failed, as in "cannot list jobs"; "" if Err names it.
	Doing string
	Err   error
	// HasFixedLimit is whether the request had a time limit that no flag raises.
	HasFixedLimit bool
}

func (e *Error) Unwrap() error { return e.Err }

// Error names the context, what failed, why, and what to do.
func (e *Error) Error() string { return string(e.Prose()) }

// Prose returns the text of Error. Advice may contain commands, a server's words never do.
func (e *Error) Prose() command.Prose {
	return command.Say("context %q: %s", e.Context, command.Prose(e.Message()))
}

// Message returns the text of Error without the context.
func (e *Error) Message() string {
	var recorded *RecordedError
	if errors.As(e.Err, &recorded) {
		return recorded.Text
	}
	found := e.diagnose()
	message, advice := command.Text(found.cause), found.advice
	if e.HasFixedLimit && found.code == CodeTimeout {
		message, advice = "no answer in time", ""
	}
	// A denial names its action itself.
	if e.Doing != "" && (!strings.HasPrefix(string(found.advice), rolesToAskFor) || !strings.HasPrefix(e.Doing, "list ")) {
		message = command.Say("cannot %s: %s", e.Doing, message)
	}
	if advice != "" {
		message = command.Say("%s. %s", command.Prose(strings.TrimRight(string(message), ".")), advice)
	}
	return string(message)
}

// Cause returns why something failed, without the action, the context, and what to do.
func (e *Error) Cause() string { return string(command.Text(e.diagnose().cause)) }

// Code classifies the error.
func (e *Error) Code() Code { return e.diagnose().code }

// RightsHint says where the roles are that give the missing rights.
const RightsHint command.Prose = rolesToAskFor + ": " + rolesPage

const (
	rolesToAskFor = "Roles to ask for"
	rolesPage     = "https://github.com/jobmanagedby/kubectl-jobmanagedby/blob/main/docs/rbac.md"
)

// rightsHint is RightsHint for a right in a namespace, "" for the cluster.
func rightsHint(namespace string) command.Prose {
	if namespace == "" {
		return RightsHint
	}
	return command.Say(rolesToAskFor+", with a RoleBinding in namespace %s: %s", namespace, command.Prose(rolesPage))
}

// withoutURL removes the verb and URL of net/http from an error.
func withoutURL(err error) error {
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err
	}
	return err
}

// InContext returns an error as an *Error of a context. It keeps the action of an *Error.
// Otherwise the action is doing, which may be "".
func InContext(name, doing string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Context: name, Doing: cmp.Or(e.Doing, doing), Err: e.Err, HasFixedLimit: e.HasFixedLimit}
	}
	return &Error{Context: name, Doing: doing, Err: err}
}
