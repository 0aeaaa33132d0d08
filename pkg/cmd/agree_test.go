package cmd

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestCheckListAndTraceAgree: for each delegated Job of every recording, check reports the codes that ls
// lists, and trace shows the same codes and marks all others as young.
func TestCheckListAndTraceAgree(t *testing.T) {
	t.Parallel()
	eachRecording(t, func(t *testing.T, _, dir string) {
		t.Helper()
		var checked inspect.FindingList
		decode(t, &checked, "check", "-A", "--from", dir, "-o", "json", "--fail-on", "none")
		byJob := map[inspect.Ref]sets.Set[string]{}
		for _, f := range checked.Items {
			for _, j := range f.Jobs {
				if byJob[j] == nil {
					byJob[j] = sets.New[string]()
				}
				byJob[j].Insert(f.Code)
			}
		}
		var listed inspect.OwnerList
		decode(t, &listed, "ls", "-A", "--all-contexts", "--from", dir, "-o", "json", "--delegated")
		jobs := listed.All()
		// A few Jobs of a burst show as much as all.
		for _, j := range jobs[:min(len(jobs), maxTracedJobs)] {
			want := slices.Sorted(maps.Keys(byJob[inspect.RefOf(j)]))
			if j.Findings != nil {
				assert.DeepEqual(t, slices.Sorted(slices.Values(j.Findings)), want)
			}
			var traced inspect.Trace
			decode(t, &traced, "trace", j.Name, "-n", j.Namespace, "--from", dir, "-o", "json")
			counting := sets.New[string]()
			for _, f := range traced.Findings {
				isJobs := slices.Contains(f.Jobs, inspect.RefOf(j))
				assert.Assert(t, !f.Young || f.Fingerprint != "", "%s has no fingerprint", f.Code)
				if isJobs && !f.Young {
					counting.Insert(f.Code)
				}
			}
			assert.DeepEqual(t, slices.Sorted(maps.Keys(counting)), want)
		}
	})
}

// TestHoldersInOtherNamespaces checks that check and trace agree on which Jobs of other namespaces hold quota without
// running, and that none of them waits for such a Job to finish.
func TestHoldersInOtherNamespaces(t *testing.T) {
	t.Parallel()
	const dir = recordings + "/dispatch-origin-in-multikueue-queue"
	for _, name := range []string{"p1-208", "p1-209"} {
		var checked inspect.FindingList
		decode(t, &checked, "check", name, "--from", dir, "-o", "json", "--grace", "0s", "--fail-on", "none")
		assert.Equal(t, len(checked.Items), 1)
		var traced inspect.Trace
		decode(t, &traced, "trace", name, "--from", dir, "-o", "json")
		assert.DeepEqual(t, checked.Items[0].Fixes, traced.Fixes)
		assert.Assert(t, len(traced.Fixes) > 0)
		for _, fix := range traced.Fixes {
			assert.Assert(t, !strings.Contains(fix.Text, "to finish"), fix.Text)
		}
		for _, message := range []string{checked.Items[0].Message, traced.Message} {
			assert.Assert(t, strings.Contains(message, "default/p1-206 holds 9 without running; 2 others hold the rest without running"), message)
		}
	}
}

// decode reads the JSON that a command prints.
func decode(t *testing.T, into any, args ...string) {
	t.Helper()
	out, errOut, code := run(t, args...)
	assert.Assert(t, code == util.ExitOK || code == util.ExitPartial, "%v: %s", args, errOut)
	assert.NilError(t, json.Unmarshal([]byte(out), into))
}
