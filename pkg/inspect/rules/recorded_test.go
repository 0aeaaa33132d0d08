package rules_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"
)

// item is an object of a recording. text is its YAML there, with its dash. It
// is nil if the object was changed or added.
type item struct {
	object map[string]any
	text   []byte
}

// files has the objects of the recordings' files, each parsed once: hundreds
// of cases start with the same few files and change only some of their
// objects.
var (
	filesMu sync.Mutex
	files   = map[string][]item{}
)

// listHead is the beginning of a file.
const listHead = "apiVersion: v1\nkind: List\nitems:\n"

// recorded returns the objects of a file. Callers must not change them.
func recorded(t *testing.T, path string) []item {
	t.Helper()
	filesMu.Lock()
	defer filesMu.Unlock()
	if known, ok := files[path]; ok {
		return slices.Clone(known)
	}
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	body, ok := bytes.CutPrefix(text, []byte(listHead))
	assert.Assert(t, ok, "%s begins with %q", path, listHead)
	items := []item{}
	for part := range bytes.SplitSeq(append([]byte("\n"), body...), []byte("\n- ")) {
		if len(bytes.TrimSpace(part)) == 0 {
			continue
		}
		one := slices.Concat([]byte("- "), bytes.TrimRight(part, "\n"), []byte("\n"))
		var parsed []map[string]any
		assert.NilError(t, yaml.Unmarshal(one, &parsed))
		assert.Equal(t, len(parsed), 1)
		items = append(items, item{object: parsed[0], text: asItem(t, parsed[0])})
	}
	files[path] = items
	return slices.Clone(items)
}

// snapshots are the recordings' tables of contents, as JSON.
var snapshots sync.Map

// recordedSnapshot returns the table of contents of a recording, which
// callers may change.
func recordedSnapshot(t *testing.T, source string) map[string]any {
	t.Helper()
	known, ok := snapshots.Load(source)
	if !ok {
		text, err := os.ReadFile(filepath.Join(source, "snapshot.yaml"))
		assert.NilError(t, err)
		known, err = yaml.YAMLToJSON(text)
		assert.NilError(t, err)
		snapshots.Store(source, known)
	}
	text, _ := known.([]byte)
	var snapshot map[string]any
	assert.NilError(t, json.Unmarshal(text, &snapshot))
	return snapshot
}

// writeItems writes a file of objects.
func writeItems(t *testing.T, path string, items []item) {
	t.Helper()
	text := []byte(listHead)
	for _, i := range items {
		if i.text == nil {
			i.text = asItem(t, i.object)
		}
		text = append(text, i.text...)
	}
	assert.NilError(t, os.WriteFile(path, text, 0o600))
}

// asItem returns an object as an item of a list. JSON is YAML too, and is
// faster to write and to read.
func asItem(t *testing.T, object map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(object)
	assert.NilError(t, err)
	return slices.Concat([]byte("- "), text, []byte("\n"))
}
