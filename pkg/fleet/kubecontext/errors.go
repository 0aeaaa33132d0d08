package kubecontext

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// Code says in one word why a context gave no answer. The codes are part of
// the output that scripts may rely on.
type Code string

const (
	// CodeUnreachable: no connection to the API server.
	CodeUnreachable Code = "Unreachable"
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
		CodeUnreachable, CodeTimeout, CodeUnauthorized, CodeCredentials, CodeForbidden,
		CodeNotFound, CodeBadRequest, CodeConfig, CodeError,
	}
}

// ConfigError is returned for a context whose entry in the kubeconfig is not
// usable, so that no server was ever asked.
type ConfigError struct{ Err error }

func (e *ConfigError) Unwrap() error { return e.Err }

func (e *ConfigError) Error() string {
	return "the kubeconfig's entry is not usable: " + e.Err.Error()
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
	// Doing is what could not be done, as it stands behind "could not"; "" where
	// Err itself says so.
	Doing string
	Err   error
	// IsBounded is whether it was asked with a limit of time that no flag raises.
	IsBounded bool
}

func (e *Error) Unwrap() error { return e.Err }

// Error tells the context and everything else.
func (e *Error) Error() string { return string(e.Prose()) }

// Prose is what Error returns: a server's words are no commands, and what to do may be.
func (e *Error) Prose() command.Prose {
	return command.Say("context %s: %s", e.Context, command.Prose(e.Message()))
}

// Message tells what could not be done, why, and what to do, without the
// context.
func (e *Error) Message() string {
	var recorded *RecordedError
	if errors.As(e.Err, &recorded) {
		return recorded.Text
	}
	told, hint := command.Text(reason(e.Err)), e.hint()
	if e.IsBounded && e.Code() == CodeTimeout {
		told, hint = "it did not answer in time", ""
	}
	if e.Doing != "" {
		told = command.Say("could not %s: %s", e.Doing, told)
	}
	if hint != "" {
		told = command.Say("%s; %s", told, hint)
	}
	return string(told)
}

// Code classifies the error.
func (e *Error) Code() Code {
	var (
		timeout *TimeoutError
		dns     *net.DNSError
		op      *net.OpError
		urlErr  *url.Error
		config  *ConfigError
		stray   *StrayError
		moved   *MovedError

		recorded *RecordedError
	)
	switch err := e.Err; {
	case errors.As(err, &recorded):
		return recorded.Reason
	case errors.As(err, &stray), errors.As(err, &moved):
		return CodeUnreachable
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), isTimeout(err):
		return CodeTimeout
	case apierrors.IsUnauthorized(err):
		return CodeUnauthorized
	case apierrors.IsForbidden(err):
		return CodeForbidden
	case apierrors.IsNotFound(err):
		return CodeNotFound
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		return CodeBadRequest
	case strings.Contains(err.Error(), "getting credentials"):
		// client-go's exec plugin has no error type (plugin/pkg/client/auth/exec).
		return CodeCredentials
	case errors.As(err, &dns), errors.As(err, &op), errors.As(err, &urlErr),
		apierrors.IsServiceUnavailable(err), utilnet.IsConnectionReset(err), utilnet.IsProbableEOF(err):
		return CodeUnreachable
	case errors.As(err, &config):
		return CodeConfig
	}
	return CodeError
}

// hint says what a person can do about it.
func (e *Error) hint() command.Prose {
	var (
		stray *StrayError
		moved *MovedError
	)
	switch e.Code() {
	case CodeUnreachable:
		if errors.As(e.Err, &stray) || errors.As(e.Err, &moved) {
			return strayHint
		}
		return unreachableHint
	case CodeTimeout:
		return e.timeoutHint()
	case CodeUnauthorized, CodeCredentials:
		return "log in again"
	case CodeForbidden:
		return RightsHint(e.Context)
	case CodeError:
		if strings.Contains(e.Err.Error(), etcdFull) {
			return fullHint
		}
		return ""
	default:
		return ""
	}
}

// RightsHint says how somebody finds out what the context of a name lets them do.
func RightsHint(name string) command.Prose {
	return command.Say("%s tells what you may do there", command.Kubectl(name, "", "auth", "can-i", "--list"))
}

// etcdFull is what API servers pass on of an etcd whose quota is used up; they answer with
// 500, and no reason of its own (etcd: api/v3rpc/rpctypes, ErrNoSpace). How to make room:
// https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota
const etcdFull = "mvcc: database space exceeded"

const fullHint = "its etcd is full: it can be read, and nothing can be stored there before an administrator of the cluster makes room"

const strayHint = "check the server's URL in the kubeconfig and any proxy on the way, or log in again"

const unreachableHint = "is the cluster up, and the network or VPN to it?"

// timeoutHint names the flag that was the limit, if one was.
func (e *Error) timeoutHint() command.Prose {
	var late *TimeoutError
	switch {
	case errors.As(e.Err, &late):
		return "raise --context-timeout or leave the context out with --contexts '^NAME'"
	case isRequestTimeout(e.Err):
		return "raise --request-timeout"
	case apierrors.IsTimeout(e.Err):
		return "that is the server's own limit: it may be overloaded"
	}
	return unreachableHint
}

// isRequestTimeout says whether a request took longer than --request-timeout lets it:
// what a context took too long for as a whole is a TimeoutError. Neither net/http nor
// client-go has a type for it that comes through.
func isRequestTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "Client.Timeout")
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// reason is an error's text without what a reader has no use for: the verb and
// URL that net/http puts in front of every error of a connection.
func reason(err error) string {
	err = withoutURL(err)
	if apierrors.IsUnauthorized(err) {
		return "the server does not accept these credentials"
	}
	// Credential plugins tell of themselves in several paragraphs, the first of
	// which says what is wrong.
	first, _, _ := strings.Cut(err.Error(), "\n\n")
	return strings.Join(strings.Fields(first), " ")
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
