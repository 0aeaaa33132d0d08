package fuzzfleet

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"
)

// Source caches recordings, which are read once and changed any number of times.
type Source struct {
	mu    sync.Mutex
	files map[string][]byte
}

// Bundle writes a changed copy of a recording to a new directory. Some of its contexts may not
// answer, and some of their resources may be refused.
func (s *Source) Bundle(tb testing.TB, recording string, r *rand.Rand) string {
	tb.Helper()
	dir := tb.TempDir()
	var snapshot map[string]any
	s.read(tb, filepath.Join(recording, "snapshot.yaml"), &snapshot)
	contexts, _ := snapshot["contexts"].([]any)
	f := &fleet{Rand: r}
	var files []string
	for _, entry := range contexts {
		context, _ := entry.(map[string]any)
		file, ok := context["file"].(string)
		if !ok || slices.Contains(files, file) {
			continue
		}
		var list struct {
			Items []map[string]any `json:"items"`
		}
		s.read(tb, filepath.Join(recording, file), &list)
		files, f.clusters = append(files, file), append(f.clusters, list.Items)
	}
	f.change()
	for _, entry := range contexts {
		context, _ := entry.(map[string]any)
		delete(context, "objects")
		f.addFault(context)
	}
	for i, file := range files {
		write(tb, filepath.Join(dir, file), map[string]any{"apiVersion": "v1", "kind": "List", "items": f.valid(f.clusters[i])})
	}
	write(tb, filepath.Join(dir, "snapshot.yaml"), snapshot)
	return dir
}

// read decodes a YAML file into a new value each time.
func (s *Source) read(tb testing.TB, path string, into any) {
	tb.Helper()
	s.mu.Lock()
	text, ok := s.files[path]
	if !ok {
		content, err := os.ReadFile(path)
		assert.NilError(tb, err)
		text, err = yaml.YAMLToJSON(content)
		assert.NilError(tb, err)
		if s.files == nil {
			s.files = map[string][]byte{}
		}
		s.files[path] = text
	}
	s.mu.Unlock()
	assert.NilError(tb, json.Unmarshal(text, into))
}

// write writes JSON, which is also YAML, with one item per line.
func write(tb testing.TB, path string, value map[string]any) {
	tb.Helper()
	items, isList := value["items"].([]map[string]any)
	text, err := json.Marshal(value)
	assert.NilError(tb, err)
	if isList {
		text = []byte("apiVersion: v1\nkind: List\nitems:\n")
		for _, item := range items {
			itemText, err := json.Marshal(item)
			assert.NilError(tb, err)
			text = fmt.Appendf(text, "- %s\n", itemText)
		}
	}
	assert.NilError(tb, os.WriteFile(path, text, 0o600))
}
