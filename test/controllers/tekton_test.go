package controllers

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
)

// steps is a task of two steps. Tekton adds init containers to its Pod.
const steps = `{steps: [{name: one, image: registry.example/batch:1, command: [run]}, {name: two, image: registry.example/batch:1, script: run}]}`

// pipeline has two tasks, one after the other.
const pipeline = `{tasks: [{name: first, taskSpec: ` + steps + `}, {name: second, runAfter: [first], taskSpec: ` + steps + `}]}`

// submitRun creates a PipelineRun or a TaskRun, named train, in its own namespace, and delegated to
// an owner. Annotations determine the end of its Pods. status is its spec.status, "" for none.
func (q queued) submitRun(t *testing.T, ns string, owner delegation.Owner, annotations, status string) {
	t.Helper()
	inNamespace(t, ns)
	work := map[string]string{"PipelineRun": "pipelineSpec: " + pipeline, "TaskRun": "taskSpec: " + steps}[q.kind]
	create(t, management, q.resource, ns, fmt.Sprintf(`
apiVersion: tekton.dev/v1
kind: %s
metadata: {name: train, annotations: {%s}}
spec: {managedBy: %s, status: %q, %s}
`, q.kind, annotations, owner, status, work))
}

// eachRun runs a test for each kind of Tekton.
func eachRun(t *testing.T, suffix string, test func(t *testing.T, q queued, ns string)) {
	t.Helper()
	if os.Getenv("ECOSYSTEM") != "tekton" {
		t.Skip("make test-ecosystem runs it")
	}
	t.Parallel()
	for _, q := range []queued{{resource: pipelineRuns, kind: "PipelineRun", pods: 1}, {resource: taskRuns, kind: "TaskRun", pods: 1}} {
		t.Run(q.kind, func(t *testing.T) {
			t.Parallel()
			test(t, q, strings.ToLower(q.kind)+"-"+suffix)
		})
	}
}

// starts dispatches an object until its Pods run.
func (q queued) starts(t *testing.T, ns string) *dispatching.Process {
	t.Helper()
	d := dispatches(t, ns, q.name())
	d.Expect(dispatch.MirrorCreated, "")
	runs(t, ns, q.pods)
	return d
}

// showsBoth waits until ls, trace and check show a state on both clusters.
func (q queued) showsBoth(t *testing.T, ns string, want look) *inspect.Trace {
	t.Helper()
	return q.showsOn(t, both, ns, want)
}

// TestTektonToTheEnd dispatches objects until they complete. logs and wait find the Pods and the end.
func TestTektonToTheEnd(t *testing.T) {
	eachRun(t, "end", func(t *testing.T, q queued, ns string) {
		t.Helper()
		q.submitRun(t, ns, delegation.Dispatch, forHours, "")
		q.showsBoth(t, ns, look{status: delegation.Unclaimed, state: inspect.StateBlocked, findings: "JM101 error"})
		d := q.starts(t, ns)
		q.showsBoth(t, ns, isRunning)
		steps := q
		steps.pods *= 2
		steps.logsAreRead(t, both, ns)
		if q.kind == "PipelineRun" {
			part := read[inspect.Trace](t, "trace", "taskrun/train-first", "-n", ns, both)
			assert.Equal(t, part.State, inspect.StateRunning)
			assert.Equal(t, part.Message, "PipelineRun train on worker created it.")
			completePods(t, ns, "tekton.dev/pipelineTask=first")
			eventually(t, worker, taskRuns, ns, "train-second", func(o *unstructured.Unstructured) bool { return o != nil })
			runs(t, ns, 1)
			q.showsBoth(t, ns, isRunning)
		}
		completePods(t, ns, "")
		assert.Equal(t, d.End(), 0, d.Stderr.String())
		q.showsEnd(t, ns, look{status: delegation.Complete, state: inspect.StateComplete, mirror: worker})
		assert.DeepEqual(t, statusOf(t, management, q.resource, ns), statusOf(t, worker, q.resource, ns))
		_, errOut, code := run(t, "wait", q.name(), "-n", ns, both, "--timeout", "1m")
		assert.Equal(t, code, 0, errOut)
	})
}

// TestTektonFails dispatches objects whose Pods fail.
func TestTektonFails(t *testing.T) {
	eachRun(t, "fails", func(t *testing.T, q queued, ns string) {
		t.Helper()
		q.submitRun(t, ns, delegation.Dispatch, toFail, "")
		d := dispatches(t, ns, q.name())
		assert.Equal(t, d.End(), 5, d.Stderr.String())
		q.showsEnd(t, ns, look{status: delegation.Failed, state: inspect.StateFailed, mirror: worker})
	})
}

// TestTektonCancelled cancels running objects as Tekton's users do.
func TestTektonCancelled(t *testing.T) {
	eachRun(t, "cancelled", func(t *testing.T, q queued, ns string) {
		t.Helper()
		q.submitRun(t, ns, delegation.Dispatch, forHours, "")
		d := q.starts(t, ns)
		word := map[string]string{"PipelineRun": "Cancelled", "TaskRun": "TaskRunCancelled"}[q.kind]
		patch(t, management, q.resource, ns, "train", `{spec: {status: `+word+`}}`)
		assert.Equal(t, d.End(), 5, d.Stderr.String())
		runs(t, ns, 0)
		q.showsEnd(t, ns, look{status: delegation.Failed, state: inspect.StateFailed, mirror: worker})
	})
}

// TestTektonPending dispatches objects that are pending, and resumes them.
func TestTektonPending(t *testing.T) {
	eachRun(t, "pending", func(t *testing.T, q queued, ns string) {
		t.Helper()
		q.submitRun(t, ns, delegation.Dispatch, forHours, q.kind+"Pending")
		d := dispatches(t, ns, q.name())
		d.Expect(dispatch.MirrorCreated, "")
		q.showsBoth(t, ns, look{status: delegation.Suspended, state: inspect.StateSuspended, mirror: worker})
		patch(t, management, q.resource, ns, "train", `{spec: {status: null}}`)
		runs(t, ns, 1)
		q.showsBoth(t, ns, isRunning)
		assert.NilError(t, d.Cmd.Process.Kill())
		d.End()
	})
}

// TestTektonDeleted deletes the origins of running mirrors.
func TestTektonDeleted(t *testing.T) {
	eachRun(t, "deleted", func(t *testing.T, q queued, ns string) {
		t.Helper()
		q.submitRun(t, ns, delegation.Dispatch, forHours, "")
		d := q.starts(t, ns)
		assert.NilError(t, dynamicClient(management).Resource(q.resource).Namespace(ns).Delete(t.Context(), "train", metav1.DeleteOptions{}))
		assert.Equal(t, d.End(), 1, d.Stderr.String())
		eventually(t, worker, q.resource, ns, "train", isAbsent)
		runs(t, ns, 0)
		eventuallyFinds(t, both, ns, "")
	})
}

// TestTektonWithoutItsPipeline: dispatch reports that the worker lacks the Pipeline, and creates
// nothing until it exists.
func TestTektonWithoutItsPipeline(t *testing.T) {
	if os.Getenv("ECOSYSTEM") != "tekton" {
		t.Skip("make test-ecosystem runs it")
	}
	t.Parallel()
	const ns = "pipelinerun-reference"
	inNamespace(t, ns)
	create(t, management, pipelineRuns, ns, fmt.Sprintf(`
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: train, annotations: {%s}}
spec: {managedBy: %s, pipelineRef: {name: nightly}}
`, forSeconds, delegation.Dispatch))
	d := dispatches(t, ns, "pipelinerun/train")
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	refused := slices.ContainsFunc(d.Seen, func(e dispatch.Event) bool {
		return e.Event == dispatch.Refused && strings.Contains(e.Message, "Pipeline "+ns+"/nightly: does not exist")
	})
	assert.Assert(t, refused, "%v", d.Seen)
	eventually(t, worker, pipelineRuns, ns, "train", isAbsent)
	create(t, worker, pipelines, ns, `{apiVersion: tekton.dev/v1, kind: Pipeline, metadata: {name: nightly}, spec: `+pipeline+`}`)
	d = dispatches(t, ns, "pipelinerun/train")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	assert.Equal(t, origins(t, both, ns)["train"].Status, delegation.Complete)
}

// TestTektonOfOtherOwners: Tekton leaves objects of other owners alone.
func TestTektonOfOtherOwners(t *testing.T) {
	eachRun(t, "other", func(t *testing.T, q queued, ns string) {
		t.Helper()
		q.submitRun(t, ns, "example.com/runner", forHours, "")
		q.showsBoth(t, ns, look{status: delegation.Unclaimed, state: inspect.StateBlocked, findings: "JM014 error"})
		_, errOut, code := run(t, "dispatch", q.name(), "-n", ns, "--context", management, "--to", worker)
		assert.Equal(t, code, 1, errOut)
	})
}
