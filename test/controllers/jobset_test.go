package controllers

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// newJobSet creates a JobSet of a leader and two workers that is delegated to dispatch, in its own
// namespace. Annotations determine the end of its Pods.
func newJobSet(t *testing.T, ns, annotations string) *unstructured.Unstructured {
	t.Helper()
	t.Parallel()
	inNamespace(t, ns)
	template := fmt.Sprintf(`{metadata: {annotations: {%s}}, spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/batch:1}]}}`, annotations)
	return create(t, management, jobSets, ns, fmt.Sprintf(`
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  managedBy: %s
  failurePolicy: {maxRestarts: 0}
  replicatedJobs:
  - {name: leader, replicas: 1, template: {spec: {backoffLimit: 0, template: %s}}}
  - {name: workers, replicas: 2, template: {spec: {backoffLimit: 0, template: %s}}}
`, delegation.Dispatch, template, template))
}

const (
	forHours   = `pod-complete.stage.kwok.x-k8s.io/delay: 2h`
	forSeconds = `pod-complete.stage.kwok.x-k8s.io/delay: 2s`
	toFail     = forSeconds + `, test/outcome: fails`
)

// statusOf returns the status of an object named train, without the Pod counts of each Job, which
// JobSet still updates after the end.
func statusOf(t *testing.T, cluster string, resource schema.GroupVersionResource, ns string) map[string]any {
	t.Helper()
	o, err := dynamicClient(cluster).Resource(resource).Namespace(ns).Get(t.Context(), "train", metav1.GetOptions{})
	assert.NilError(t, err)
	status, _, err := unstructured.NestedMap(o.Object, "status")
	assert.NilError(t, err)
	delete(status, "replicatedJobsStatus")
	return status
}

// sameEnd checks that the origin has the status of its mirror.
func sameEnd(t *testing.T, resource schema.GroupVersionResource, ns string) {
	t.Helper()
	assert.DeepEqual(t, statusOf(t, management, resource, ns), statusOf(t, worker, resource, ns))
}

// jobSetChain is the chain of a JobSet in a state, with its mirror and Pods.
func jobSetChain(origin, mirror, pods string) string {
	text := "JobSet/train management " + origin + "\nJobSet/train worker " + mirror
	if pods != "" {
		text += "\nPods/train worker " + pods
	}
	return text
}

func TestJobSetToItsEnd(t *testing.T) {
	const ns = "end"
	newJobSet(t, ns, forHours)
	expectation{delegation.Unclaimed, "JobSet/train management Unclaimed", "JM101 management"}.check(t, both, ns, "jobset/train")
	d := dispatches(t, ns, "jobset/train")
	d.Expect(dispatch.MirrorCreated, "")
	runs(t, ns, 3)
	j := expectation{delegation.Running, jobSetChain("Running", "Running", "3 Running"), ""}.check(t, both, ns, "jobset/train")
	assert.Assert(t, len(j.Mirrors) == 1 && j.Mirrors[0].Context == worker && j.Dispatcher.Held, "%+v", j)
	completePods(t, ns, "")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	sameEnd(t, jobSets, ns)
	expectation{delegation.Complete, jobSetChain("Complete", "Complete", "3 Completed"), ""}.check(t, both, ns, "jobset/train")
}

func TestJobSetThatFails(t *testing.T) {
	const ns = "fails"
	newJobSet(t, ns, toFail)
	d := dispatches(t, ns, "jobset/train")
	assert.Equal(t, d.End(), 5, d.Stderr.String())
	sameEnd(t, jobSets, ns)
	assert.Equal(t, origins(t, both, ns)["train"].Status, delegation.Failed)
	eventuallyFinds(t, both, ns, "")
}

func TestJobSetSuspendedAndResumed(t *testing.T) {
	const ns = "suspended"
	newJobSet(t, ns, forHours)
	d := dispatches(t, ns, "jobset/train")
	d.Expect(dispatch.MirrorCreated, "")
	runs(t, ns, 3)
	patch(t, management, jobSets, ns, "train", `{spec: {suspend: true}}`)
	runs(t, ns, 0)
	eventually(t, management, jobSets, ns, "train", hasCondition("Suspended"))
	expectation{delegation.Suspended, jobSetChain("Suspended", "Suspended", ""), ""}.check(t, both, ns, "jobset/train")
	part := read[inspect.Trace](t, "trace", "job/train-leader-0", "-n", ns, both)
	assert.Equal(t, part.State, inspect.StateSuspended)
	assert.Equal(t, part.Message, "spec.suspend is true. JobSet train on worker created it.")
	patch(t, management, jobSets, ns, "train", `{spec: {suspend: false}}`)
	runs(t, ns, 3)
	expectation{delegation.Running, jobSetChain("Running", "Running", "3 Running"), ""}.check(t, both, ns, "jobset/train")
	assert.NilError(t, d.Cmd.Process.Signal(syscall.SIGINT))
	assert.Equal(t, d.End(), 130, d.Stderr.String())
}

func TestJobSetWhoseOriginIsDeleted(t *testing.T) {
	const ns = "deleted"
	newJobSet(t, ns, forHours)
	d := dispatches(t, ns, "jobset/train")
	d.Expect(dispatch.MirrorCreated, "")
	runs(t, ns, 3)
	assert.NilError(t, dynamicClient(management).Resource(jobSets).Namespace(ns).Delete(t.Context(), "train", metav1.DeleteOptions{}))
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	eventually(t, worker, jobSets, ns, "train", isAbsent)
	eventuallyFinds(t, both, ns, "")
}

func TestJobSetWhoseDispatcherIsKilled(t *testing.T) {
	const ns = "killed"
	newJobSet(t, ns, forSeconds)
	d := dispatches(t, ns, "jobset/train")
	made := d.Expect(dispatch.MirrorCreated, "")
	assert.NilError(t, d.Cmd.Process.Kill())
	d.End()
	eventually(t, worker, jobSets, ns, "train", hasCondition("Completed"))
	// At first its end is not copied yet. Once its Lease has expired, no dispatcher will copy it.
	// The Lease is written again, like that of a dispatcher that holds it for a second.
	kind, _ := delegation.KindNamed("jobset")
	patch(t, management, leases, ns, kind.LeaseName("train"), `{spec: {leaseDurationSeconds: 1}}`)
	eventuallyFinds(t, both, ns, "JM202 management")
	assert.Assert(t, strings.HasPrefix(chain(t, both, ns, "jobset/train"), "JobSet/train management "), chain(t, both, ns, "jobset/train"))
	assert.Assert(t, strings.HasSuffix(chain(t, both, ns, "jobset/train"), "\nJobSet/train worker Complete\nPods/train worker 3 Completed"), chain(t, both, ns, "jobset/train"))
	d = dispatches(t, ns, "jobset/train")
	assert.Equal(t, d.Expect(dispatch.MirrorFound, "").Mirror.UID, made.Mirror.UID)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	sameEnd(t, jobSets, ns)
	expectation{delegation.Complete, jobSetChain("Complete", "Complete", "3 Completed"), ""}.check(t, both, ns, "jobset/train")
}
