package dispatchtest

import (
	_ "embed"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed testdata/origin.yaml
var originJob string

// FromYAML decodes an object.
func FromYAML(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	assert.NilError(t, err)
	u := &unstructured.Unstructured{}
	assert.NilError(t, u.UnmarshalJSON(data))
	return u
}

// OriginJob returns a Job with all fields, as a server stores it.
func OriginJob(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return FromYAML(t, originJob)
}

// SmallJob returns a Job as a user writes it into a file.
func SmallJob(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return FromYAML(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: small, namespace: ml}
spec:
  managedBy: jobmanagedby.github.io/dispatch
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: "registry.example/batch:1"}
`)
}

// Set sets a field of a Job at a path in the syntax of Path; nil removes it. A string that begins
// with "yaml:" is decoded.
func Set(t *testing.T, job *unstructured.Unstructured, at string, value any) {
	t.Helper()
	path := Path(at)
	if value == nil {
		unstructured.RemoveNestedField(job.Object, path...)
		return
	}
	if text, ok := value.(string); ok && strings.HasPrefix(text, "yaml:") {
		value = nil
		assert.NilError(t, yaml.Unmarshal([]byte(strings.TrimPrefix(text, "yaml:")), &value))
		value = integers(value)
	}
	assert.NilError(t, unstructured.SetNestedField(job.Object, value, path...))
}

// integers converts numbers to the type that the Kubernetes decoders use.
func integers(value any) any {
	switch v := value.(type) {
	case float64:
		return int64(v)
	case map[string]any:
		for key := range v {
			v[key] = integers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	}
	return value
}

// Path splits a path at its dots. Brackets enclose a part that contains dots.
func Path(text string) []string {
	var path []string
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "["); ok {
			key, after, _ := strings.Cut(rest, "]")
			path, text = append(path, key), strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(text, ".[")
		if end < 0 {
			return append(path, text)
		}
		path, text = append(path, text[:end]), strings.TrimPrefix(text[end:], ".")
	}
	return path
}
