package read

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// fixtures are objects of all kinds, as JSON, in all of their states, by the names
// of their files.
func fixtures(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../../delegation/testdata/kinds/*/*.yaml")
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 100, "there are only %d", len(files))
	all := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		all[name], err = yaml.YAMLToJSON(text)
		assert.NilError(t, err, name)
	}
	return all
}

// kindOf is the row of an object's kind, or one like those that are discovered.
func kindOf(o *unstructured.Unstructured) delegation.Kind {
	if kind, known := delegation.KindOf(o.GroupVersionKind()); known {
		return kind
	}
	return delegation.DiscoveredKind(o.GroupVersionKind(), "", nil, []string{"spec", "managedBy"})
}

// What is decoded of an object is all that the model keeps: the whole object makes
// the same of it, whatever its kind and state.
func TestSlimmerLosesNothing(t *testing.T) {
	for name, text := range fixtures(t) {
		whole := &unstructured.Unstructured{}
		assert.NilError(t, whole.UnmarshalJSON(text))
		kind := kindOf(whole)
		if kind.IsJob() {
			// They are decoded as what they are: see TestJobsReadAsAnyKind.
			continue
		}
		t.Run(name, func(t *testing.T) {
			want := readObject(&kind, whole, whole.Object)

			slim := &slimObject{}
			assert.NilError(t, apijson.Unmarshal(text, slim))
			got, err := newSlimmer(&kind).read(slim)
			assert.NilError(t, err)

			for _, claimed := range []bool{false, true} {
				assert.DeepEqual(t, printed(t, got.settle(claimed)), printed(t, want.settle(claimed)))
			}
			assert.Equal(t, got.needsClaim(), want.needsClaim())
			assert.Assert(t, got.job.KindRow != nil && got.job.Marks != nil && got.job.StatusWrittenAt.Equal(want.job.StatusWrittenAt))
			assert.DeepEqual(t, unprinted(got.job), unprinted(want.job))
		})
	}
}

// A Job that is read as any other kind is has the state that it has as a Job.
func TestJobsReadAsAnyKind(t *testing.T) {
	for name, text := range fixtures(t) {
		whole := &unstructured.Unstructured{}
		assert.NilError(t, whole.UnmarshalJSON(text))
		if kind := kindOf(whole); kind.IsJob() {
			t.Run(name, func(t *testing.T) {
				job, err := typedJob(whole.Object)
				assert.NilError(t, err)
				typed, generic := readJob(&kind, job), readObject(&kind, whole, whole.Object)
				// It has one version only.
				generic.job.WrittenAs = nil
				assert.DeepEqual(t, unprinted(typed.job), unprinted(generic.job))
				a, b := typed.settle(false), generic.settle(false)
				assert.Equal(t, a.Status, b.Status)
				assert.DeepEqual(t, a.Since, b.Since)
				assert.DeepEqual(t, a.FinishedTime, b.FinishedTime)
			})
		}
	}
}

// printed is what of a Job scripts may rely on.
func printed(t *testing.T, j inspect.Job) string {
	t.Helper()
	text, err := json.MarshalIndent(j, "", "  ")
	assert.NilError(t, err)
	return string(text)
}

// unprinted is what of a Job only rules look at.
func unprinted(j inspect.Job) inspect.Job {
	return inspect.Job{
		Marks: j.Marks, Generation: j.Generation, DeletedAt: j.DeletedAt, Finalizers: j.Finalizers, TTL: j.TTL,
		StatusWriters: j.StatusWriters, SpecWrittenAt: j.SpecWrittenAt, Controller: j.Controller,
		WrittenAs: j.WrittenAs, PodValue: j.PodValue,
	}
}
