package kubecontext

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// diagnosis explains an error of a context to its user.
type diagnosis struct {
	code   Code
	cause  string
	advice command.Prose
}

// diagnose finds the cause of an error and the fix. Every command uses it to report contexts.
func (e *Error) diagnose() diagnosis {
	var (
		recorded *RecordedError
		stray    *StrayError
		moved    *MovedError
		config   *ConfigError
	)
	switch err := e.Err; {
	case errors.As(err, &recorded):
		return diagnosis{recorded.Reason, recorded.Text, ""}
	case errors.As(err, &stray), errors.As(err, &moved):
		return diagnosis{CodeUnreachable, textOf(err), "Check the server URL in the kubeconfig and any proxy, or log in again"}
	case isTimedOut(err):
		return e.timedOut()
	case IsAnswer(err):
		return e.refused()
	case strings.Contains(err.Error(), "getting credentials"):
		return e.withoutCredentials()
	case errors.As(err, &config):
		return diagnosis{CodeConfig, textOf(err), ""}
	}
	if found, ok := e.badCertificate(); ok {
		return found
	}
	if found, ok := disconnected(e.Err); ok {
		return found
	}
	return diagnosis{CodeError, textOf(e.Err), ""}
}

func isTimedOut(err error) bool {
	var late *TimeoutError
	return errors.As(err, &late) || errors.Is(err, context.DeadlineExceeded) || apierrors.IsTimeout(err) || isTimeout(err)
}

// timedOut names the flag that set the limit, if one did.
func (e *Error) timedOut() diagnosis {
	var late *TimeoutError
	found := diagnosis{CodeTimeout, textOf(e.Err), "Check the VPN, firewall or proxy on the way to the server"}
	switch {
	case errors.As(e.Err, &late):
		found.advice = command.Say("Raise --context-timeout, or %s", e.skip())
	case isRequestTimeout(e.Err):
		found.advice = "Raise --request-timeout"
	case apierrors.IsTimeout(e.Err):
		found.advice = "The server set this limit: it may be overloaded. Try again later"
	case isDNS(e.Err):
		found.cause, found.advice = unresolved(e.Err), "Check the DNS server or VPN"
	}
	return found
}

// isRequestTimeout reports whether a request exceeded --request-timeout. A context that took too
// long as a whole has a TimeoutError. Neither net/http nor client-go returns a type for this.
func isRequestTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "Client.Timeout")
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// skip advises to skip the context.
func (e *Error) skip() command.Prose {
	return command.Say("skip the context with --contexts %s", command.Word("^"+e.Context))
}

// etcdFull is the message of an etcd whose quota is used up. API servers pass it on with 500 and
// no reason (etcd: api/v3rpc/rpctypes, ErrNoSpace). How to free space:
// https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota
const etcdFull = "mvcc: database space exceeded"

// refused explains an error from the API server.
func (e *Error) refused() diagnosis {
	found := diagnosis{CodeError, textOf(e.Err), ""}
	switch err := e.Err; {
	case apierrors.IsUnauthorized(err):
		return diagnosis{CodeUnauthorized, "the server rejects these credentials", "Log in again, or renew the token or client certificate"}
	case apierrors.IsForbidden(err):
		found.code = CodeForbidden
		if denied, ok := DenialOf(err); ok && denied.Resource != "" {
			found.advice = rightsHint(denied.Namespace)
		}
	case apierrors.IsNotFound(err):
		found.code = CodeNotFound
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		found.code = CodeBadRequest
	case apierrors.IsServiceUnavailable(err):
		found.code = CodeUnreachable
	case strings.Contains(err.Error(), etcdFull):
		found.advice = "Its etcd is full: nothing can be stored until an administrator makes space"
	}
	return found
}

// withoutCredentials explains why no credentials were available. client-go's exec plugin
// has no error type (plugin/pkg/client/auth/exec).
func (e *Error) withoutCredentials() diagnosis {
	found := diagnosis{CodeCredentials, textOf(e.Err), "Log in again"}
	if strings.Contains(found.cause, "not found") {
		found.advice = "Install this credential plugin, or correct its path in the kubeconfig"
	}
	return found
}

// disconnected explains why there is no connection. ok is false for other errors.
func disconnected(err error) (found diagnosis, ok bool) {
	var (
		op     *net.OpError
		urlErr *url.Error
	)
	found = diagnosis{CodeUnreachable, textOf(err), "Try again; if that fails, check the network, VPN and any proxy"}
	switch {
	case isDNS(err):
		found.cause, found.advice = unresolved(err), "Check the server name in the kubeconfig, and DNS or VPN"
	case utilnet.IsConnectionRefused(err):
		found.advice = "Check that the API server runs, and its address in the kubeconfig"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		found.advice = "Connect to its network or VPN"
	case errors.As(err, &op), errors.As(err, &urlErr), utilnet.IsConnectionReset(err), utilnet.IsProbableEOF(err):
	default:
		return diagnosis{}, false
	}
	return found, true
}

func isDNS(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}

// unresolved names the host that DNS cannot resolve.
func unresolved(err error) string {
	var dns *net.DNSError
	errors.As(err, &dns)
	return "cannot resolve " + dns.Name + ": " + dns.Err
}

// textOf returns an error's text on one line, without the verb and URL of net/http. Credential
// plugins print several paragraphs, of which the first names the cause.
func textOf(err error) string {
	first, _, _ := strings.Cut(withoutURL(err).Error(), "\n\n")
	return ShortRefusals(strings.Join(strings.Fields(first), " "))
}
