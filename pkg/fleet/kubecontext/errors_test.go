package kubecontext_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

const address = "https://api.example:6443/apis/batch/v1/jobs?limit=500"

// get wraps the error of a request as net/http does.
func get(err error) error { return &url.Error{Op: "Get", URL: address, Err: err} }

func dial(err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 6443}, Err: err}
}

// slow is the error of a network timeout.
type slow struct{}

func (slow) Error() string   { return "i/o timeout" }
func (slow) Timeout() bool   { return true }
func (slow) Temporary() bool { return true }

const (
	adviceLogin   = ". Log in again, or renew the token or client certificate"
	adviceRefused = ". Check that the API server runs, and its address in the kubeconfig"
	adviceDNS     = ". Check the server name in the kubeconfig, and DNS or VPN"
	adviceBroken  = ". Try again; if that fails, check the network, VPN and any proxy"
)

func TestError(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for _, tt := range []struct {
		name    string
		err     error
		code    kubecontext.Code
		message string
	}{
		{"connection refused", get(dial(os.NewSyscallError("connect", syscall.ECONNREFUSED))), kubecontext.CodeUnreachable, "dial tcp 192.0.2.1:6443: connect: connection refused" + adviceRefused},
		{"no such host", get(dial(&net.DNSError{Err: "no such host", Name: "api.example", IsNotFound: true})), kubecontext.CodeUnreachable, "cannot resolve api.example: no such host" + adviceDNS},
		{"a bare DNS error", &net.DNSError{Err: "no such host", Name: "api.example", IsNotFound: true}, kubecontext.CodeUnreachable, "cannot resolve api.example: no such host" + adviceDNS},
		{"a bare connection error", dial(syscall.ECONNRESET), kubecontext.CodeUnreachable, "dial tcp 192.0.2.1:6443: connection reset by peer" + adviceBroken},
		{"no route", get(dial(os.NewSyscallError("connect", syscall.ENETUNREACH))), kubecontext.CodeUnreachable, "dial tcp 192.0.2.1:6443: connect: network is unreachable. Connect to its network or VPN"},
		{"the connection broke off", get(io.ErrUnexpectedEOF), kubecontext.CodeUnreachable, "unexpected EOF" + adviceBroken},
		{"the connection broke off within an answer", io.ErrUnexpectedEOF, kubecontext.CodeUnreachable, "unexpected EOF" + adviceBroken},
		{"wrapped", fmt.Errorf("cannot list: %w", get(dial(syscall.ECONNREFUSED))), kubecontext.CodeUnreachable, "dial tcp 192.0.2.1:6443: connection refused" + adviceRefused},
		{"the server is starting", apierrors.NewServiceUnavailable("starting"), kubecontext.CodeUnreachable, "starting"},

		{"no answer in time", &kubecontext.TimeoutError{After: 15 * time.Second}, kubecontext.CodeTimeout, "no answer within 15s. Raise --context-timeout, or skip the context with --contexts '^prod'"},
		{"a deadline", get(context.DeadlineExceeded), kubecontext.CodeTimeout, "context deadline exceeded. Raise --request-timeout"},
		{"the network gave up", get(dial(slow{})), kubecontext.CodeTimeout, "dial tcp 192.0.2.1:6443: i/o timeout. Check the VPN, firewall or proxy on the way to the server"},
		{"the resolver gave up", get(dial(&net.DNSError{Err: "i/o timeout", Name: "api.example", IsTimeout: true})), kubecontext.CodeTimeout, "cannot resolve api.example: i/o timeout. Check the DNS server or VPN"},
		{"the server gave up", apierrors.NewTimeoutError("too slow", 1), kubecontext.CodeTimeout, "Timeout: too slow. The server set this limit: it may be overloaded. Try again later"},

		{"credentials not accepted", apierrors.NewUnauthorized("Unauthorized"), kubecontext.CodeUnauthorized, "the server rejects these credentials" + adviceLogin},
		{"the credential plugin failed", get(errors.New("getting credentials: exec: executable aws failed with exit code 255")), kubecontext.CodeCredentials, "getting credentials: exec: executable aws failed with exit code 255. Log in again"},
		{"there is no credential plugin", get(fmt.Errorf("getting credentials: %w", errors.New("exec: executable aws not found"))), kubecontext.CodeCredentials, "getting credentials: exec: executable aws not found. Install this credential plugin, or correct its path in the kubeconfig"},

		{"its etcd is full", apierrors.NewInternalError(errors.New("etcdserver: mvcc: database space exceeded")), kubecontext.CodeError, "Internal error occurred: etcdserver: mvcc: database space exceeded. Its etcd is full: nothing can be stored until an administrator makes space"},
		{"may not", apierrors.NewForbidden(jobs, "", errors.New("no")), kubecontext.CodeForbidden, "jobs.batch is forbidden: no"},
		{"not served", apierrors.NewGenericServerResponse(http.StatusNotFound, "get", jobs, "", "", 0, true), kubecontext.CodeNotFound, "the server could not find the requested resource (get jobs.batch)"},
		{"not there", apierrors.NewNotFound(jobs, "pi"), kubecontext.CodeNotFound, `jobs.batch "pi" not found`},
		{"not understood", apierrors.NewBadRequest("field label not supported: spec.managedBy"), kubecontext.CodeBadRequest, "field label not supported: spec.managedBy"},
		{"not valid", apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "pi", nil), kubecontext.CodeBadRequest, `Job.batch "pi" is invalid`},

		{"an unusable entry", &kubecontext.ConfigError{Err: errors.New("unable to load root certificates")}, kubecontext.CodeConfig, "the kubeconfig entry is not usable: unable to load root certificates"},
		{"a file that is not there", &kubecontext.ConfigError{Err: &os.PathError{Op: "open", Path: "ca.crt", Err: syscall.ENOENT}}, kubecontext.CodeConfig, "the kubeconfig entry is not usable: open ca.crt: no such file or directory"},

		{"too old a resource version", apierrors.NewResourceExpired("too old"), kubecontext.CodeError, "too old"},
		{"anything else", errors.New("broken"), kubecontext.CodeError, "broken"},
		{"cancelled", context.Canceled, kubecontext.CodeError, "context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := &kubecontext.Error{Context: "prod", Err: tt.err}
			assert.Equal(t, err.Code(), tt.code)
			assert.Equal(t, err.Message(), tt.message)
			assert.Assert(t, !strings.Contains(err.Message(), "https://"), "it tells the address")
			assert.Equal(t, err.Error(), `context "prod": `+tt.message)
			assert.ErrorIs(t, err, tt.err)

			err.Doing = "list jobs"
			assert.Equal(t, err.Message(), "cannot list jobs: "+tt.message)
			assert.Equal(t, err.Code(), tt.code)
		})
	}
}

// TestErrorCodeOfWrappedStatus checks that the server's Status determines the code, even inside
// other errors.
func TestErrorCodeOfWrappedStatus(t *testing.T) {
	status := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Message: "no"}}
	err := &kubecontext.Error{Context: "prod", Err: fmt.Errorf("jobs: %w", status)}
	assert.Equal(t, err.Code(), kubecontext.CodeForbidden)
	assert.Equal(t, err.Message(), "jobs: no")
}

func TestInContext(t *testing.T) {
	broken := errors.New("broken")
	inner := &kubecontext.Error{Context: "of no interest", Doing: "list jobs", Err: broken}
	for _, tt := range []struct {
		name  string
		doing string
		err   error
		want  kubecontext.Error
	}{
		{"any error", "reach it", broken, kubecontext.Error{Context: "prod", Doing: "reach it", Err: broken}},
		{"any error, doing nothing", "", broken, kubecontext.Error{Context: "prod", Err: broken}},
		{"one of another context", "", inner, kubecontext.Error{Context: "prod", Doing: "list jobs", Err: broken}},
		{"what was being done is kept", "reach it", inner, kubecontext.Error{Context: "prod", Doing: "list jobs", Err: broken}},
		{"one that is wrapped", "", fmt.Errorf("wrapped: %w", inner), kubecontext.Error{Context: "prod", Doing: "list jobs", Err: broken}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := kubecontext.InContext("prod", tt.doing, tt.err)
			assert.Equal(t, *got, tt.want)
		})
	}
	assert.Equal(t, inner.Context, "of no interest", "the error it was made of has changed")
}

// TestBecause checks that a reason is one line, and of a credential plugin's paragraphs the first.
func TestBecause(t *testing.T) {
	for want, err := range map[string]error{
		"connection refused":                  get(errors.New("connection\nrefused")),
		"getting credentials: exec: no login": &kubecontext.Error{Context: "prod", Err: get(errors.New("getting credentials: exec: no login\n\nTo log in, run login.\n\nSee the manual"))},
	} {
		assert.Equal(t, kubecontext.Because(err), want)
	}
}
