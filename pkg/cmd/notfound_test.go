package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestNotFound: the error for a Job that is not there names the namespace that has it, and what is
// wrong with its kind.
func TestNotFound(t *testing.T) {
	const in = ` not found in namespace "ml" of contexts management, worker-1, worker-2; `
	for _, tt := range []struct{ name, want string }{
		{"score", `job "score"` + in + "namespace vision has one: add -n vision"},
		{"nope", `job "nope"` + in + "no other namespace has one; for another kind write KIND/NAME, such as jobset/nope"},
		{"job", `job "job" not found in namespace "ml" of contexts management, worker-1, worker-2; "job" is a kind: write job/NAME`},
		{"jobsets", `job "jobsets"` + in + `"jobsets" is a kind: write jobset/NAME, or list all with ls --kinds jobset`},
		{"vision/score", `no context serves kind "vision" with a managedBy field; kubectl jobs-managedby kinds lists the kinds of each context. For a Job in namespace vision, write score -n vision instead of vision/score`},
	} {
		for _, command := range []string{"trace", "check", "ls"} {
			_, errOut, code := run(t, command, tt.name, "-n", "ml", "--all-contexts", "--from", exampleFleet)
			assert.Equal(t, errOut, "error: "+tt.want+"\n", command)
			assert.Equal(t, code, util.ExitError, command)
		}
	}
	_, errOut, _ := run(t, "queues", "gpu", "--from", exampleFleet)
	assert.Equal(t, errOut, "error: there is no queue or cohort \"gpu\"; for a LocalQueue, add -n or -A\n")
}

// TestSomeNamesNotFound: check and ls report on the Jobs that exist, and fail for each name without one.
func TestSomeNamesNotFound(t *testing.T) {
	for _, command := range []string{"check --grace 0s", "ls"} {
		out, errOut, code := run(t, append(strings.Fields(command), "sweep", "nope", "none", "-n", "ml", "--all-contexts", "--from", exampleFleet)...)
		assert.Assert(t, strings.Contains(out, "sweep"), out)
		assert.Equal(t, strings.Count(errOut, " not found in namespace"), 2, errOut)
		assert.Equal(t, code, util.ExitError, command)
	}
}

// TestNotFoundInPart: a snapshot of some namespaces does not show that no other namespace has a Job.
func TestNotFoundInPart(t *testing.T) {
	dir := copyOf(t, "running", func(snapshot string) string {
		return strings.ReplaceAll(snapshot, "  version: v1.36.3\n", "  version: v1.36.3\n  namespaces: [default]\n")
	})
	for _, command := range []string{"trace", "check", "ls"} {
		_, errOut, _ := run(t, command, "nope", "--all-contexts", "--from", dir)
		assert.Assert(t, strings.HasPrefix(errOut, `error: job "nope" not found in namespace "default" of contexts kwok-mgr, kwok-w1, kwok-w2; not all namespaces were read`), errOut)
	}
	_, errOut, code := run(t, "ls", "-A", "--status", "Failed", "--from", dir)
	assert.Equal(t, code, util.ExitOK)
	assert.Assert(t, strings.Contains(errOut, "No Jobs found in the recorded namespaces of contexts "), errOut)
}

// TestNamesOfOtherKinds: KIND/NAME is enough to list and check an object of another kind.
func TestNamesOfOtherKinds(t *testing.T) {
	skipIfShort(t)
	dir := filepath.Join(recordings, "jobsets")
	out, _, code := run(t, "ls", "jobset/js-susp", "-n", "default", "--no-headers", "--from", dir)
	assert.Equal(t, code, util.ExitOK)
	assert.Assert(t, strings.Contains(out, "JobSet") && strings.Contains(out, "js-susp"), out)
	out, _, code = run(t, "check", "jobset/js-susp", "-n", "default", "--grace", "0s", "--from", dir)
	assert.Equal(t, code, util.ExitOK)
	assert.Equal(t, out, "No findings in 1 delegated object on 3 clusters\n")
}

// TestKindsWithVersions: a kind may be named with its version and group, as in kubectl.
func TestKindsWithVersions(t *testing.T) {
	want, errOut, code := run(t, "trace", "train", "-n", "ml", "--from", exampleFleet)
	assert.Equal(t, code, util.ExitOK, errOut)
	for _, kind := range []string{"jobs.v1.batch", "job.v1.batch", "jobs.batch"} {
		out, errOut, code := run(t, "trace", kind+"/train", "-n", "ml", "--from", exampleFleet)
		assert.Equal(t, code, util.ExitOK, errOut)
		assert.Equal(t, out, want)
	}
	_, errOut, code = run(t, "ls", "-A", "--kinds", "jobsets.v1alpha2.jobset.x-k8s.io", "--from", recordings+"/jobsets")
	assert.Equal(t, code, util.ExitOK, errOut)
	_, errOut, code = run(t, "trace", "jobs.v1.example.com/train", "--from", exampleFleet)
	assert.Equal(t, code, util.ExitError, errOut)
}

// TestNotFoundWithUnreadContext: with an unread context, the error does not say that no namespace has the Job,
// and does not ask for the -n that was given;
// without any context, check does not say that it read a namespace.
func TestNotFoundWithUnreadContext(t *testing.T) {
	_, errOut, _ := run(t, "trace", "nope", "-n", "default", "--from", filepath.Join(recordings, "worker-lost"))
	assert.Assert(t, strings.Contains(errOut, "not read; no namespace on kwok-mgr and kwok-w2 has one"), errOut)
	out, errOut, code := run(t, "check", "--from", filepath.Join(recordings, "worker-lost"), "--contexts", "kwok-w1")
	assert.Equal(t, code, util.ExitPartial, out+errOut)
	assert.Assert(t, strings.HasPrefix(out, "Nothing was checked") && !strings.Contains(errOut, "was read"), out+errOut)
}

// TestEmptyNamespace: in a namespace without Jobs, ls names the flag for all namespaces, once.
func TestEmptyNamespace(t *testing.T) {
	for namespace, want := range map[string]string{"default": "\nnote: -A reads all namespaces\n", "nosuch": "choose another with -n, or all with -A\n"} {
		_, errOut, code := run(t, "ls", "-n", namespace, "--from", exampleFleet)
		assert.Equal(t, code, util.ExitOK)
		assert.Assert(t, strings.HasSuffix(errOut, want) && strings.Count(errOut, "-A") == 1, errOut)
	}
}

// TestInvalidDuration: an error about a duration says how to write one.
func TestInvalidDuration(t *testing.T) {
	for _, value := range []string{"5", "soon"} {
		_, errOut, code := run(t, "check", "--grace", value, "--from", exampleFleet)
		assert.Equal(t, code, util.ExitUsage)
		assert.Assert(t, strings.HasPrefix(errOut, `error: --grace "`+value+`" is not a duration; write it as 90s, 5m or 36h`+"\n"), errOut)
	}
}

// TestSeveralUsageErrors: each mistake on the command line has a line of its own.
func TestSeveralUsageErrors(t *testing.T) {
	_, errOut, code := run(t, "check", "--grace", "-1s", "--fail-on", "bad", "--from", exampleFleet)
	assert.Equal(t, code, util.ExitUsage)
	var lines int
	for line := range strings.Lines(errOut) {
		if strings.HasPrefix(line, "error: ") {
			lines++
		}
	}
	assert.Equal(t, lines, 2, errOut)
	assert.Equal(t, strings.Count(errOut, "See 'kubectl"), 1, errOut)
}
