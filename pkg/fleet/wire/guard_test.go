package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"gotest.tools/v3/assert"
)

// guarded reads an answer through a guard with these limits.
func guarded(t *testing.T, server *httptest.Server, answer, event int64) (string, error) {
	t.Helper()
	base, err := url.Parse(server.URL)
	assert.NilError(t, err)
	g := &guard{base: base, next: http.DefaultTransport, limits: func(*http.Request) (int64, int64) { return answer, event }}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	assert.NilError(t, err)
	response, err := (&http.Client{Transport: g}).Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func TestGuardBoundsAnswers(t *testing.T) {
	const text = "one\ntwo\nthree"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, letter := range text {
			_, _ = io.WriteString(w, string(letter))
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer server.Close()
	for _, tt := range []struct {
		answer, event int64
		isTooLarge    bool
	}{
		{0, 0, false},
		{int64(len(text)), 0, false},
		{int64(len(text)) - 1, 0, true},
		// In a stream, each line counts separately.
		{0, 5, false},
		{0, 4, true},
	} {
		got, err := guarded(t, server, tt.answer, tt.event)
		var large *TooLargeError
		assert.Equal(t, errors.As(err, &large), tt.isTooLarge, "%+v: %v", tt, err)
		assert.Assert(t, tt.isTooLarge || got == text, "%+v: %s", tt, got)
		assert.Assert(t, !tt.isTooLarge || large.IsEvent == (tt.event > 0))
	}
}

func TestLimitsOf(t *testing.T) {
	for path, want := range map[string]string{
		"/apis": fmt.Sprint(maxAnswer, 0), "/apis/batch/v1/jobs?limit=500": fmt.Sprint(maxList, 0), "/apis/batch/v1/jobs?resourceVersion=0": fmt.Sprint(maxWhole, 0),
		"/apis/batch/v1/jobs?watch=true&limit=1": fmt.Sprint(0, maxEvent), "/api/v1/namespaces/a/pods/b/log?follow=true": "0 0",
		"/k8s/clusters/c-1/api/v1/namespaces/a/pods/log/log": "0 0",
		// Objects named log, and a namespace named pods.
		"/apis/batch/v1/namespaces/a/jobs/log": fmt.Sprint(maxAnswer, 0), "/api/v1/namespaces/log": fmt.Sprint(maxAnswer, 0),
		"/api/v1/namespaces/a/pods/log": fmt.Sprint(maxAnswer, 0), "/apis/batch/v1/namespaces/pods/jobs/log": fmt.Sprint(maxAnswer, 0),
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://h"+path, http.NoBody)
		assert.NilError(t, err)
		answer, event := limitsOf(request)
		assert.Equal(t, fmt.Sprint(answer, event), want, path)
	}
}
