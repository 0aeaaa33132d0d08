package cmd

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestListReasons: each Job is listed once, with a reason; a mirror without an origin keeps its
// row.
func TestListReasons(t *testing.T) {
	for name, args := range map[string][]string{
		"ls-reason.txt":        {"--from", exampleFleet},
		"ls-reason-status.txt": {"--from", exampleFleet, "--status", "Running"},
		"ls-reason-preempted.txt": {
			"--from", filepath.Join(recordings, "preempted-on-worker"), "-o", "wide",
		},
		"ls-reason-unreachable.txt": {"--from", filepath.Join(recordings, "worker-lost")},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, _ := run(t, append([]string{"ls", "-A", "--reason"}, args...)...)
			golden.Assert(t, out, name)
		})
	}
}

// TestEachJobIsListedOnce: a list over several contexts leaves out the mirrors of listed origins, and
// nothing else, in every format; only --reason adds the reason to JSON.
func TestEachJobIsListedOnce(t *testing.T) {
	read := func(args ...string) (jobs map[inspect.Ref]inspect.Job, counted int) {
		t.Helper()
		out, errOut, _ := run(t, append([]string{"ls", "-A", "-o", "json", "--from", exampleFleet}, args...)...)
		var list inspect.OwnerList
		assert.NilError(t, json.Unmarshal([]byte(out), &list), errOut)
		jobs = map[inspect.Ref]inspect.Job{}
		for _, j := range list.All() {
			jobs[inspect.RefOf(j)] = *j
		}
		for _, group := range list.Items {
			counted += group.Total()
		}
		return jobs, counted
	}
	all, counted := read("--mirrors")
	assert.Equal(t, counted, len(all))
	folded, counted := read("--reason")
	assert.Equal(t, counted, len(folded))
	_, counted = read("--summary")
	assert.Equal(t, counted, len(folded))
	_, counted = read("--summary", "--mirrors")
	assert.Equal(t, counted, len(all))
	mirrors := map[inspect.Ref]bool{}
	for _, j := range folded {
		assert.Assert(t, j.Reason != nil, j.Name)
		for _, m := range j.Mirrors {
			mirrors[m] = true
		}
	}
	assert.Assert(t, len(mirrors) > 0)
	for ref, j := range all {
		_, isListed := folded[ref]
		assert.Check(t, isListed != mirrors[ref], "%v", ref)
		assert.Check(t, j.Reason == nil, "%v", ref)
	}
	names, _, _ := run(t, "ls", "-A", "-o", "name", "--no-headers", "--from", exampleFleet)
	assert.Equal(t, strings.Count(names, "\n"), len(folded))
}

// TestMirrorsWithSelector: a mirror whose origin is not selected, or was not read, has a row.
func TestMirrorsWithSelector(t *testing.T) {
	skipIfShort(t)
	names := func(args ...string) []string {
		t.Helper()
		out, errOut, _ := run(t, append([]string{"ls", "-A", "--no-headers", "-o", "custom-columns=:.context,:.name", "--from", exampleFleet}, args...)...)
		assert.Assert(t, out != "", errOut)
		return strings.Split(strings.TrimSpace(out), "\n")
	}
	for _, selection := range [][]string{{"-l", "kueue.x-k8s.io/multikueue-origin"}, {"--managed-by", "built-in"}, {"--contexts", "worker-*"}} {
		assert.DeepEqual(t, names(selection...), names(append(selection, "--mirrors")...))
	}
	assert.Assert(t, len(names()) < len(names("--mirrors")))
}

// TestListNames: names select Jobs on all contexts, and a name that does not exist is an error
// after the output.
func TestListNames(t *testing.T) {
	list := func(args ...string) (out, errOut string, code int) {
		t.Helper()
		return run(t, append([]string{"ls", "--from", exampleFleet, "--all-contexts"}, args...)...)
	}
	out, errOut, code := list("-n", "ml", "-o", "name", "train", "job/sweep")
	assert.Equal(t, out, "job.batch/sweep\njob.batch/train\n", errOut)
	assert.Equal(t, code, util.ExitOK)
	out, errOut, code = list("-n", "ml", "-o", "name", "train", "tain")
	assert.Equal(t, out, "job.batch/train\n")
	assert.Equal(t, errOut, `error: job "tain" not found in namespace "ml" of contexts management, worker-1, worker-2; no other namespace has one; for another kind write KIND/NAME, such as jobset/tain`+"\n")
	assert.Equal(t, code, util.ExitError)
	_, errOut, code = list("-A", "--status", "Failed", "train")
	assert.Assert(t, code == util.ExitOK && strings.Contains(errOut, "No Jobs found"), errOut)
	_, errOut, code = list("-A", "a/b/c")
	assert.Assert(t, code == util.ExitUsage && strings.Contains(errOut, "[KIND/]NAME"), errOut)
}

// TestListOfMissingNamespace: a namespace that does not exist is reported as such, not as empty.
func TestListOfMissingNamespace(t *testing.T) {
	for _, command := range []string{"ls", "trace", "queues", "history"} {
		_, errOut, _ := run(t, command, "--from", exampleFleet, "--all-contexts", "-n", "mll")
		assert.Assert(t, strings.Contains(errOut, `namespace "mll" does not exist in contexts management, worker-1, worker-2`), "%s: %s", command, errOut)
		_, errOut, _ = run(t, command, "--from", exampleFleet, "--all-contexts", "-n", "kube-system")
		assert.Assert(t, !strings.Contains(errOut, "does not exist"), "%s: %s", command, errOut)
	}
}

func TestReasonConflicts(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--watch-only", "--reason cannot be combined with --watch-only"},
		{"-w --output-watch-events", "--reason cannot be combined with --watch-only or --output-watch-events"},
		{"--field-selector metadata.name=x", "--reason cannot be combined with --field-selector"},
	} {
		_, errOut, code := run(t, append([]string{"ls", "--reason"}, strings.Fields(c.args)...)...)
		assert.Equal(t, code, util.ExitUsage)
		assert.Assert(t, strings.Contains(errOut, c.want), errOut)
	}
}

// TestReasonsAgreeWithTrace: ls --reason shows for a Job that does not run what trace shows first.
func TestReasonsAgreeWithTrace(t *testing.T) {
	t.Parallel()
	compared := 0
	compare := func(t *testing.T, dir string) {
		t.Helper()
		out, errOut, _ := run(t, "ls", "-A", "--all-contexts", "--reason", "-o", "json", "--from", dir)
		var list inspect.OwnerList
		assert.NilError(t, json.Unmarshal([]byte(out), &list), errOut)
		traced := 0
		for _, j := range list.All() {
			isPlain := j.Reason == nil || *j.Reason == inspect.ReasonNone || *j.Reason == inspect.ReasonBuiltIn
			if isPlain || j.Message == nil || traced >= maxTracedJobs {
				continue
			}
			traced++
			out, errOut, _ := run(t, "trace", strings.ToLower(j.Kind)+"/"+j.Name, "-n", j.Namespace, "-o", "json", "--from", dir)
			var trace inspect.Trace
			assert.NilError(t, json.Unmarshal([]byte(out), &trace), errOut)
			// Only trace reads whole mirrors, and names the field that was changed.
			change := regexp.MustCompile(`(changed|edited) .* in its mirror \(.* → .*?\)( and \d+ more fields?)?`)
			assert.Check(t, trace.Reason == *j.Reason && change.ReplaceAllString(trace.Message, "$1 its mirror") == *j.Message, "%s/%s: ls %s %q, trace %s %q", j.Namespace, j.Name, *j.Reason, *j.Message, trace.Reason, trace.Message)
			compared++
		}
	}
	compare(t, exampleFleet)
	assert.Assert(t, compared >= 4, "%d", compared)
	// The table shows the same as JSON.
	out, errOut, _ := run(t, "ls", "score", "-n", "vision", "--all-contexts", "--reason", "--from", exampleFleet)
	assert.Assert(t, strings.Contains(out, "Needs 2 nvidia.com/gpu; 0 free on worker-1. ml/train holds 4."), out+errOut)
	eachRecording(t, func(t *testing.T, _, dir string) {
		t.Helper()
		compare(t, dir)
	})
}
