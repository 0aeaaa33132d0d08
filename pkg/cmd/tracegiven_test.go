package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestTraceOfFileWithQueues: a LocalQueue of the same file counts where the Job is submitted, and not on workers. What a
// ClusterQueue of the file will have is unknown.
func TestTraceOfFileWithQueues(t *testing.T) {
	fleet := copyWith(t, "../../examples/fleet", "management.yaml", func(cluster string) string {
		return strings.Replace(cluster, "\n    name: inference\n", "\n    name: other\n", 1)
	})
	const (
		local     = "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: inference, namespace: vision}, spec: {clusterQueue: cluster-queue}}\n---\n"
		another   = "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: another}, spec: {}}\n---\n"
		namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: vision}}\n---\n"
		job       = "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: vision, labels: {kueue.x-k8s.io/queue-name: inference}}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}"
		race      = "note: MultiKueue rejects Job vision/a if Kueue does not know LocalQueue inference yet when the Job is created: create the LocalQueue first, or set spec.managedBy to kueue.x-k8s.io/multikueue\n"
	)
	owned := strings.Replace(job, "spec: {template", "spec: {managedBy: kueue.x-k8s.io/multikueue, template", 1)
	toAnother := strings.Replace(local, "cluster-queue", "another", 1)
	fresh := strings.NewReplacer("namespace: vision", "namespace: fresh", "{name: vision}", "{name: fresh}")
	for name, tt := range map[string]struct {
		file, contexts, want string
		code                 int
		isRace               bool
	}{
		"no LocalQueue": {job, "management", "Would never run. management: LocalQueue vision/inference does not exist.\n", util.ExitFindings, false},
		"LocalQueue": {
			local + job, "*", "Would wait. Needs 1 nvidia.com/gpu; 0 free on worker-1. ml/train holds 4.\nFix: create LocalQueue vision/inference on worker-2, where the Job fits now: ", util.ExitOK, true,
		},
		"LocalQueue, and an owner": {local + owned, "*", "Would wait. Needs 1 nvidia.com/gpu; 0 free on worker-1. ml/train holds 4.\nFix: create LocalQueue vision/inference on worker-2, ", util.ExitOK, false},
		"LocalQueue of another":    {fresh.Replace(local) + job, "management", "Would never run. management: LocalQueue vision/inference does not exist.\n", util.ExitFindings, false},
		"stopped LocalQueue": {
			strings.Replace(local, "cluster-queue}", "cluster-queue, stopPolicy: Hold}", 1) + owned, "management,worker-1", "Would never run. management: LocalQueue vision/inference is stopped (Hold).\nFix: remove spec.stopPolicy from LocalQueue inference of the input\n", util.ExitFindings, false,
		},
		"no ClusterQueue": {toAnother + job, "management", "Would never run. management: ClusterQueue another of LocalQueue vision/inference does not exist.\nFix: use LocalQueue gpu: ", util.ExitFindings, false},
		"ClusterQueue": {
			another + toAnother + job, "management", "Cannot tell whether it would run. management: ClusterQueue another does not exist yet; the input creates it.\nFix: create ClusterQueue another first, and then run trace -f again\n", util.ExitPartial, false,
		},
		"Namespace": {
			fresh.Replace(namespace + local + owned), "management", "Cannot tell whether it would run. management: namespace fresh does not exist yet; the input creates it.\nFix: create Namespace fresh first, and then run trace -f again\n", util.ExitPartial, false,
		},
	} {
		path := filepath.Join(t.TempDir(), "x.yaml")
		assert.NilError(t, os.WriteFile(path, []byte(tt.file), 0o600))
		out, errOut, code := run(t, "trace", "-f", path, "--from", fleet, "--contexts", tt.contexts)
		_, answer, _ := strings.Cut(out, ": not submitted\n")
		assert.Assert(t, strings.HasPrefix(answer, tt.want), "%s: %s%s", name, out, errOut)
		assert.Equal(t, code, tt.code, name)
		assert.Equal(t, strings.Contains(errOut, race), tt.isRace, "%s: %s", name, errOut)
		assert.Assert(t, !strings.Contains(errOut, "note: skipped"), errOut)
	}
}
