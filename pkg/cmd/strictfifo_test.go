package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestBehindOneThatNeverFits checks that a Job behind a Job that can never fit, in StrictFIFO queues, does not run until the
// latter is changed or removed, and is no second error: only the first Job fits nowhere.
func TestBehindOneThatNeverFits(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.CopyFS(dir, os.DirFS(filepath.Join(recordings, "strict-fifo-head-blocks"))))
	for _, name := range []string{"kwok-mgr.yaml", "kwok-w1.yaml", "kwok-w2.yaml"} {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		const lacks = "insufficient unused quota for cpu in flavor default-flavor, 3 more needed"
		edited := strings.NewReplacer(" cpu: '4'", " cpu: '5'", "reason: WaitingForQuota", "reason: ExceedsMaxQuota",
			lacks, "insufficient quota for cpu in flavor default-flavor, previously considered podsets requests (0) + current podset request (5) > maximum capacity (4)").Replace(string(text))
		assert.NilError(t, os.WriteFile(path, []byte(edited), 0o600))
	}
	traced, errOut, _ := run(t, "trace", "behind", "--from", dir)
	lines := strings.Split(traced, "\n")
	assert.Assert(t, strings.HasPrefix(lines[0], "Job default/behind: not running "), traced+errOut)
	assert.Equal(t, lines[1], "kwok-w1: behind default/head (priority 0), which can never fit there, in ClusterQueue cluster-queue (StrictFIFO).")
	assert.Assert(t, strings.HasPrefix(lines[2], "Fix: remove default/head from the head of ClusterQueue cluster-queue on kwok-w1: deactivate its Workload "), traced)
	checked, _, _ := run(t, "check", "--grace", "0s", "--from", dir)
	assert.Assert(t, strings.HasPrefix(checked, "1 error, 1 info "), checked)
	assert.Assert(t, strings.Contains(checked, "\nJM029  default/head ") && strings.Contains(checked, "\nJM115  default/behind "), checked)
}
