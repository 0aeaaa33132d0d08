package kubecontext

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// badCertificate explains why TLS failed. ok is false for other errors. In all these cases, the
// network is fine.
func (e *Error) badCertificate() (found diagnosis, ok bool) {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
	)
	found = diagnosis{CodeCertificate, textOf(e.Err), "Check the server URL and certificate-authority in the kubeconfig"}
	switch text := e.Err.Error(); {
	case errors.As(e.Err, &authority):
		found.cause = "the kubeconfig's certificate authority did not sign the server certificate"
		found.advice = "Correct certificate-authority-data in the kubeconfig, or log in again"
	case errors.As(e.Err, &host):
		found.cause = strings.TrimPrefix(host.Error(), "x509: ")
		found.advice = "Correct the server URL in the kubeconfig, or set its tls-server-name"
	case errors.As(e.Err, &invalid) && invalid.Reason == x509.Expired:
		found.cause, found.advice = e.outdated(invalid)
	case errors.As(e.Err, &record), strings.Contains(text, "server gave HTTP response to HTTPS client"):
		found.cause = "the server does not speak TLS"
		found.advice = "Correct the server URL in the kubeconfig, or check the proxy"
	case strings.Contains(text, "remote error: tls: "):
		// crypto/tls exports no type for the alert of a server.
		found.cause = "the server rejects the client certificate: " + text[strings.Index(text, "tls: ")+len("tls: "):]
		found.advice = "Renew the client certificate in the kubeconfig, or log in again"
	case errors.As(e.Err, &invalid), strings.Contains(text, "x509: "), strings.Contains(text, "tls: failed to verify certificate"):
	default:
		return diagnosis{}, false
	}
	return found, true
}

// outdated explains a certificate that is expired or not valid yet. The message of crypto/x509
// names the current time, so no clock is needed.
func (e *Error) outdated(invalid x509.CertificateInvalidError) (cause string, advice command.Prose) {
	if c := invalid.Cert; strings.Contains(invalid.Detail, " is before ") {
		cause = "the server certificate is not valid yet"
		if c != nil {
			cause += " (from " + c.NotBefore.UTC().Format(time.RFC3339) + ")"
		}
		return cause, command.Say("Check the clock of this machine, or %s", e.skip())
	}
	cause = "the server certificate has expired"
	if c := invalid.Cert; c != nil {
		cause += " (" + c.NotAfter.UTC().Format(time.RFC3339) + ")"
	}
	return cause, command.Say("Renew it, or %s", e.skip())
}
