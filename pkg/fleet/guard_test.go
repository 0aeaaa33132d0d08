package fleet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// guarded reads an answer through a guard with these limits.
func guarded(t *testing.T, server *httptest.Server, answer, event int64) (string, error) {
	t.Helper()
	base, err := url.Parse(server.URL)
	assert.NilError(t, err)
	g := &guard{base: base, next: http.DefaultTransport, most: func(*http.Request) (int64, int64) { return answer, event }}
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
		assert.Assert(t, !tt.isTooLarge || large.Event == (tt.event > 0))
	}
}

func TestGuardKnowsRequests(t *testing.T) {
	for path, want := range map[string]string{
		"/apis": fmt.Sprint(maxAnswer, 0), "/apis/batch/v1/jobs?limit=500": fmt.Sprint(maxList, 0), "/apis/batch/v1/jobs?resourceVersion=0": fmt.Sprint(maxWhole, 0),
		"/apis/batch/v1/jobs?watch=true&limit=1": fmt.Sprint(0, maxEvent), "/api/v1/namespaces/a/pods/b/log?follow=true": "0 0",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://h"+path, http.NoBody)
		assert.NilError(t, err)
		answer, event := mostOf(request)
		assert.Equal(t, fmt.Sprint(answer, event), want, path)
	}
}

// TestEachObjectEnds checks that a list that repeats its continue token ends in an error, and so
// does an answer that is not a list.
func TestEachObjectEnds(t *testing.T) {
	for answer, want := range map[string]string{
		`{"kind":"List","metadata":{"continue":"again"},"items":[{}]}`: ErrNoEnd.Error(),
		`{}`:   "it is no list",
		`null`: "it is no list",
		`{"kind":"Status","apiVersion":"v1","status":"Success"}`:          "it is no list",
		`{"kind":"ThingList","metadata":{},"items":null}`:                 "",
		`{"metadata":{},"items":[]}`:                                      "",
		`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{}]}`: "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		}))
		f := Open(t.Context(), []Context{{Name: "c", Config: &rest.Config{Host: server.URL}}}, Options{})
		visited := 0
		err := EachObject(t.Context(), f.Clusters()[0], schema.GroupVersionResource{Version: "v1", Resource: "things"}, "", metav1.ListOptions{}, func(map[string]any) { visited++ })
		server.Close()
		if want == "" {
			assert.NilError(t, err, answer)
			continue
		}
		assert.ErrorContains(t, err, want, answer)
		assert.Assert(t, visited <= 2, answer)
	}
}
