package delegation_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// The times of all fixtures: their objects were created on the hour, then started, were suspended
// later, and ended.
var (
	began = time.Date(2026, 8, 20, 9, 0, 10, 0, time.UTC)
	held  = time.Date(2026, 8, 20, 9, 5, 0, 0, time.UTC)
	ended = time.Date(2026, 8, 20, 9, 42, 0, 0, time.UTC)
)

// kindFixture is an object of a kind as its controller writes it in some state.
type kindFixture struct {
	kind delegation.Kind
	// state is the file's name up to the first dash: "new" is before any controller saw it, the
	// others are words for statuses as kubectl uses them.
	state, file string
	object      unstructured.Unstructured
}

func (f *kindFixture) stateOf() delegation.State {
	written := slices.ContainsFunc(f.object.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "status" })
	return f.kind.StateOf(f.object.Object, written)
}

func (f *kindFixture) owner() delegation.Owner {
	return f.kind.OwnerOf(delegation.TextAt(f.object.Object, f.kind.ManagedBy...))
}

// status returns the status for the state.
func (f *kindFixture) status() delegation.Status {
	switch f.state {
	case "new":
		if f.kind.Template || f.kind.IsUnmanaged() {
			return delegation.Pending
		}
		return delegation.Unclaimed
	case "succeeded":
		return delegation.Complete
	}
	return delegation.Status(strings.ToUpper(f.state[:1]) + f.state[1:])
}

// directoryOf returns a row's directory. Its name contains the version if the kind has several.
func directoryOf(k delegation.Kind) string {
	for _, other := range delegation.Kinds() {
		if other.Name == k.Name && other.Resource != k.Resource {
			return k.Name + "." + k.Resource.Version
		}
	}
	return k.Name
}

// widget and gadget are kinds that are not in the table.
func widget() delegation.Kind {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Widget"}
	return delegation.DiscoveredKind(gvk, "widgets", nil, []string{"spec", "managedBy"})
}

func gadget() delegation.Kind {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1alpha1", Kind: "Gadget"}
	return delegation.DiscoveredKind(gvk, "gadgets", nil, []string{"spec", "runPolicy", "managedBy"})
}

// fixtures returns the fixtures of all kinds of the table, and of widget and gadget.
func fixtures(t *testing.T) []kindFixture {
	t.Helper()
	directories := map[string]delegation.Kind{"widget.v1beta1": widget(), "gadget.v1alpha1": gadget()}
	for _, k := range delegation.Kinds() {
		directories[directoryOf(k)] = k
	}
	files, err := filepath.Glob("testdata/kinds/*/*.yaml")
	assert.NilError(t, err)
	var all []kindFixture
	for _, file := range files {
		directory := filepath.Base(filepath.Dir(file))
		kind, known := directories[directory]
		assert.Assert(t, known, "testdata/kinds/%s belongs to no kind", directory)
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		f := kindFixture{kind: kind, file: file}
		f.state, _, _ = strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "-")
		assert.NilError(t, yaml.Unmarshal(text, &f.object.Object), file)
		all = append(all, f)
	}
	return all
}

// TestFixtures checks that objects of every kind are understood in all of their states.
func TestFixtures(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(strings.TrimPrefix(f.file, "testdata/kinds/"), func(t *testing.T) {
			assert.Equal(t, f.object.GroupVersionKind(), f.kind.GroupVersionKind())
			s, want := f.stateOf(), f.status()
			if f.kind.IsUnmanaged() {
				assert.Equal(t, f.owner(), delegation.BuiltIn)
			} else {
				assert.Equal(t, f.owner(), delegation.MultiKueue)
			}
			assert.Equal(t, f.kind.StatusOf(f.owner(), s, false), want)
			// The kind's own controller shows that it has picked up the object by its first
			// write.
			isSilent := !s.StatusWritten && !s.Suspend && !f.kind.Template && !f.kind.IsUnmanaged() && !f.kind.Discovered
			assert.Equal(t, f.kind.StatusOf(delegation.BuiltIn, s, false) == delegation.Unclaimed, isSilent)
			f.checkTimes(t, s, want)

			metadata, ok := f.object.Object["metadata"].(map[string]any)
			assert.Assert(t, ok)
			metadata["deletionTimestamp"] = "2026-08-20T10:00:00Z"
			assert.Equal(t, f.kind.StatusOf(f.owner(), f.stateOf(), false), delegation.Terminating)
		})
	}
}

// checkTimes checks when the object started, was suspended and ended, if its kind records that.
func (f *kindFixture) checkTimes(t *testing.T, s delegation.State, status delegation.Status) {
	t.Helper()
	hasRun := status == delegation.Running || status.IsFinished()
	if hasRun && f.kind.Indicators.Start != nil {
		assert.Equal(t, f.kind.Started(s), began)
	}
	since, isFinished := f.kind.Finished(s)
	assert.Equal(t, isFinished, status.IsFinished())
	hasTimes := f.kind.Indicators.End != nil || slices.ContainsFunc(f.kind.Indicators.Complete, func(g delegation.Indicator) bool { return g.Condition != "" })
	if hasRun && isFinished && hasTimes {
		assert.Equal(t, since, ended)
	}
	if !f.kind.Ended(s).IsZero() {
		assert.Equal(t, f.kind.Ended(s), ended)
		assert.Assert(t, isFinished)
	}
	if since := f.kind.SuspendedSince(s); !since.IsZero() {
		assert.Equal(t, since, held)
		assert.Equal(t, status, delegation.Suspended)
	}
}

// TestFixturesOfEveryRow checks that every row has a fixture of each state that it can show, and
// that every indicator appears in one.
func TestFixturesOfEveryRow(t *testing.T) {
	all := fixtures(t)
	for _, kind := range append(delegation.Kinds(), widget()) {
		t.Run(directoryOf(kind), func(t *testing.T) {
			var own []kindFixture
			for _, f := range all {
				if f.kind.Resource == kind.Resource {
					own = append(own, f)
				}
			}
			r := kind.Indicators
			for state, indicators := range map[string][]delegation.Indicator{
				"running": r.Running, "suspended": append(slices.Clone(r.Suspend), r.Suspended...), "succeeded": r.Complete, "failed": r.Failed,
			} {
				hasFixture := slices.ContainsFunc(own, func(f kindFixture) bool { return f.state == state })
				assert.Assert(t, hasFixture || len(indicators) == 0, "the kind has no fixture in state %q", state)
				for _, indicator := range splitByValue(indicators) {
					assert.Assert(t, slices.ContainsFunc(own, func(f kindFixture) bool { return f.state == state && f.shows(indicator) }),
						"no fixture in state %q shows the indicator %s", state, fmt.Sprintf("%+v", indicator))
				}
			}
			assert.Assert(t, slices.ContainsFunc(own, func(f kindFixture) bool { return f.state == "new" }), "the kind has no fixture in state \"new\"")
		})
	}
}

// splitByValue splits indicators by their values.
func splitByValue(indicators []delegation.Indicator) []delegation.Indicator {
	var all []delegation.Indicator
	for _, indicator := range indicators {
		if len(indicator.Values) == 0 {
			all = append(all, indicator)
		}
		for _, value := range indicator.Values {
			single := indicator
			single.Values = []string{value}
			all = append(all, single)
		}
	}
	return all
}

// shows reports whether an indicator shows in the fixture.
func (f *kindFixture) shows(indicator delegation.Indicator) bool {
	kind := f.kind
	kind.Indicators = delegation.Indicators{Complete: []delegation.Indicator{indicator}}
	_, isShown := kind.Finished(kind.StateOf(f.object.Object, true))
	return isShown
}
