package cmd

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestListMerged: each Job stands once, with a reason; what has no origin keeps its row.
func TestListMerged(t *testing.T) {
	for name, args := range map[string][]string{
		"ls-merged.txt":         {"--from", exampleFleet},
		"ls-merged-summary.txt": {"--from", exampleFleet, "--summary"},
		"ls-merged-status.txt":  {"--from", exampleFleet, "--status", "Running"},
		"ls-merged-preempted.txt": {
			"--from", filepath.Join(recordings, "preempted-on-worker"), "-o", "wide",
		},
		"ls-merged-unreachable.txt": {"--from", filepath.Join(recordings, "worker-lost")},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, _ := run(t, append([]string{"ls", "-A", "--merged"}, args...)...)
			golden.Assert(t, out, name)
		})
	}
}

// TestMergedLeavesNothingOut: what is listed without --merged is listed with it, or is the
// mirror of something that is; and the reason in JSON is there with it alone.
func TestMergedLeavesNothingOut(t *testing.T) {
	read := func(args ...string) map[inspect.Ref]inspect.Job {
		t.Helper()
		out, told, _ := run(t, append([]string{"ls", "-A", "-o", "json", "--from", exampleFleet}, args...)...)
		var list inspect.OwnerList
		assert.NilError(t, json.Unmarshal([]byte(out), &list), told)
		jobs := map[inspect.Ref]inspect.Job{}
		for _, j := range list.All() {
			jobs[inspect.RefOf(j)] = *j
		}
		return jobs
	}
	all, merged := read(), read("--merged")
	mirrors := map[inspect.Ref]bool{}
	for _, j := range merged {
		assert.Assert(t, j.Reason != nil, j.Name)
		for _, m := range j.Mirrors {
			mirrors[m] = true
		}
	}
	assert.Assert(t, len(mirrors) > 0)
	for ref, j := range all {
		_, isListed := merged[ref]
		assert.Check(t, isListed != mirrors[ref], "%v", ref)
		assert.Check(t, j.Reason == nil, "%v", ref)
	}
}

// TestMergedOfASelection: a mirror whose origin is not selected keeps its row.
func TestMergedOfASelection(t *testing.T) {
	names := func(args ...string) []string {
		t.Helper()
		out, told, _ := run(t, append([]string{"ls", "-A", "--no-headers", "-o", "custom-columns=:.context,:.name", "--from", exampleFleet}, args...)...)
		assert.Assert(t, out != "", told)
		return strings.Split(strings.TrimSpace(out), "\n")
	}
	const mirrors = "kueue.x-k8s.io/multikueue-origin"
	assert.DeepEqual(t, names("--merged", "-l", mirrors), names("-l", mirrors))
	assert.Assert(t, len(names("--merged")) < len(names()))
}

func TestMergedRefuses(t *testing.T) {
	for _, c := range []struct{ args, told string }{
		{"--watch-only", "--merged cannot be combined with --watch-only"},
		{"-w --output-watch-events", "--merged cannot be combined with --watch-only or --output-watch-events"},
		{"--field-selector metadata.name=x", "--merged cannot be combined with --field-selector"},
	} {
		_, told, code := run(t, append([]string{"ls", "--merged"}, strings.Fields(c.args)...)...)
		assert.Equal(t, code, util.ExitUsage)
		assert.Assert(t, strings.Contains(told, c.told), told)
	}
}
