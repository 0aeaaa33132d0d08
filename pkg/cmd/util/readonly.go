package util

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// readOnly is a transport that refuses every request that could change something in a cluster,
// or reach into a Pod.
type readOnly struct{ next http.RoundTripper }

// WriteRefusedError is returned for a request that a command which only reads must not send.
type WriteRefusedError struct{ Method, Path string }

func (e *WriteRefusedError) Error() string {
	return fmt.Sprintf("did not send %s %s: this command only reads", e.Method, e.Path)
}

// WrappedRoundTripper lets client-go find the transport that can cancel requests.
func (r *readOnly) WrappedRoundTripper() http.RoundTripper { return r.next }

// RoundTrip sends a request that only reads.
func (r *readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if onlyReads(request.Method, request.URL.Path) {
		return r.next.RoundTrip(request)
	}
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return nil, &WriteRefusedError{Method: request.Method, Path: request.URL.Path}
}

// onlyReads reports whether a request changes nothing. Reviews are created, but servers only
// answer them and store nothing.
func onlyReads(method, path string) bool {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	switch method {
	case http.MethodGet, http.MethodHead:
		return !opensStream(segments)
	case http.MethodPost:
		n := len(segments)
		return n >= 4 && segments[n-4] == "apis" && segments[n-3] == "authorization.k8s.io" &&
			slices.Contains([]string{"selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"}, segments[n-1])
	}
	return false
}

// opensStream reports whether a path leads into a Pod, Service or node, where a GET can do
// anything.
func opensStream(segments []string) bool {
	for i := 2; i < len(segments); i++ {
		if slices.Contains([]string{"pods", "services", "nodes"}, segments[i-2]) &&
			slices.Contains([]string{"attach", "exec", "portforward", "proxy"}, segments[i]) {
			return true
		}
	}
	return false
}
