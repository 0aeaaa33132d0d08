// Package dispatchtest has helpers for the tests of dispatch and the packages below it: objects
// of all kinds in all states, and an imitation of an API server. It imports none of the tested
// packages.
package dispatchtest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Specimen is an object of a kind as its controller writes it. State is the name of its file,
// such as "running" or "succeeded".
type Specimen struct {
	Kind   delegation.Kind
	State  string
	Object *unstructured.Unstructured
}

// Name returns the kind, its version and the state.
func (s Specimen) Name() string { return s.Kind.Name + "." + s.Kind.Resource.Version + "/" + s.State }

// Specimens returns all objects of kinds other than Job, in all their states.
func Specimens(t *testing.T) []Specimen {
	t.Helper()
	folder := os.DirFS(KindsDirectory(t))
	files, err := fs.Glob(folder, "*/*.yaml")
	assert.NilError(t, err)
	var all []Specimen
	for _, file := range files {
		text, err := fs.ReadFile(folder, file)
		assert.NilError(t, err)
		o := AsServed(t, string(text))
		if k := kindFor(o.GroupVersionKind()); !k.IsJob() {
			all = append(all, Specimen{k, strings.TrimSuffix(path.Base(file), ".yaml"), o})
		}
	}
	assert.Assert(t, len(all) > 50)
	return all
}

// KindsDirectory returns the directory with one directory per kind, which holds objects in all
// states. It is the test data of package delegation, relative to the directory of any package
// next to delegation or below.
func KindsDirectory(t *testing.T) string {
	t.Helper()
	const folder = "delegation/testdata/kinds"
	up := ".."
	for range 4 {
		if _, err := os.Stat(path.Join(up, folder)); err == nil {
			return path.Join(up, folder)
		}
		up = path.Join(up, "..")
	}
	t.Fatalf("there is no folder %s above the test", folder)
	return ""
}

// AsServed decodes an object as a client does, with integers.
func AsServed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	assert.NilError(t, err)
	o := &unstructured.Unstructured{}
	assert.NilError(t, utiljson.Unmarshal(content, &o.Object))
	return o
}

func kindFor(gvk schema.GroupVersionKind) delegation.Kind {
	if k, known := delegation.KindOf(gvk); known {
		return k
	}
	return delegation.DiscoveredKind(gvk, strings.ToLower(gvk.Kind)+"s", nil, []string{"spec", "managedBy"})
}

// Patched returns an object after a merge patch.
func Patched(t *testing.T, o *unstructured.Unstructured, patch map[string]any) *unstructured.Unstructured {
	t.Helper()
	was, err := json.Marshal(o.Object)
	assert.NilError(t, err)
	text, err := json.Marshal(patch)
	assert.NilError(t, err)
	is, err := jsonpatch.MergePatch(was, text)
	assert.NilError(t, err)
	return AsServed(t, string(is))
}
