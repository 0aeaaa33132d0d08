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

// TestListReasons: each Job stands once, with a reason; what has no origin keeps its row.
func TestListReasons(t *testing.T) {
	for name, args := range map[string][]string{
		"ls-reason.txt":         {"--from", exampleFleet},
		"ls-reason-summary.txt": {"--from", exampleFleet, "--summary"},
		"ls-reason-status.txt":  {"--from", exampleFleet, "--status", "Running"},
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

// TestEachJobOnce: a list over several contexts leaves out the mirrors of what it lists, and
// nothing else, in every format; the reason in JSON comes with --reason alone.
func TestEachJobOnce(t *testing.T) {
	read := func(args ...string) (jobs map[inspect.Ref]inspect.Job, counted int) {
		t.Helper()
		out, told, _ := run(t, append([]string{"ls", "-A", "-o", "json", "--from", exampleFleet}, args...)...)
		var list inspect.OwnerList
		assert.NilError(t, json.Unmarshal([]byte(out), &list), told)
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

// TestMirrorsOfASelection: a mirror whose origin is not selected, or was not read, has a row.
func TestMirrorsOfASelection(t *testing.T) {
	names := func(args ...string) []string {
		t.Helper()
		out, told, _ := run(t, append([]string{"ls", "-A", "--no-headers", "-o", "custom-columns=:.context,:.name", "--from", exampleFleet}, args...)...)
		assert.Assert(t, out != "", told)
		return strings.Split(strings.TrimSpace(out), "\n")
	}
	for _, selection := range [][]string{{"-l", "kueue.x-k8s.io/multikueue-origin"}, {"--managed-by", "built-in"}, {"--contexts", "worker-*"}} {
		assert.DeepEqual(t, names(selection...), names(append(selection, "--mirrors")...))
	}
	assert.Assert(t, len(names()) < len(names("--mirrors")))
}

// TestListNames: names choose Jobs on all contexts, and one that does not exist is an error
// behind what was found.
func TestListNames(t *testing.T) {
	list := func(args ...string) (out, told string, code int) {
		t.Helper()
		return run(t, append([]string{"ls", "--from", exampleFleet, "--all-contexts"}, args...)...)
	}
	out, told, code := list("-n", "ml", "-o", "name", "train", "job/sweep")
	assert.Equal(t, out, "job.batch/sweep\njob.batch/train\n", told)
	assert.Equal(t, code, util.ExitOK)
	out, told, code = list("-n", "ml", "-o", "name", "train", "tain")
	assert.Equal(t, out, "job.batch/train\n")
	assert.Equal(t, told, `error: job "tain" not found in namespace "ml" of contexts management, worker-1, worker-2; name the namespace with -n`+"\n")
	assert.Equal(t, code, util.ExitError)
	_, told, code = list("-A", "--status", "Failed", "train")
	assert.Assert(t, code == util.ExitOK && strings.Contains(told, "No Jobs found"), told)
	_, told, code = list("-A", "a/b/c")
	assert.Assert(t, code == util.ExitUsage && strings.Contains(told, "[KIND/]NAME"), told)
}

// TestListOfNoNamespace: a namespace that does not exist is not only empty.
func TestListOfNoNamespace(t *testing.T) {
	for _, command := range []string{"ls", "trace", "queues", "history"} {
		_, told, _ := run(t, command, "--from", exampleFleet, "--all-contexts", "-n", "mll")
		assert.Assert(t, strings.Contains(told, `namespace "mll" does not exist in contexts management, worker-1, worker-2`), "%s: %s", command, told)
		_, told, _ = run(t, command, "--from", exampleFleet, "--all-contexts", "-n", "kube-system")
		assert.Assert(t, !strings.Contains(told, "does not exist"), "%s: %s", command, told)
	}
}

func TestReasonRefuses(t *testing.T) {
	for _, c := range []struct{ args, told string }{
		{"--watch-only", "--reason cannot be combined with --watch-only"},
		{"-w --output-watch-events", "--reason cannot be combined with --watch-only or --output-watch-events"},
		{"--field-selector metadata.name=x", "--reason cannot be combined with --field-selector"},
	} {
		_, told, code := run(t, append([]string{"ls", "--reason"}, strings.Fields(c.args)...)...)
		assert.Equal(t, code, util.ExitUsage)
		assert.Assert(t, strings.Contains(told, c.told), told)
	}
}

// TestReasonsAgreeWithTrace: ls --reason says of a Job that waits what trace says first.
func TestReasonsAgreeWithTrace(t *testing.T) {
	waiting := map[inspect.JobReason]bool{
		inspect.ReasonOverLimit: true, inspect.ReasonNoFlavor: true, inspect.ReasonQuotaInUse: true, inspect.ReasonBehindInQueue: true,
		inspect.ReasonNotOffered: true, inspect.ReasonNotAdmitted: true, inspect.ReasonFinding: true,
	}
	compared := 0
	compare := func(t *testing.T, dir string) {
		t.Helper()
		out, told, _ := run(t, "ls", "-A", "--all-contexts", "--delegated", "--reason", "-o", "json", "--from", dir)
		var list inspect.OwnerList
		assert.NilError(t, json.Unmarshal([]byte(out), &list), told)
		traced := 0
		for _, j := range list.All() {
			if j.Reason == nil || !waiting[*j.Reason] || traced >= enough {
				continue
			}
			traced++
			out, told, _ := run(t, "trace", strings.ToLower(j.Kind)+"/"+j.Name, "-n", j.Namespace, "-o", "json", "--from", dir)
			var trace inspect.Trace
			assert.NilError(t, json.Unmarshal([]byte(out), &trace), told)
			assert.Check(t, trace.Reason == *j.Reason && trace.Message == *j.Message, "%s/%s: ls %s %q, trace %s %q", j.Namespace, j.Name, *j.Reason, *j.Message, trace.Reason, trace.Message)
			compared++
		}
	}
	compare(t, exampleFleet)
	assert.Assert(t, compared >= 4, "%d", compared)
	// The table says the same as JSON.
	out, told, _ := run(t, "ls", "score", "-n", "vision", "--all-contexts", "--reason", "--from", exampleFleet)
	assert.Assert(t, strings.Contains(out, "LocalQueue vision/inference does not exist on worker-2"), out+told)
	eachRecording(t, func(t *testing.T, _, dir string) {
		t.Helper()
		compare(t, dir)
	})
}
