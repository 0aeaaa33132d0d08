package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// withRaisedQuotas returns a copy of the recording of workers without enough quota, after their quotas were raised.
// changes are pairs of texts to replace besides.
func withRaisedQuotas(t *testing.T, changes ...string) (dir string) {
	t.Helper()
	replace := strings.NewReplacer(append([]string{"nominalQuota: '1'", "nominalQuota: '100'"}, changes...)...)
	dir = t.TempDir()
	assert.NilError(t, os.CopyFS(dir, os.DirFS(filepath.Join(recordings, "no-quota-on-workers"))))
	for _, worker := range []string{"kwok-w1", "kwok-w2"} {
		path := filepath.Join(dir, worker+".yaml")
		recorded, err := os.ReadFile(path)
		assert.NilError(t, err)
		raised := replace.Replace(string(recorded))
		raised += "- {apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: default-flavor, uid: flavor-" + worker + "}}\n"
		assert.NilError(t, os.WriteFile(path, []byte(raised), 0o600))
	}
	return dir
}

// TestOutdatedWait checks that a Job that waits for quota, although the quota is free, is the same warning: the Job does
// not wait for quota.
func TestOutdatedWait(t *testing.T) {
	dir := withRaisedQuotas(t, "ExceedsMaxQuota", "WaitingForQuota", `insufficient quota for cpu
        in flavor default-flavor, previously considered podsets requests (0) + current
        podset request (2) > maximum capacity (1)`, `insufficient unused quota for cpu in flavor default-flavor, 1 more needed`)
	const (
		says  = "kwok-w1: by the quotas read it fits now, but Kueue says: needs 1 more cpu (flavor default-flavor)"
		check = "check that Kueue runs on kwok-w1: the quota fits, and Kueue has not judged it again: `kubectl --context kwok-w1 get deployments,pods -A"
		row   = "worker1  kwok-w1  waits    by the quotas read it fits now, but Kueue says: needs 1 more cpu (flavor default-flavor)"
	)
	out, _, _ := run(t, "trace", "train", "--from", dir)
	assert.Assert(t, strings.Contains(out, says+".\nFix: "+check) && strings.Contains(out, row), out)
	out, _, code := run(t, "check", "--from", dir, "--grace", "1s")
	assert.Equal(t, code, 3)
	assert.Assert(t, strings.Contains(out, "1 warning in 1 delegated Job") && strings.Contains(out, "fix: "+check), out)
	assert.Assert(t, strings.Contains(out, "Jobs wait on the workers; default/train: "+says) && !strings.Contains(out, "wait for quota"), out)
}

// TestOutdatedVerdict checks that a verdict of Kueue that is older than the quota is a warning: the fix is
// to check Kueue, not to raise the quota again.
func TestOutdatedVerdict(t *testing.T) {
	dir := withRaisedQuotas(t)
	const (
		says  = "kwok-w1, kwok-w2: by the quotas read it fits now, but Kueue says: needs 2 cpu, limit 1 (flavor default-flavor)"
		check = "check that Kueue runs on kwok-w1: the quota fits, and Kueue has not judged it again: `kubectl --context kwok-w1 get deployments,pods -A"
		row   = "worker1  kwok-w1  unknown  by the quotas read it fits now, but Kueue says: needs 2 cpu, limit 1 (flavor default-flavor)"
	)
	out, _, _ := run(t, "trace", "train", "--from", dir)
	assert.Assert(t, strings.Contains(out, says+".\nFix: "+check) && strings.Contains(out, row), out)
	out, _, _ = run(t, "check", "--from", dir, "--grace", "1s")
	assert.Assert(t, strings.Contains(out, "1 warning in 1 delegated Job") && strings.Contains(out, "JM029  default/train  "+says), out)
	assert.Assert(t, strings.Contains(out, "fix: "+check) && !strings.Contains(out, "raise the quota"), out)
}

// TestOutdatedWaitOnServers checks that check on live clusters, which needs two readings for the warning, waits for the
// second one.
func TestOutdatedWaitOnServers(t *testing.T) {
	f := newWatchedFleet(t, withRaisedQuotas(t))
	out, errOut, code := run(t, "check", "--all-contexts", "--kubeconfig", f.kubeconfig, "--grace", "1s")
	assert.Equal(t, code, util.ExitFindings, errOut)
	assert.Assert(t, strings.Contains(out, "1 warning in 1 delegated Job") && strings.Contains(out, "by the quotas read it fits now"), out)
}
