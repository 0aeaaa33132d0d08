package fleet

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// sharedTransport is the transport of all requests of a context to its cluster. If the context has
// no right to read something, the other contexts of the same cluster are tried in turn. If all are
// refused, the first refusal counts. Writes use only the user's chosen context.
type sharedTransport struct {
	own  http.RoundTripper
	base *url.URL
	// others are the transports of the cluster's other contexts.
	others atomic.Pointer[[]*sharedTransport]
}

func newTransport(config *rest.Config, own http.RoundTripper) (*sharedTransport, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	return &sharedTransport{own: own, base: base}, nil
}

// settings returns settings for clients that create their own transport. This one handles
// credentials and TLS.
func (t *sharedTransport) settings(config *rest.Config) *rest.Config {
	return &rest.Config{
		Host: t.base.String(), ContentConfig: config.ContentConfig, QPS: config.QPS, Burst: config.Burst,
		WarningHandler: config.WarningHandler, WarningHandlerWithContext: config.WarningHandlerWithContext,
		Timeout: config.Timeout, Transport: t,
	}
}

// WrappedRoundTripper lets client-go find the transport that can cancel requests.
func (t *sharedTransport) WrappedRoundTripper() http.RoundTripper { return t.own }

// ownOnly marks a request that only its own context may answer: a proof about a cluster has to
// use one connection.
type ownOnly struct{}

// OwnConnection returns a context for requests that only their own kubeconfig context may answer.
func OwnConnection(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownOnly{}, true)
}

// RoundTrip sends a request.
func (t *sharedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	first, err := t.own.RoundTrip(request)
	if err == nil && request.Method == http.MethodPost && first.StatusCode >= http.StatusInternalServerError {
		// With this header, client-go would repeat a creation that may have succeeded, and report that the
		// object already exists (client-go: rest/with_retry.go).
		first.Header.Del("Retry-After")
	}
	others := t.others.Load()
	if err != nil || others == nil || !isRefused(first) || !isReading(request) || request.Context().Value(ownOnly{}) != nil {
		return first, err
	}
	for _, other := range *others {
		// Connection errors of the other context do not matter: it was not the one asked.
		response, err := other.own.RoundTrip(t.readdress(request, other))
		switch {
		case err != nil:
		case isRefused(response):
			_ = response.Body.Close()
		default:
			_ = first.Body.Close()
			return response, nil
		}
	}
	return first, nil
}

// readdress returns a request for another transport, which may have another address for the server.
func (t *sharedTransport) readdress(request *http.Request, other *sharedTransport) *http.Request {
	copied := request.Clone(request.Context())
	copied.Host = ""
	copied.URL.Scheme, copied.URL.Host = other.base.Scheme, other.base.Host
	path := strings.TrimPrefix(request.URL.Path, strings.TrimRight(t.base.Path, "/"))
	copied.URL.Path, copied.URL.RawPath = strings.TrimRight(other.base.Path, "/")+path, ""
	return copied
}

// isRefused reports for an answer what kubecontext.IsRefused reports for an error.
func isRefused(r *http.Response) bool {
	return r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusUnauthorized
}

func isReading(r *http.Request) bool {
	return (r.Body == nil || r.Body == http.NoBody) && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// share makes the first n contexts of a cluster ask the others for what they may not read.
func share(routes []*Cluster, n int) {
	for i, route := range routes[:n] {
		var others []*sharedTransport
		for _, other := range slices.Concat(routes[i+1:], routes[:i]) {
			others = append(others, other.transport)
		}
		route.transport.others.Store(&others)
	}
}
