package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestTraceToMissingQueue checks that the fix for a Job whose LocalQueue exists nowhere creates the
// LocalQueue on the manager and on a worker, if the Job could run then. If not, the answer says why.
func TestTraceToMissingQueue(t *testing.T) {
	const fleet = "../../examples/fleet"
	trace := func(pods int, owner string) string {
		path := filepath.Join(t.TempDir(), "job.yaml")
		job := fmt.Sprintf("{apiVersion: batch/v1, kind: Job, metadata: {name: big, namespace: ml}, spec: {managedBy: %s, parallelism: %d, completions: %d, "+
			"template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}", owner, pods, pods)
		assert.NilError(t, os.WriteFile(path, []byte(job), 0o600))
		out, errOut, code := run(t, "trace", "-f", path, "--queue", "nope", "--from", fleet)
		assert.Equal(t, code, util.ExitFindings, errOut)
		return out
	}
	const onManager, onWorker = "create LocalQueue ml/nope on management: `printf ", ", and then create LocalQueue ml/nope on worker-2: `printf "
	small := trace(2, "kubernetes.io/job-controller")
	assert.Assert(t, strings.Contains(small, "Would never run. management: LocalQueue ml/nope does not exist.\n"), small)
	assert.Assert(t, strings.Contains(small, onManager) && strings.Contains(small, onWorker), small)
	assert.Equal(t, strings.Count(small, "create LocalQueue"), 2, small)
	assert.Assert(t, !strings.Contains(small, "worker-1"), small)

	big := trace(20, "kueue.x-k8s.io/multikueue")
	assert.Assert(t, strings.Contains(big, "LocalQueue ml/nope does not exist; even with it, on worker-2: needs 20 nvidia.com/gpu, limit 6 (flavor a100)"), big)
	assert.Assert(t, strings.Contains(big, "\nFix: request at most 6 nvidia.com/gpu (6 Pods at once, not 20), for worker-2 when other Jobs end (2 nvidia.com/gpu free now), and then "+onManager), big)

	refused := trace(2, "example.com/other")
	assert.Assert(t, strings.Contains(refused, "LocalQueue ml/nope does not exist; even with it: MultiKueue rejects Jobs of owner example.com/other"), refused)
	assert.Assert(t, strings.Contains(refused, "\nFix: set spec.managedBy to kueue.x-k8s.io/multikueue, or use a queue without a MultiKueue check, and then "+onManager), refused)
	assert.Assert(t, strings.Contains(refused, onWorker), refused)
}

// TestTraceBehindJobThatNeverRuns checks that the fix for a Job that waits for quota is to remove the Job that
// holds it and fits on no worker, wherever that is, and that no fix is to wait for a Job whose Pods have no node.
func TestTraceBehindJobThatNeverRuns(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.CopyFS(dir, os.DirFS("../../examples/fleet")))
	path := filepath.Join(dir, "management.yaml")
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	full := strings.NewReplacer("nominalQuota: '1k'", "nominalQuota: '21'").Replace(string(text))
	full = strings.Replace(full, "- name: racks\n        resources:\n        - name: nvidia.com/gpu\n          nominalQuota: '21'",
		"- name: racks\n        resources:\n        - name: nvidia.com/gpu\n          nominalQuota: '4'", 1)
	assert.NilError(t, os.WriteFile(path, []byte(full), 0o600))
	for _, namespace := range []string{"ml", "vision"} {
		job := filepath.Join(t.TempDir(), "job.yaml")
		assert.NilError(t, os.WriteFile(job, []byte("{apiVersion: batch/v1, kind: Job, metadata: {name: new, namespace: "+namespace+"}, spec: {managedBy: kueue.x-k8s.io/multikueue, "+
			"template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]}}}}"), 0o600))
		out, errOut, code := run(t, "trace", "-f", job, "--queue", "gpu", "--from", dir)
		assert.Equal(t, code, util.ExitOK, errOut)
		assert.Assert(t, strings.Contains(out, "\nWould wait. Needs 2 nvidia.com/gpu; 1 free on management. ml/sweep holds 8 without running; "), out)
		assert.Assert(t, strings.Contains(out, "\nFix: release 8 nvidia.com/gpu that ml/sweep holds on management without running: deactivate its Workload"), out)
		assert.Assert(t, strings.Contains(out, "\nOr:  let ml/sweep run: run 6 Pods at once, not 8, to fit on worker-2 when other Jobs end (2 nvidia.com/gpu free now): `kubectl --context management -n ml patch job sweep --type merge -p '{\"spec\":{\"parallelism\":6}}'`\n"), out)
		assert.Assert(t, !strings.Contains(out, "wait for ml/sweep"), out)
	}
	out, errOut, code := run(t, "trace", "p1-208", "--from", recordings+"/dispatch-origin-in-multikueue-queue")
	assert.Assert(t, code == util.ExitOK || code == util.ExitPartial, errOut)
	assert.Assert(t, strings.Contains(out, "\nFix: find out why default/p1-206 holds 9 cpu without running: `"), out)
	assert.Assert(t, !strings.Contains(out, "wait for "), out)
}
