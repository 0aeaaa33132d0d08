package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestNoOrphansWithoutManager: without a management cluster, a healthy mirror is not called an
// orphan, and nothing looks healthy.
func TestNoOrphansWithoutManager(t *testing.T) {
	skipIfShort(t)
	dir := filepath.Join(recordings, "workers-only-user")
	const unknown = "not checked: origins of 11 mirrors (no manager was read)"
	for _, args := range [][]string{{"trace", "-A", "--orphans"}, {"trace", "-A"}, {"check", "-A", "--grace", "0s"}} {
		out, errOut, code := run(t, append(args, "--from", dir)...)
		want := util.ExitPartial
		if args[0] == "check" {
			// It finds Pods without a node.
			want = util.ExitFindings
		}
		assert.Equal(t, code, want, "%v: %s", args, out)
		assert.Assert(t, strings.Contains(out+errOut, unknown), "%v: %s", args, out+errOut)
		assert.Assert(t, !strings.Contains(out, "rphan"), out)
	}
	out, _, _ := run(t, "trace", "-A", "--orphans", "--from", dir)
	assert.Equal(t, out, unknown+"\n", "no mirror is called an orphan")
	out, _, _ = run(t, "trace", "p1-0", "--from", dir)
	assert.Assert(t, strings.Contains(out, "Its origin is unknown: no manager was read."), out)
	var list inspect.TraceList
	out, _, code := run(t, "trace", "-A", "--orphans", "--from", dir, "-o", "json")
	assert.Equal(t, code, util.ExitPartial)
	fits(t, "tracelist", out)
	decode(t, &list, "trace", "-A", "--orphans", "--from", dir, "-o", "json")
	assert.Assert(t, len(list.Items) == 0 && len(list.Unchecked) == 1, out)
	// With the manager, an orphan is reported.
	out, _, code = run(t, "trace", "-A", "--orphans", "--from", filepath.Join(recordings, "origin-deleted-controller-down"))
	assert.Equal(t, code, util.ExitOK)
	assert.Assert(t, strings.Contains(out, "train"), out)
}

// TestUnprovenOrigin: check, too, says that the origin of a mirror is unknown, if its manager may not have created it.
func TestUnprovenOrigin(t *testing.T) {
	dir := copyWith(t, "origin-deleted-controller-down", "kwok-mgr.yaml", func(text string) string {
		items := slices.DeleteFunc(strings.SplitAfter(text, "\n- "), func(item string) bool { return strings.Contains(item, "kind: MultiKueueCluster\n") })
		return strings.Join(items, "")
	})
	const unknown = "not checked: origin of 1 mirror (Job) (the managers that were read may not have created it)\n"
	for _, args := range [][]string{{"trace", "-A", "--orphans"}, {"check", "-A", "--grace", "0s"}, {"check", "train", "-n", "default", "--grace", "0s"}} {
		out, errOut, code := run(t, append(args, "--from", dir)...)
		assert.Equal(t, code, util.ExitPartial, "%v: %s", args, out+errOut)
		assert.Assert(t, strings.Contains(out+errOut, unknown), "%v: %s", args, out+errOut)
	}
}

// unidentifiedMarks returns a copy of a recording with the mark of a user who may not read
// kube-system: it names the cluster of the origin disp/name by the UID of the namespace.
func unidentifiedMarks(t *testing.T, name string) string {
	t.Helper()
	return copyWith(t, "dispatch-origin-in-multikueue-queue", "kwok-w2.yaml", func(text string) string {
		const mark, uid = "'394b5a80-4f82-44a3-b0c8-cf79f3c69cfc/disp/d1'", "origin-uid: '285c9432-6c30-4dfa-948f-060944aba43b'"
		assert.Assert(t, strings.Contains(text, mark) && strings.Contains(text, uid))
		text = strings.Replace(text, mark, "unknown+88167ff3-a687-495c-9ccb-60829f8a3bd3/disp/"+name, 1)
		return strings.Replace(text, uid, "origin-uid: 4a7d1f5e-0000-4000-8000-000000000001", 1)
	})
}

// TestOrphansByNamespace: a mark with the UID of a namespace proves the cluster of the origin in the
// list of all mirrors, too.
func TestOrphansByNamespace(t *testing.T) {
	dir := unidentifiedMarks(t, "gone")
	for _, scope := range [][]string{{"-A"}, {"-n", "disp"}} {
		out, errOut, code := run(t, append([]string{"trace", "--orphans", "--from", dir}, scope...)...)
		assert.Equal(t, code, util.ExitOK, out+errOut)
		assert.Assert(t, strings.Contains(out, "d1") && !strings.Contains(out+errOut, "not checked"), out+errOut)
	}
}

// TestPartsOfMirrors: the Jobs that a mirror of another kind creates point to that mirror,
// without a fix while they run, and Kueue's additions to their Pod templates are no difference.
func TestPartsOfMirrors(t *testing.T) {
	skipIfShort(t)
	dir := filepath.Join(recordings, "jobsets")
	out, _, code := run(t, "trace", "js-susp-driver-0", "--from", dir)
	assert.Equal(t, code, util.ExitOK)
	assert.Assert(t, strings.Contains(out, "\nJobSet js-susp on kwok-w2 created it.\n\n") && !strings.Contains(out, "Fix:"), out)
	assert.Assert(t, !strings.Contains(out, "not delegated"), out)
	out, _, code = run(t, "trace", "jobset/js-susp", "--from", dir)
	assert.Equal(t, code, util.ExitOK)
	assert.Assert(t, strings.HasPrefix(out, "JobSet default/js-susp: running on kwok-w2") && !strings.Contains(out, "Differences"), out)
	out, _, _ = run(t, "ls", "-A", "--all-contexts", "--reason", "--from", dir)
	assert.Assert(t, strings.Contains(out, "JobSet js-susp on kwok-w2 created it."), out)
}

// TestPriorityClassUnread: if the verdict depends on a priority that was not read, it is unknown.
func TestPriorityClassUnread(t *testing.T) {
	dir := filepath.Join(recordings, "priority-class-unread")
	out, errOut, _ := run(t, "trace", "-f", filepath.Join(dir, "x-wprio.yaml"), "--from", dir, "-o", "json")
	trace := tracesIn(t, out)[0]
	assert.Assert(t, len(trace.Placements) == 3, out+errOut)
	for _, p := range trace.Placements[1:] {
		assert.Equal(t, p.Verdict, inspect.Unknown, p.Message)
		assert.Assert(t, strings.Contains(p.Message, "WorkloadPriorityClass high"), p.Message)
	}
}

// TestOrphanOfDispatchWithUnreadContext: the mark of dispatch proves the cluster of the origin, so
// trace says that the origin is gone although another context was not read.
func TestOrphanOfDispatchWithUnreadContext(t *testing.T) {
	dir := unidentifiedMarks(t, "gone")
	snapshot := filepath.Join(dir, "snapshot.yaml")
	text, err := os.ReadFile(snapshot)
	assert.NilError(t, err)
	lost := strings.Replace(string(text), "  file: kwok-w1.yaml\n", "  error: forbidden\n", 1)
	assert.Assert(t, lost != string(text))
	assert.NilError(t, os.WriteFile(snapshot, []byte(lost), 0o600))
	out, errOut, _ := run(t, "trace", "d1", "-n", "disp", "--from", dir)
	assert.Assert(t, strings.Contains(out, "Its origin disp/gone is gone.") && !strings.Contains(out, "origin is unknown") && !strings.Contains(out, "may be in an unread"), out+errOut)
	out, errOut, _ = run(t, "trace", "--orphans", "-n", "disp", "--from", dir)
	assert.Assert(t, strings.Contains(out, "d1") && !strings.Contains(errOut, "may be in unread contexts"), out+errOut)
}
