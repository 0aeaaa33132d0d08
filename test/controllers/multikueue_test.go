package controllers

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/podlogs"
)

var (
	jobs          = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	workloads     = schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"}
	clusterQueues = schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "clusterqueues"}
)

// queued is a kind of object that MultiKueue delegates.
type queued struct {
	resource schema.GroupVersionResource
	kind     string
	// pods is how many Pods it has, with one CPU each.
	pods int
	// parts are the objects that the controllers on the worker create, and the kinds that create
	// them.
	parts map[string]string
	// submit creates an object named train with the queue label, and without managedBy.
	submit func(t *testing.T, ns, annotations string)
	// ending selects its Pods whose end ends it. "" is all of them.
	ending string
	// endless is whether it never ends.
	endless bool
	// manifest creates it on any cluster, if its kind is one of the ecosystem.
	manifest manifest
}

// name is the object's name in a command.
func (q queued) name() string { return strings.ToLower(q.kind) + "/train" }

// eachQueued runs a test for each kind of the suite, in a namespace of its own with a queue. The
// worker's quota is four CPUs.
func eachQueued(t *testing.T, suffix string, test func(t *testing.T, q queued, ns string)) {
	t.Helper()
	t.Parallel()
	for _, q := range suite.queued {
		t.Run(q.kind, func(t *testing.T) {
			t.Parallel()
			ns := strings.ToLower(q.kind) + "-" + suffix
			assert.NilError(t, multiKueue.AddQueues(t.Context(), kueue.Queues{
				ClusterQueue: ns, LocalQueue: "batch", Namespaces: []string{ns},
				Flavor: "default", Resource: "cpu", Quotas: map[string]string{manager: "40", worker: "4"},
			}))
			test(t, q, ns)
		})
	}
}

// template is a Pod template with one CPU. Trainer requires the name of its container.
func template(annotations string) string {
	return fmt.Sprintf(`{metadata: {annotations: {%s}}, spec: {restartPolicy: Never, containers: [{name: node, image: registry.example/batch:1, resources: {requests: {cpu: "1"}}}]}}`, annotations)
}

func submitJobSet(t *testing.T, ns, annotations string) {
	t.Helper()
	create(t, manager, jobSets, ns, fmt.Sprintf(`
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: batch}}
spec:
  failurePolicy: {maxRestarts: 0}
  replicatedJobs:
  - {name: leader, replicas: 1, template: {spec: {backoffLimit: 0, template: %[1]s}}}
  - {name: workers, replicas: 2, template: {spec: {backoffLimit: 0, template: %[1]s}}}
`, template(annotations)))
}

func submitTrainJob(t *testing.T, ns, annotations string) {
	t.Helper()
	for _, cluster := range []string{manager, worker} {
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
          spec: {backoffLimit: 0, template: %s}
`, template(annotations)))
	}
	create(t, manager, trainJobs, ns, `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: batch}}
spec:
  runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: torch}
  trainer: {numNodes: 2}
`)
}

// look is what the commands show for a delegated object and its mirror.
type look struct {
	status delegation.Status
	state  inspect.JobState
	mirror string
	// findings are codes and severities, without grace.
	findings string
	// differs are the fields in which the mirror differs from its origin.
	differs string
}

// shows waits until ls, trace and check show what they must of MultiKueue's clusters.
func (q queued) shows(t *testing.T, ns string, want look) *inspect.Trace {
	t.Helper()
	trace := q.showsOn(t, delegated, ns, want)
	assert.Equal(t, origins(t, delegated, ns)["train"].ManagedBy, delegation.MultiKueue)
	return trace
}

// showsOn waits until ls, trace and check show what they must of some clusters.
func (q queued) showsOn(t *testing.T, contexts, ns string, want look) *inspect.Trace {
	t.Helper()
	var got look
	_ = poll(t.Context(), func(context.Context) bool { got = q.look(t, contexts, ns); return got == want })
	assert.Equal(t, got, want)
	return new(read[inspect.Trace](t, "trace", q.name(), "-n", ns, contexts))
}

// look returns what ls, trace and check show.
func (q queued) look(t *testing.T, contexts, ns string) look {
	t.Helper()
	origin := origins(t, contexts, ns)["train"]
	trace := read[inspect.Trace](t, "trace", q.name(), "-n", ns, contexts)
	got := look{status: origin.Status, state: trace.State}
	for _, f := range found(t, contexts, ns) {
		got.findings += f.Code + " " + string(f.Severity)
	}
	for _, m := range origin.Mirrors {
		got.mirror += m.Context
	}
	for _, d := range trace.Differences {
		got.differs += d.Field + "\n"
	}
	return got
}

var (
	waitsInQueue = look{status: delegation.Suspended, state: inspect.StateWaiting, findings: "JM029 info"}
	isRunning    = look{status: delegation.Running, state: inspect.StateRunning, mirror: worker}
	isComplete   = look{status: delegation.Complete, state: inspect.StateComplete}
	isFailed     = look{status: delegation.Failed, state: inspect.StateFailed}
)

// holds waits for a number of Workloads on a cluster.
func holds(t *testing.T, cluster, ns string, want int) {
	t.Helper()
	got := 0
	err := poll(t.Context(), func(ctx context.Context) bool {
		list, err := dynamicClient(cluster).Resource(workloads).Namespace(ns).List(ctx, metav1.ListOptions{})
		if err == nil {
			got = len(list.Items)
		}
		return err == nil && got == want
	})
	assert.NilError(t, err, "%d Workloads in %s on %s, not %d", got, ns, cluster, want)
}

// TestMultiKueueToTheEnd checks the case that another Job holds the quota of the worker, then the
// object runs there until it is complete.
func TestMultiKueueToTheEnd(t *testing.T) {
	eachQueued(t, "end", func(t *testing.T, q queued, ns string) {
		t.Helper()
		create(t, worker, jobs, ns, fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: holder, labels: {kueue.x-k8s.io/queue-name: batch}}
spec: {parallelism: 4, template: %s}
`, template(forHours)))
		runs(t, ns, 4)
		q.submit(t, ns, forHours)
		trace := q.shows(t, ns, waitsInQueue)
		assert.Equal(t, trace.Message, fmt.Sprintf("Needs %d cpu; 0 free on worker. %s/holder holds 4.", q.pods, ns))

		assert.NilError(t, dynamicClient(worker).Resource(jobs).Namespace(ns).Delete(t.Context(), "holder", metav1.DeleteOptions{
			PropagationPolicy: new(metav1.DeletePropagationBackground),
		}))
		runs(t, ns, q.pods)
		q.shows(t, ns, isRunning)
		q.partsPointToIt(t, ns)
		q.logsAreRead(t, delegated, ns)

		if q.endless {
			return
		}
		completePods(t, ns, q.ending)
		q.shows(t, ns, isComplete)
		eventually(t, worker, q.resource, ns, "train", isAbsent)
		q.shows(t, ns, isComplete)
	})
}

// partsPointToIt checks that the parts of a mirror are no Jobs of their own, and point to the
// mirror.
func (q queued) partsPointToIt(t *testing.T, ns string) {
	t.Helper()
	for part, maker := range q.parts {
		trace := read[inspect.Trace](t, "trace", part, "-n", ns, delegated)
		assert.Equal(t, trace.State, inspect.StateRunning, part)
		assert.Equal(t, trace.Message, maker+" train on worker created it.", part)
	}
}

// logsAreRead checks that logs reads all Pods of the mirror.
func (q queued) logsAreRead(t *testing.T, contexts, ns string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log")
	assert.NilError(t, podlogs.Append(file, time.Now(), "epoch 1"))
	assert.NilError(t, podlogs.OfNamespaces(t.Context(), dynamicClient(worker), ns, []string{ns}, podlogs.Log{File: file}))
	out, errOut, code := run(t, "logs", q.name(), "-n", ns, contexts)
	assert.Equal(t, code, 0, errOut)
	assert.Equal(t, strings.Count(out, "epoch 1"), q.pods, out)
}

// TestMultiKueueFails checks that the end of a failed object is reported, and no finding.
func TestMultiKueueFails(t *testing.T) {
	eachQueued(t, "fails", func(t *testing.T, q queued, ns string) {
		t.Helper()
		if q.endless {
			t.Skip("it never ends")
		}
		q.submit(t, ns, toFail)
		q.shows(t, ns, isFailed)
		eventually(t, worker, q.resource, ns, "train", isAbsent)
		q.shows(t, ns, isFailed)
	})
}

// TestMultiKueueDeactivated checks the case that a user deactivates the Workload, and activates it
// again.
func TestMultiKueueDeactivated(t *testing.T) {
	eachQueued(t, "suspended", func(t *testing.T, q queued, ns string) {
		t.Helper()
		q.submit(t, ns, forHours)
		q.shows(t, ns, isRunning)
		list, err := dynamicClient(manager).Resource(workloads).Namespace(ns).List(t.Context(), metav1.ListOptions{})
		assert.NilError(t, err)
		assert.Equal(t, len(list.Items), 1)
		workload := list.Items[0].GetName()

		patch(t, manager, workloads, ns, workload, `{spec: {active: false}}`)
		q.shows(t, ns, look{status: delegation.Suspended, state: inspect.StateBlocked, findings: "JM124 info"})
		runs(t, ns, 0)
		patch(t, manager, workloads, ns, workload, `{spec: {active: true}}`)
		runs(t, ns, q.pods)
		q.shows(t, ns, isRunning)
	})
}

// TestMultiKueueDeleted checks that with its origin, all parts of a mirror are deleted.
func TestMultiKueueDeleted(t *testing.T) {
	eachQueued(t, "deleted", func(t *testing.T, q queued, ns string) {
		t.Helper()
		q.submit(t, ns, forHours)
		q.shows(t, ns, isRunning)
		assert.NilError(t, dynamicClient(manager).Resource(q.resource).Namespace(ns).Delete(t.Context(), "train", metav1.DeleteOptions{}))
		eventually(t, worker, q.resource, ns, "train", isAbsent)
		for _, cluster := range []string{manager, worker} {
			holds(t, cluster, ns, 0)
		}
		runs(t, ns, 0)
		eventuallyFinds(t, delegated, ns, "")
		assert.Equal(t, len(origins(t, delegated, ns)), 0)
	})
}

// TestMultiKueueNeverFits checks that an object that exceeds the quota of every worker is a
// finding.
func TestMultiKueueNeverFits(t *testing.T) {
	eachQueued(t, "never", func(t *testing.T, q queued, ns string) {
		t.Helper()
		patch(t, worker, clusterQueues, "", ns, `{spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: default, resources: [{name: cpu, nominalQuota: "1"}]}]}]}}`)
		q.submit(t, ns, forHours)
		q.shows(t, ns, look{status: delegation.Suspended, state: inspect.StateBlocked, findings: "JM029 error"})
	})
}
