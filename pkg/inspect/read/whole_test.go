package read_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// TestWholeReadsTheSameJobs checks that Whole reads Jobs as any other reading does, except for what
// depends on Workloads.
func TestWholeReadsTheSameJobs(t *testing.T) {
	for _, dir := range []string{"../../../examples/fleet", "../../../test/recordings/running", "../../../test/recordings/worker-lost"} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			b, err := bundle.Open(dir)
			assert.NilError(t, err)
			f := fleet.Open(t.Context(), b.Contexts(), fleet.Options{AllNamespaces: true})
			whole := read.Whole(t.Context(), f, read.Query{AllNamespaces: true, Kinds: []string{read.AllKinds}}, nil)
			assert.Equal(t, len(whole), len(f.Contexts()))
			for i, facts := range whole {
				assert.Equal(t, facts.Context, f.Contexts()[i])
			}
			count := 0
			for _, c := range f.Clusters() {
				want := map[string]string{}
				if err := read.List(t.Context(), c, read.Query{AllNamespaces: true, Kinds: []string{read.AllKinds}}, func(j inspect.Job) { want[j.UID] = asJSON(t, j) }); err != nil {
					continue
				}
				count += len(want)
				got := map[string]string{}
				for _, facts := range whole {
					for _, j := range facts.Jobs {
						if facts.Context == c.Context {
							got[j.UID] = asJSON(t, *j)
						}
					}
				}
				assert.DeepEqual(t, got, want)
			}
			assert.Assert(t, count > 0)
		})
	}
}

// asJSON returns all fields of a Job except its status.
func asJSON(t *testing.T, j inspect.Job) string {
	t.Helper()
	j.Status, j.Since, j.KindRow = "", nil, nil
	text, err := json.Marshal([]any{j, j.Marks, j.Generation, j.SpecWrittenAt, j.StatusWriters, j.Controller, j.Sizes, j.Finalizers, j.TTL})
	assert.NilError(t, err)
	return string(text)
}

// TestWholeOmits checks that omitted kinds are still listed as kinds, and that Jobs are never
// omitted.
func TestWholeOmits(t *testing.T) {
	b, err := bundle.Open("../../../examples/fleet")
	assert.NilError(t, err)
	f := fleet.Open(t.Context(), b.Contexts(), fleet.Options{AllNamespaces: true})
	for _, facts := range read.Whole(t.Context(), f, read.Query{AllNamespaces: true, Kinds: []string{read.AllKinds}}, func(delegation.Kind) bool { return true }) {
		assert.Assert(t, len(facts.Kinds) > 1, "%v", facts.Kinds)
		assert.Assert(t, len(facts.Jobs) > 0)
		for _, j := range facts.Jobs {
			assert.Equal(t, j.Kind, "Job")
		}
	}
}
