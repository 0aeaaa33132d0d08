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

// FromYAML is the object that a text is.
func FromYAML(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	assert.NilError(t, err)
	u := &unstructured.Unstructured{}
	assert.NilError(t, u.UnmarshalJSON(data))
	return u
}

// OriginJob is a Job of everything, as a server stores it.
func OriginJob(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return FromYAML(t, originJob)
}

// SmallJob is what a user writes into a file.
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

// Set sets the field of a Job at a path that Path reads; nil removes it. Text that begins
// with "yaml:" is the value in YAML.
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

// integers gives numbers the type that the Kubernetes decoders give them.
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

// Path is a path that is written with dots. A part that has dots itself stands in
// brackets.
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
