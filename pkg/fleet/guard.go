package fleet

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// How much is taken of one answer, in bytes, unpacked. API servers keep no object above a
// few MiB, and lists come in chunks; whatever is larger fills the memory of a laptop, and
// what it is decoded into is many times that.
const (
	// mostAnswer is for all answers but lists.
	mostAnswer = 64 << 20
	// mostList is for a list, in chunks, or decoded while it comes; mostWhole for one that
	// nobody asked for in chunks: some servers send all that they have where a watch begins.
	mostList  = 256 << 20
	mostWhole = 1 << 30
	// mostEvent is for one event of a watch.
	mostEvent = 64 << 20
)

// guard stands right in front of the network, where a request has its credentials
// already: it lets none go to another server than the context's, however friendly the
// redirect, and no answer in that is larger than a machine can hold.
type guard struct {
	base *url.URL
	next http.RoundTripper
	// most is how large the answer to a request may be, and an event of it if that is a
	// stream; 0 is without bound.
	most func(*http.Request) (answer, event int64)
}

// WrappedRoundTripper lets client-go find the transport that can cancel requests.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip sends a request, if it is for the context's server.
func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.EqualFold(request.URL.Scheme, g.base.Scheme) || !strings.EqualFold(request.URL.Host, g.base.Host) {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, &RedirectError{To: request.URL.Scheme + "://" + request.URL.Host}
	}
	response, err := g.next.RoundTrip(request)
	if err != nil || response.Body == nil || response.StatusCode == http.StatusSwitchingProtocols {
		return response, err
	}
	if answer, event := g.most(request); answer > 0 || event > 0 {
		response.Body = &boundedBody{ReadCloser: response.Body, answer: answer, event: event}
	}
	return response, nil
}

// RedirectError is returned where a server sends its clients on to another one, to which
// nothing is sent: the credentials are for the first.
type RedirectError struct {
	// To is the other server.
	To string
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("the server sends its clients on to %q, where nothing was sent, since the credentials are not meant for that; if it is right, put that address into the kubeconfig", e.To)
}

// TooLargeError is returned where an answer is larger than any that makes sense.
type TooLargeError struct {
	// Most is how many bytes are taken.
	Most int64
	// Event is whether it was one event of a watch.
	Event bool
}

func (e *TooLargeError) Error() string {
	what := "answer"
	if e.Event {
		what = "event"
	}
	return fmt.Sprintf("the server's %s is larger than %d MiB, and was not read to its end", what, e.Most>>20)
}

// decodedWhileItComes marks the context of a request for a list of which no more than one
// object is in memory. How long such a list is was estimated by its first chunk, and what
// comes behind that may be larger.
type decodedWhileItComes struct{}

// mostOf is how much is taken of the answer to a request. Logs and the like are passed
// on and not kept; the events of a watch come one by one.
func mostOf(request *http.Request) (answer, event int64) {
	query := request.URL.Query()
	isWatch, _ := strconv.ParseBool(query.Get("watch"))
	switch {
	case isWatch:
		return 0, mostEvent
	case strings.HasSuffix(request.URL.Path, "/log"):
		return 0, 0
	case query.Get("limit") != "", request.Context().Value(decodedWhileItComes{}) != nil:
		return mostList, 0
	case query.Get("resourceVersion") != "":
		return mostWhole, 0
	}
	return mostAnswer, 0
}

// boundedBody is a body that ends in an error where there is too much of it.
type boundedBody struct {
	io.ReadCloser
	answer, event int64
	// read is how much of the answer was read, and line how much of the event.
	read, line int64
}

// Read reads on.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if last := bytes.LastIndexByte(p[:n], '\n'); last >= 0 {
		b.line = int64(n - last - 1)
	} else {
		b.line += int64(n)
	}
	switch {
	// Without what was read: some readers take that, and ask again as if nothing had happened.
	case b.answer > 0 && b.read > b.answer:
		return 0, &TooLargeError{Most: b.answer}
	case b.event > 0 && b.line > b.event:
		return 0, &TooLargeError{Most: b.event, Event: true}
	}
	return n, err
}
