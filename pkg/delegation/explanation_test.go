package delegation_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// TestFailureOfEveryKind checks that objects of each kind say why they failed, as far as their status does.
func TestFailureOfEveryKind(t *testing.T) {
	const silent = "pod/failed.yaml"
	want := map[string]string{
		"appwrapper/failed.yaml":            "FoundFailedPods",
		"jobset/failed.yaml":                "ReachedMaxRestarts: jobset failed due to reaching max number of restarts (first failed job: train-workers-1)",
		"pipelinerun/failed-cancelled.yaml": `Cancelled: PipelineRun "train" was cancelled`,
		"raycluster/failed.yaml":            `FailedCreateWorkerPod: pods "train-gpu-worker-7h2xq" is forbidden: exceeded quota: gpu`,
		"rayjob/failed-stopped.yaml":        "Job was intentionally stopped.",
		"rayjob/failed.yaml": "AppFailed: Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 chars): " +
			"RuntimeError: CUDA out of memory",
		"taskrun/failed.yaml":                      `Failed: "step-train" exited with code 1`,
		"widget.v1beta1/failed-not-succeeded.yaml": "Broken: The second part broke",
	}
	seen := 0
	for _, f := range fixtures(t) {
		name := strings.TrimPrefix(f.file, "testdata/kinds/")
		why := f.kind.Failure(f.stateOf())
		assert.Equal(t, why != "", f.state == "failed" && name != silent, name)
		if text, isListed := want[name]; isListed {
			assert.Equal(t, why, text, name)
			seen++
		}
	}
	assert.Equal(t, seen, len(want))
}

// TestFailureInFields checks that a RayCluster without conditions, and a Pod that the kubelet evicted, say why they failed.
func TestFailureInFields(t *testing.T) {
	for name, tt := range map[string]struct {
		status map[string]any
		want   string
	}{
		"raycluster": {map[string]any{"state": "failed", "reason": "exceeded quota: gpu"}, "exceeded quota: gpu"},
		"pod":        {map[string]any{"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory.\nsecond line"}, "Evicted: The node was low on memory. …"},
	} {
		kind, _ := delegation.KindNamed(name)
		assert.Equal(t, kind.Failure(kind.StateOf(map[string]any{"status": tt.status}, true)), tt.want, name)
	}
}

// TestRestarts checks which objects say that they restart, how often they have, and why.
func TestRestarts(t *testing.T) {
	want := map[string]string{
		"appwrapper/running-resetting.yaml":  "is restarting (once so far): FoundFailedPods",
		"jobset/pending-restarting.yaml":     "is restarting (2 times so far; maxRestarts is 3): RestartJobSetFailurePolicyAction: applying RestartJobSet failure policy action (first failed job: train-workers-1)",
		"jobset/failed.yaml":                 "restarted 3 times; maxRestarts is 3",
		"pytorchjob/running-restarting.yaml": "is restarting: PyTorchJobRestarting: PyTorchJob train is restarting because 1 Worker replica(s) failed.",
		"rayjob/running-retrying.yaml":       "is restarting (once so far; backoffLimit is 1): AppFailed",
	}
	seen := map[string]bool{}
	for _, f := range fixtures(t) {
		name := strings.TrimPrefix(f.file, "testdata/kinds/")
		r := f.kind.Restarts(f.stateOf())
		if text, isListed := want[name]; isListed {
			assert.Assert(t, r != nil, name)
			assert.Equal(t, r.String(), text, name)
		}
		for i := range f.kind.Indicators.Restarts.Now {
			seen[f.kind.Name] = seen[f.kind.Name] || f.shows(f.kind.Indicators.Restarts.Now[i])
		}
	}
	for _, kind := range delegation.Kinds() {
		if len(kind.Indicators.Restarts.Now) > 0 {
			assert.Assert(t, seen[kind.Name], "no fixture of a %s restarts", kind.Kind)
		}
	}
}

// TestIsLate checks when an object has used up half of its restarts.
func TestIsLate(t *testing.T) {
	limit := func(n int64) *int64 { return &n }
	late := []bool{}
	for _, r := range []delegation.Restarts{{Now: true}, {Count: 2}, {Count: 3}, {Count: 1, Limit: limit(2)}, {Count: 1, Limit: limit(3)}, {Count: 1, Limit: limit(0)}, {Count: 5, Ignored: 5, Limit: limit(4)}} {
		late = append(late, r.IsLate())
	}
	assert.Assert(t, slices.Equal(late, []bool{false, false, true, true, false, true, false}), "%v", late)
}
