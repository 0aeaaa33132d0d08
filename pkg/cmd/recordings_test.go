package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

const recordings = "../../test/recordings"

// run runs the plugin in this process, without the settings of this machine.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return runIn(t, "kubectl-jobs_managedby", nil, args...)
}

// skipIfShort skips a test that runs many commands, one after the other. make test-judges runs it. With
// -short, make test-unit looks for races, and other tests run the same code concurrently.
func skipIfShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("-short: make test-judges runs it")
	}
}

func eachRecording(t *testing.T, do func(t *testing.T, name, dir string)) {
	t.Helper()
	skipIfShort(t)
	entries, err := os.ReadDir(recordings)
	assert.NilError(t, err)
	n := 0
	for _, e := range entries {
		if e.IsDir() {
			n++
			t.Run(e.Name(), func(t *testing.T) { do(t, e.Name(), filepath.Join(recordings, e.Name())) })
		}
	}
	assert.Assert(t, n >= 17, "only %d recordings were found", n)
}

// tracedJob returns the Job of a recording that is traced: the only one or, of several, the one
// that waits.
func tracedJob(recording string) string {
	some := map[string]string{
		"preempted-on-worker": "low1", "two-flavors": "too-big-untolerated", "cohort-borrowing": "waits",
		"burst-1": "b-28", "burst-3": "b-92", "strict-fifo-head-blocks": "behind",
		"manager-cannot-record-the-worker": "d15-a", "workers-only-user": "p1-0", "mirror-without-multikueue-label": "a03-label",
		"priority-class-unread": "pc", "many-edits-one-timed-out": "a20-met", "many-quota-faults": "d19",
		"dispatch-origin-in-multikueue-queue": "p1-201", "jobsets": "d15-a",
	}
	return cmp.Or(some[recording], "train")
}

// TestTraceOfRecordings traces the Job of every recording of a real MultiKueue.
func TestTraceOfRecordings(t *testing.T) {
	t.Parallel()
	eachRecording(t, func(t *testing.T, name, dir string) {
		t.Helper()
		out, errOut, code := run(t, "trace", tracedJob(name), "--from", dir, "-o", "wide")
		golden.Assert(t, out, "trace/"+name+".txt")
		want := util.ExitOK
		switch name {
		case "workers-only-user":
			want = util.ExitPartial
		case "worker-lost":
			// Its mirror is there, and the answer says that the cluster was not read.
			want = util.ExitPartial
			assert.Equal(t, errOut, "")
		}
		assert.Equal(t, code, want, errOut)
	})
}

// TestTraceOfRecordingsAsJSON checks the fields that scripts use: which context runs the Job, by
// which relation, and that every hop has its text.
func TestTraceOfRecordingsAsJSON(t *testing.T) {
	t.Parallel()
	mirrors := map[string][]string{
		"cluster-removed-from-config":        {"kwok-w1", "kwok-w2"},
		"mirror-mutated-on-worker":           {"kwok-w1"},
		"one-worker-unusable":                {"kwok-w1"},
		"running":                            {"kwok-w1"},
		"service-account-missing-on-workers": {"kwok-w1"},
		"starting":                           {"kwok-w2"},
		"origin-deleted-controller-down":     {"kwok-w2"},
		"worker-job-controller-down":         {"kwok-w2"},
		"same-cluster-under-two-names":       {"kwok-w2"},
		"origin-edited-while-running":        {"kwok-w1"},
		"pods-unschedulable":                 {"kwok-w1"},
		"manager-cannot-record-the-worker":   {"kwok-w1"},
		"mirror-without-multikueue-label":    {"kwok-w1"},
		"priority-class-unread":              {"kwok-w1"},
		"workers-only-user":                  {"w1"},
		"jobsets":                            {"kwok-w1"},
	}
	relations := map[string]inspect.Relation{
		"mirror-without-multikueue-label": inspect.ByWorkload,
	}
	eachRecording(t, func(t *testing.T, name, dir string) {
		t.Helper()
		out, _, _ := run(t, "trace", tracedJob(name), "--from", dir, "-o", "json")
		var trace inspect.Trace
		decoder := json.NewDecoder(bytes.NewBufferString(out))
		assert.NilError(t, decoder.Decode(&trace))
		assert.Assert(t, !decoder.More(), "more than one document")
		fits(t, "trace", out)
		assert.Equal(t, trace.Kind, "Trace")
		assert.Equal(t, trace.Origin == nil, name == "origin-deleted-controller-down" || name == "workers-only-user")
		var found []string
		for _, m := range trace.Mirrors {
			found = append(found, m.Context)
			assert.Equal(t, m.Relation, cmp.Or(relations[name], inspect.ByMultiKueue))
			assert.Equal(t, m.Current, trace.Origin != nil)
		}
		assert.DeepEqual(t, found, mirrors[name])
		for _, h := range trace.Hops {
			assert.Assert(t, h.Kind != "" && h.State != "" && h.Health != "", "%+v", h)
		}
		assert.Assert(t, trace.Summary != "")
	})
}

// TestMirrorsOfRecordings checks the mirror cell of ls, with all contexts and with the management
// cluster only.
func TestMirrorsOfRecordings(t *testing.T) {
	t.Parallel()
	all := map[string]string{
		"cluster-removed-from-config": "kwok-w2+1", "mirror-mutated-on-worker": "kwok-w1", "one-worker-unusable": "kwok-w1",
		"running": "kwok-w1", "service-account-missing-on-workers": "kwok-w1", "starting": "kwok-w2", "worker-lost": "kwok-w1",
		"unknown-owner": "-", "worker-job-controller-down": "kwok-w2", "same-cluster-under-two-names": "kwok-w2",
		"origin-edited-while-running": "kwok-w1", "pods-unschedulable": "kwok-w1",
		"manager-cannot-record-the-worker": "kwok-w1", "mirror-without-multikueue-label": "kwok-w1", "priority-class-unread": "kwok-w1",
		"jobsets": "kwok-w1",
	}
	manager := map[string]string{
		// After MultiKueue has removed the mirror, the manager's own objects name the cluster
		// that got the Job.
		"cluster-removed-from-config": "kwok-w2", "mirror-mutated-on-worker": "-", "unknown-owner": "?",
		"same-cluster-under-two-names": "-", "manager-cannot-record-the-worker": "-", "jobsets": "-",
	}
	cell := func(t *testing.T, job string, args ...string) string {
		t.Helper()
		out, _, _ := run(t, append([]string{"ls", "--delegated", "--no-headers"}, args...)...)
		for line := range strings.Lines(out) {
			if fields := strings.Fields(line); slices.Contains(fields, job) {
				return fields[len(fields)-2]
			}
		}
		return "no Job"
	}
	eachRecording(t, func(t *testing.T, name, dir string) {
		t.Helper()
		if name == "managed-by-missing" || name == "wrong-queue" || name == "origin-deleted-controller-down" || name == "workers-only-user" {
			assert.Equal(t, cell(t, tracedJob(name), "--from", dir), "no Job")
			return
		}
		want, ok := all[name]
		if !ok {
			want = "-"
		}
		assert.Equal(t, cell(t, tracedJob(name), "--from", dir), want)
		if alone, ok := manager[name]; ok {
			want = alone
		}
		assert.Equal(t, cell(t, tracedJob(name), "--from", dir, "--contexts", "kwok-mgr"), want, "with the manager's context only")
	})
}

// fits checks a document against a published schema.
func fits(t *testing.T, schema, text string) {
	t.Helper()
	compiled, err := jsonschema.NewCompiler().Compile("../../docs/schema/" + schema + ".json")
	assert.NilError(t, err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	assert.NilError(t, err)
	assert.NilError(t, compiled.Validate(document))
}

func TestTraceListAsJSON(t *testing.T) {
	out, _, _ := run(t, "trace", "--from", filepath.Join(recordings, "worker-lost"), "-o", "json")
	fits(t, "tracelist", out)
}

func TestTraceMermaid(t *testing.T) {
	out, _, code := run(t, "trace", "job/train", "--from", filepath.Join(recordings, "running"), "-o", "mermaid")
	assert.Equal(t, code, util.ExitOK)
	golden.Assert(t, out, "trace/running.mmd")
}

func TestTraceTable(t *testing.T) {
	for name, args := range map[string][]string{
		"cluster-removed-from-config":    {},
		"origin-deleted-controller-down": {"--orphans"},
		"worker-lost":                    {"-o", "wide"},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, _ := run(t, append([]string{"trace", "--from", filepath.Join(recordings, name)}, args...)...)
			golden.Assert(t, out, "trace/table-"+name+".txt")
		})
	}
}
