package controllers

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// newTrainJob makes a TrainJob of two nodes, delegated to MultiKueue, since its API takes
// no other owner, in a namespace of its own; annotations tell what becomes of its pods.
// The clusters have the runtime that it names.
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

// trainJobWay is the way of a TrainJob in a state, and of its mirror and pods.
func trainJobWay(origin, mirror, pods string) string {
	return strings.ReplaceAll(jobSetWay(origin, mirror, pods), "JobSet/", "TrainJob/")
}

// TestTrainJob: where no controllers of Trainer run on the manager, MultiKueue's TrainJobs
// are dispatched to the end. Trainer 2.0 writes no status before that.
func TestTrainJob(t *testing.T) {
	const ns = "tune"
	newTrainJob(t, ns, forHours, management, worker)
	assert.Equal(t, origins(t, ns)["train"].Status, delegation.Unclaimed)
	assert.Equal(t, codes(t, ns), "JM013 management")
	d := dispatches(t, ns, "trainjob/train", "--as-multikueue")
	d.Expect(dispatch.MirrorCreated, "")
	runs(t, ns, 2)
	truth{delegation.Unknown, trainJobWay("Unknown", "Running", "2 Running"), ""}.tell(t, ns, "trainjob/train")
	letEnd(t, ns)
	assert.Equal(t, d.End(), 0, d.Told.String())
	sameEnd(t, trainJobs, ns)
	truth{delegation.Complete, trainJobWay("Complete", "Complete", "2 Completed"), ""}.tell(t, ns, "trainjob/train")
}

// TestTrainJobWithoutItsRuntime: what the worker's webhook refuses is told before
// anything is made.
func TestTrainJobWithoutItsRuntime(t *testing.T) {
	const ns = "tune-nothing"
	newTrainJob(t, ns, forSeconds, management)
	d := dispatches(t, ns, "trainjob/train", "--as-multikueue")
	d.Expect(dispatch.Warned, "")
	refusal := d.Expect(dispatch.Refused, "").Message
	assert.Assert(t, strings.Contains(refusal, "context \"worker\": the admission webhook validator.trainjob.trainer.kubeflow.org refuses the TrainJob"), refusal)
	assert.Assert(t, strings.Contains(refusal, `"torch" not found`), refusal)
	assert.Equal(t, d.End(), 1)
	eventually(t, worker, trainJobs, ns, "train", isAway)
}

// TestTrainerThatIgnoresManagedBy: Trainer before 2.3 runs what is delegated all the same,
// and check says so, with and without a mirror.
func TestTrainerThatIgnoresManagedBy(t *testing.T) {
	const ns = "tune-twice"
	newTrainJob(t, ns, forHours, management, worker)
	m, err := start(t.Context(), management, trainer)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, m.Stop(context.Background())) })
	runsOn(t, management, ns, 2)
	eventuallyFinds(t, ns, "JM013 management\nJM301 management")
	d := dispatches(t, ns, "trainjob/train", "--as-multikueue")
	d.Expect(dispatch.MirrorCreated, "")
	runs(t, ns, 2)
	eventuallyFinds(t, ns, "JM301 management")
	findings := found(t, ns)
	assert.Equal(t, len(findings), 1, "%+v", findings)
	assert.Equal(t, findings[0].Message, "Kubeflow Trainer before v2.3.0 ignores spec.managedBy; the controller on management has made JobSet tune-twice/train of it")
	assert.NilError(t, d.Cmd.Process.Signal(syscall.SIGINT))
	assert.Equal(t, d.End(), 130, d.Told.String())
}
