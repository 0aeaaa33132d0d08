package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// Limits of one answer, in bytes, unpacked. API servers store no object above a few MiB, and send
// lists in chunks. A larger answer would fill the memory of a laptop, and its decoded form takes
// many times its size.
const (
	// maxAnswer is the limit of all answers except lists.
	maxAnswer = 64 << 20
	// maxList is the limit of a list in chunks, or one that is decoded while it arrives.
	// maxWhole is the limit of a list that was not requested in chunks: some servers send
	// everything at the start of a watch.
	maxList  = 256 << 20
	maxWhole = 1 << 30
	// maxEvent is the limit of one event of a watch.
	maxEvent = 64 << 20
)

// guard is the transport of Guard. Every client of a context uses it: listings, discovery,
// completion, and the streams of exec and port-forward. Its requests have credentials.
//
// A redirect within one host is refused too. Several clusters may share a host, as behind
// Rancher, and one of them must not direct PATCH or DELETE to another one.
type guard struct {
	base *url.URL
	next http.RoundTripper
	// limits returns the limits of the answer to a request, and of an event in it; 0 means no
	// limit.
	limits func(*http.Request) (answer, event int64)
}

// Guard returns a transport that sends only requests for the server at base, follows no redirect, and
// limits the size of answers.
func Guard(base *url.URL, next http.RoundTripper) http.RoundTripper {
	return &guard{base: base, next: next, limits: limitsOf}
}

// WrappedRoundTripper lets client-go find the transport that can cancel requests.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip sends a request if it is for the context's server.
func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if !g.covers(request.URL) {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, &AddressError{Server: g.base.String(), Address: shortAddress(request.URL)}
	}
	response, err := g.next.RoundTrip(request)
	if err == nil && isRedirect(response) {
		_ = response.Body.Close()
		return nil, &RedirectError{From: g.base.String(), To: redirectTarget(request.URL, response.Header.Get("Location"))}
	}
	if err != nil || response.Body == nil || response.StatusCode == http.StatusSwitchingProtocols {
		return response, err
	}
	if answer, event := g.limits(request); answer > 0 || event > 0 {
		response.Body = &boundedBody{ReadCloser: response.Body, answer: answer, event: event}
	}
	return response, nil
}

// covers returns whether an address is at the context's server, and below its path. API
// groups and schemas have addresses that the server chooses, and ".." in them leads out.
func (g *guard) covers(u *url.URL) bool {
	own, other := path.Join("/", g.base.Path), path.Join("/", u.Path)
	return strings.EqualFold(u.Scheme, g.base.Scheme) && strings.EqualFold(u.Host, g.base.Host) &&
		(own == "/" || own == other || strings.HasPrefix(other, own+"/"))
}

// AddressError is returned if a request would leave the context's server. Nothing is sent.
type AddressError struct {
	// Server is the server in the kubeconfig, Address the one of the request.
	Server, Address string
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("the API of server %q names an address outside of it, %q, where nothing was sent. Check whether the kubeconfig names the right server", e.Server, e.Address)
}

// isRedirect returns whether an answer sends the client to another address. 304 Not
// Modified does not: it confirms a cached answer.
func isRedirect(r *http.Response) bool {
	return r.StatusCode >= 300 && r.StatusCode < 400 && r.StatusCode != http.StatusNotModified && r.Header.Get("Location") != ""
}

// redirectTarget returns the address in a Location header.
func redirectTarget(from *url.URL, location string) string {
	to, err := from.Parse(location)
	if err != nil {
		return "an invalid address"
	}
	return shortAddress(to)
}

// maxAddress is the length of the longest address that an error quotes.
const maxAddress = 200

// shortAddress returns the scheme, host and path of an address. It has no user and no
// query, which may hold secrets.
func shortAddress(u *url.URL) string {
	address := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	if len(address) > maxAddress {
		address = address[:maxAddress] + "..."
	}
	return address
}

// RedirectError is returned if a server redirects a request. The request is not repeated.
type RedirectError struct {
	// From is the server in the kubeconfig, To the address that it names instead.
	From, To string
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("server %q redirects to %q, and redirects are never followed: the credentials are for the first address only. If the second one is right, set it as the cluster's server in the kubeconfig", e.From, e.To)
}

// TooLargeError means that an answer exceeds the limit.
type TooLargeError struct {
	// Limit is the limit in bytes.
	Limit int64
	// IsEvent is whether the answer is one event of a watch.
	IsEvent bool
}

func (e *TooLargeError) Error() string {
	what := "answer"
	if e.IsEvent {
		what = "event"
	}
	return fmt.Sprintf("the server's %s is larger than %d MiB, and was not read to its end", what, e.Limit>>20)
}

// streamedList marks a request for a list of which only one object at a time is in memory.
// Its size was estimated from its first chunk, and the rest may be larger.
type streamedList struct{}

// limitsOf returns the limits of the answer to a request. Logs are passed on without a limit.
// Events of a watch arrive one by one.
func limitsOf(request *http.Request) (answer, event int64) {
	query := request.URL.Query()
	isWatch, _ := strconv.ParseBool(query.Get("watch"))
	switch {
	case isWatch:
		return 0, maxEvent
	case isLog(request.URL.Path):
		return 0, 0
	case query.Get("limit") != "", request.Context().Value(streamedList{}) != nil:
		return maxList, 0
	case query.Get("resourceVersion") != "":
		return maxWhole, 0
	}
	return maxAnswer, 0
}

// isLog reports whether a path is that of a Pod's log: …/namespaces/NAMESPACE/pods/NAME/log. Any
// object may be named "log".
func isLog(address string) bool {
	parts := strings.Split(address, "/")
	n := len(parts)
	return n >= 5 && parts[n-1] == "log" && parts[n-3] == "pods" && parts[n-5] == "namespaces"
}

// boundedBody is a body that returns an error beyond its limit.
type boundedBody struct {
	io.ReadCloser
	answer, event int64
	// read is the number of bytes read of the answer, and line that of the current event.
	read, line int64
}

// Read reads the next bytes.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if last := bytes.LastIndexByte(p[:n], '\n'); last >= 0 {
		b.line = int64(n - last - 1)
	} else {
		b.line += int64(n)
	}
	switch {
	// The bytes read are withheld: some readers would use them, and repeat the request as if
	// nothing had happened.
	case b.answer > 0 && b.read > b.answer:
		return 0, &TooLargeError{Limit: b.answer}
	case b.event > 0 && b.line > b.event:
		return 0, &TooLargeError{Limit: b.event, IsEvent: true}
	}
	return n, err
}
