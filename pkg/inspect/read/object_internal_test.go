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

// fixtures returns objects of all kinds in all their states, as JSON, by file name.
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

// kindOf returns the row of an object's kind, or a row like that of a discovered kind.
func kindOf(o *unstructured.Unstructured) delegation.Kind {
	if kind, known := delegation.KindOf(o.GroupVersionKind()); known {
		return kind
	}
	return delegation.DiscoveredKind(o.GroupVersionKind(), "", nil, []string{"spec", "managedBy"})
}

// TestSlimmerLosesNothing checks that the decoded fields are all that the model needs: the whole
// object gives the same result, for every kind and state.
func TestSlimmerLosesNothing(t *testing.T) {
	for name, text := range fixtures(t) {
		whole := &unstructured.Unstructured{}
		assert.NilError(t, whole.UnmarshalJSON(text))
		kind := kindOf(whole)
		if kind.IsJob() {
			// Jobs are decoded with their own type: see TestJobsReadAsAnyKind.
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

// TestJobsReadAsAnyKind checks that a Job has the same state when it is read like any other kind.
func TestJobsReadAsAnyKind(t *testing.T) {
	for name, text := range fixtures(t) {
		whole := &unstructured.Unstructured{}
		assert.NilError(t, whole.UnmarshalJSON(text))
		if kind := kindOf(whole); kind.IsJob() {
			t.Run(name, func(t *testing.T) {
				job, err := typedJob(whole.Object)
				assert.NilError(t, err)
				typed, generic := readJob(&kind, job), readObject(&kind, whole, whole.Object)
				// Jobs have one version only.
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

// printed returns the fields of a Job that scripts may rely on.
func printed(t *testing.T, j inspect.Job) string {
	t.Helper()
	text, err := json.MarshalIndent(j, "", "  ")
	assert.NilError(t, err)
	return string(text)
}

// unprinted returns the fields of a Job that only rules use.
func unprinted(j inspect.Job) inspect.Job {
	return inspect.Job{
		Marks: j.Marks, Generation: j.Generation, DeletedAt: j.DeletedAt, Finalizers: j.Finalizers, TTL: j.TTL,
		StatusWriters: j.StatusWriters, SpecWrittenAt: j.SpecWrittenAt, Controller: j.Controller,
		WrittenAs: j.WrittenAs, PodValue: j.PodValue,
	}
}
