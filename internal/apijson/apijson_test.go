package apijson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
)

// texts returns texts that both decoders have to decode to the same values.
func texts() []string {
	return []string{
		`{"a": 1, "b": -7, "c": 1.5, "d": 9223372036854775807, "e": 9223372036854775808, "f": 1e3, "g": 1.0}`,
		`{"a": [1, "x", null, true, {"b": []}], "c": {}, "d": ""}`,
		`{"a": 1, "a": 2}`,
		`{"a": {"x": 1}, "a": {"y": 2}}`,
		`{"a": "\u00e9\ud83d\ude00\u0000"}`,
		"{\"a\": \"\xff\"}",
		`{"A": 1, "a": 2}`,
		`{"F": "2026-01-02T03:04:05Z", "g": "2026-01-02T03:04:05+02:00"}`, `{"F": null, "g": null}`, `{"F": "yesterday"}`, `{"F": 5}`, `{"F": ""}`, `{"g": "2026-01-02T03:04:05.678Z"}`,
		`null`, `[]`, `"x"`, `12`, ` {} `,
		`{"a": 1} x`, `{"a": 1`, `{"a"}`, `{'a': 1}`, ``, `{"a": 01}`, `{"a": 1e999}`,
		strings.Repeat("[", 20000) + strings.Repeat("]", 20000),
	}
}

func TestUnmarshalIsLikeKubernetes(t *testing.T) {
	for _, text := range texts() {
		t.Run(text[:min(len(text), 20)], func(t *testing.T) { compare(t, []byte(text)) })
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text))
	}
	f.Fuzz(compare)
}

// compare decodes into an interface and into a type, with both decoders.
func compare(t *testing.T, text []byte) {
	t.Helper()
	var ours, theirs any
	if decodeBoth(t, text, &ours, &theirs) {
		assert.DeepEqual(t, ours, theirs)
	}
	type typed struct {
		A json.RawMessage
		B *int32           `json:"b"`
		C map[string]int64 `json:"c"`
		D []string         `json:"d"`
		E bool             `json:"e"`
		F metav1.Time
		G *metav1.Time `json:"g"`
	}
	var ourTyped, theirTyped typed
	if decodeBoth(t, text, &ourTyped, &theirTyped) {
		assert.DeepEqual(t, ourTyped, theirTyped)
	}
}

// decodeBoth decodes with both decoders, which have to agree on whether the text is valid, and
// reports whether it is.
func decodeBoth(t *testing.T, text []byte, ours, theirs any) bool {
	t.Helper()
	err, other := apijson.Unmarshal(text, ours), kjson.UnmarshalCaseSensitivePreserveInts(text, theirs)
	assert.Equal(t, err == nil, other == nil, "this package: %v; sigs.k8s.io/json: %v", err, other)
	return err == nil
}
