package controllers

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// newTrainJob creates a TrainJob of two nodes, delegated to MultiKueue, because its API accepts no
// other owner, in its own namespace. Annotations determine the end of its Pods. The clusters have
// the runtime that it names.
func newTrainJob(t *testing.T, ns, annotations string, clusters ...string) {
	t.Helper()
	inNamespace(t, ns)
	for _, cluster := range clusters {
		create(t, cluster, runtimes, ns, fmt.Sprintf(`
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 2}
  template:
    spec:
      failurePolicy: {maxRestarts: 0}
      replicatedJobs:
      - name: node
        replicas: 1
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            backoffLimit: 0
            template:
              metadata: {annotations: {%s}}
              spec: {restartPolicy: Never, containers: [{name: node, image: registry.example/torch:1}]}
`, annotations))
	}
	create(t, management, trainJobs, ns, fmt.Sprintf(`
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train}
spec:
  managedBy: %s
  runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: torch}
  trainer: {numNodes: 2}
`, delegation.MultiKueue))
}

// trainJobChain is the chain of a TrainJob in a state, with its mirror and Pods.
func trainJobChain(origin, mirror, pods string) string {
	return strings.ReplaceAll(jobSetChain(origin, mirror, pods), "JobSet/", "TrainJob/")
}

// TestTrainJob checks that on a management cluster without Kueue, MultiKueue's TrainJobs are
// dispatched to the end. Trainer runs there too, and leaves them alone: no JobSet of one is found
// (JM301).
func TestTrainJob(t *testing.T) {
	t.Parallel()
	const ns = "tune"
	newTrainJob(t, ns, forHours, management, worker)
	assert.Equal(t, origins(t, both, ns)["train"].Status, delegation.Unclaimed)
	assert.Equal(t, codes(t, both, ns), "JM013 management")
	d := dispatches(t, ns, "trainjob/train", "--as-multikueue")
	d.Expect(dispatch.MirrorCreated, "")
	runs(t, ns, 2)
	expectation{delegation.Running, trainJobChain("Running", "Running", "2 Running"), ""}.check(t, both, ns, "trainjob/train")
	completePods(t, ns, "")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	sameEnd(t, trainJobs, ns)
	expectation{delegation.Complete, trainJobChain("Complete", "Complete", "2 Completed"), ""}.check(t, both, ns, "trainjob/train")
}

// TestTrainJobWithoutItsRuntime checks that dispatch reports what a webhook of the worker refuses,
// here Kueue's, before it creates anything.
func TestTrainJobWithoutItsRuntime(t *testing.T) {
	t.Parallel()
	const ns = "tune-nothing"
	newTrainJob(t, ns, forSeconds, management)
	d := dispatches(t, ns, "trainjob/train", "--as-multikueue")
	d.Expect(dispatch.Warned, "")
	refusal := d.Expect(dispatch.Refused, "").Message
	// The webhooks of Trainer and Kueue are called at once, and either may answer first.
	assert.Assert(t, is.Regexp(`^context "worker": the admission webhook \S+ refuses the TrainJob: .*["']torch["'] not found`, refusal))
	assert.Equal(t, d.End(), 1)
	eventually(t, worker, trainJobs, ns, "train", isAbsent)
}
