package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestFixOfCronJobsRun checks that fixes change the CronJob that creates a Job, not only the Job: the next run would be
// the same.
func TestFixOfCronJobsRun(t *testing.T) {
	const owner = "  kind: Job\n  metadata:\n    ownerReferences:\n    - {apiVersion: batch/v1, kind: CronJob, name: nightly, uid: c, controller: true}\n"
	dir := copyOf(t, "no-quota-on-workers", func(text string) string { return text })
	path := filepath.Join(dir, "kwok-mgr.yaml")
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, []byte(strings.Replace(string(text), "  kind: Job\n  metadata:\n", owner, 1)), 0o600))
	for _, args := range [][]string{{"trace", "train"}, {"check", "--grace", "0s"}} {
		out, _, _ := run(t, append(args, "-n", "default", "--from", dir)...)
		assert.Assert(t, strings.Contains(out, " in spec.jobTemplate of CronJob default/nightly, then delete Job default/train"), out)
		assert.Assert(t, !strings.Contains(out, "create it again") && !strings.Contains(out, "patch job"), out)
	}
}
