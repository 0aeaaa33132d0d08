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

// door is through which all requests of a context go to its cluster. Where the
// context is refused something to read, the other contexts that lead to the same
// cluster are tried in turn; if all are refused, what was said to the first is what
// counts. What writes goes in the name that the user has chosen, and no other.
type door struct {
	own  http.RoundTripper
	base *url.URL
	// others are those of the cluster's other contexts.
	others atomic.Pointer[[]*door]
}

func newDoor(config *rest.Config, own http.RoundTripper) (*door, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	return &door{own: own, base: base}, nil
}

// settings are those for clients that make a transport of their own: all that has to
// do with that is behind the door.
func (d *door) settings(config *rest.Config) *rest.Config {
	return &rest.Config{
		Host: d.base.String(), ContentConfig: config.ContentConfig, QPS: config.QPS, Burst: config.Burst,
		WarningHandler: config.WarningHandler, WarningHandlerWithContext: config.WarningHandlerWithContext,
		Timeout: config.Timeout, Transport: d,
	}
}

// WrappedRoundTripper lets client-go find the transport that can cancel requests.
func (d *door) WrappedRoundTripper() http.RoundTripper { return d.own }

// ownOnly marks the context of a request that no other context may answer: who proves
// something about a cluster reads everything over one connection.
type ownOnly struct{}

// OwnConnection has requests answered by the context that is asked, and by no other context
// of the same cluster.
func OwnConnection(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownOnly{}, true)
}

// RoundTrip sends a request.
func (d *door) RoundTrip(request *http.Request) (*http.Response, error) {
	first, err := d.own.RoundTrip(request)
	others := d.others.Load()
	if err != nil || others == nil || !isRefusal(first) || !isReading(request) || request.Context().Value(ownOnly{}) != nil {
		return first, err
	}
	for _, other := range *others {
		// What the other one's connection suffers from is not what was asked.
		again, err := other.own.RoundTrip(d.readdressed(request, other))
		switch {
		case err != nil:
		case isRefusal(again):
			_ = again.Body.Close()
		default:
			_ = first.Body.Close()
			return again, nil
		}
	}
	return first, nil
}

// readdressed is a request as the other door takes it: it may know the server by
// another address.
func (d *door) readdressed(request *http.Request, other *door) *http.Request {
	again := request.Clone(request.Context())
	again.Host = ""
	again.URL.Scheme, again.URL.Host = other.base.Scheme, other.base.Host
	path := strings.TrimPrefix(request.URL.Path, strings.TrimRight(d.base.Path, "/"))
	again.URL.Path, again.URL.RawPath = strings.TrimRight(other.base.Path, "/")+path, ""
	return again
}

func isRefusal(r *http.Response) bool {
	return r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusUnauthorized
}

func isReading(r *http.Request) bool {
	return (r.Body == nil || r.Body == http.NoBody) && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// share has each of the contexts of one cluster ask the others for what it may not
// read itself.
func share(ways []*Cluster) {
	for i, way := range ways {
		var others []*door
		for _, other := range slices.Concat(ways[i+1:], ways[:i]) {
			others = append(others, other.door)
		}
		way.door.others.Store(&others)
	}
}
