package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// trace runs the command trace and returns its JSON.
func trace(t *testing.T, args ...string) inspect.Trace {
	t.Helper()
	out, err := command(t, append([]string{"jobs-managedby", "trace", "-o", "json"}, args...)...).Output()
	assert.NilError(t, err)
	var tr inspect.Trace
	assert.NilError(t, json.Unmarshal(out, &tr))
	return tr
}

// healthy is the flag that chooses the healthy contexts.
const healthy = "--contexts=" + management + "," + worker1 + "," + worker2

func TestTraceOverLiveClusters(t *testing.T) {
	const ns = "traced"
	sharesKueue(t, ns)
	c := client(t, management)
	// The orphan uses all quota on tokyo.
	createJobs(t, management, submitted(ns, "train", fixture.Pods(4)))
	waitReady(t, management, ns, "train", 4)
	createJobs(t, management, submitted(ns, "sweep"))
	mirror, err := client(t, worker1).BatchV1().Jobs(ns).Get(t.Context(), "train", metav1.GetOptions{})
	assert.NilError(t, err)

	t.Run("the chain", func(t *testing.T) {
		tr := trace(t, "train", "-n", ns, healthy)
		assert.Equal(t, tr.Origin.Context, management)
		assert.Equal(t, len(tr.Mirrors), 1)
		m := tr.Mirrors[0]
		assert.Equal(t, m.Context, worker1)
		assert.Equal(t, m.UID, string(mirror.UID))
		assert.Equal(t, m.Relation, inspect.ByMultiKueue)
		assert.Assert(t, m.Current && m.InStep, "%+v", tr.Differences)
		assert.DeepEqual(t, hopStates(tr), []string{
			"Job/train management Running",
			"LocalQueue/gpu management Active",
			"ClusterQueue/traced management Active",
			"Workload/" + workloadName(tr.Origin) + " management Admitted",
			"AdmissionCheck/multikueue management Ready",
			"MultiKueueConfig/fleet management 2 clusters",
			"MultiKueueCluster/paris management Connected",
			"Workload/" + workloadName(tr.Origin) + " worker-1 Admitted",
			"Job/train worker-1 Running",
			"Pods/train worker-1 4 Running",
			"MultiKueueCluster/tokyo management Connected",
		})
		assert.Assert(t, len(tr.Timeline) > 5)
	})
	t.Run("from the worker", func(t *testing.T) {
		out, stderr, code := run(t, "trace", "job/train", "-n", ns, "--context", worker1)
		assert.Equal(t, code, 4, stderr)
		assert.Assert(t, contains(out, "Job traced/train: running on worker-1", "Its origin is unknown: not read: ", "Job/train"), out)
	})
	t.Run("the reason is on the workers", func(t *testing.T) {
		tr := trace(t, "sweep", "-n", ns, healthy)
		assert.Assert(t, strings.HasPrefix(tr.Message, "Needs 1 nvidia.com/gpu; 0 free on worker-1. traced/train holds 4"), tr.Message)
		assert.Equal(t, tr.State, inspect.StateWaiting)
		assert.Equal(t, tr.Reason, inspect.ReasonQuotaInUse)
	})
	t.Run("all pairs, and orphans", func(t *testing.T) {
		out, err := command(t, "jobs-managedby", "trace", "-n", ns, healthy).Output()
		assert.NilError(t, err)
		assert.Assert(t, contains(string(out), "forgotten", "sweep", "train"), string(out))
		out, err = command(t, "jobs-managedby", "trace", "-n", ns, healthy, "--orphans", "-o", "name").Output()
		assert.NilError(t, err)
		assert.Equal(t, string(out), "job.batch/forgotten\n")
	})
	t.Run("ls has the context, asking all or the manager alone", func(t *testing.T) {
		jobs := ls(t, "-n", ns, healthy, "--delegated")
		assert.Equal(t, jobs["train"].Mirrors[0].Context, worker1)
		assert.Equal(t, len(jobs["sweep"].Mirrors), 0)
		assert.Assert(t, jobs["sweep"].Mirrors != nil, "the absence of a mirror is known")
		jobs = ls(t, "-n", ns, "--context", management, "--delegated")
		assert.Equal(t, jobs["train"].Mirrors[0].Context, worker1)
		assert.Assert(t, len(jobs["sweep"].Mirrors) == 0 && jobs["sweep"].Mirrors != nil)
	})
	t.Run("ls has each Job once, with the reason that trace gives", func(t *testing.T) {
		jobs := ls(t, "-n", ns, healthy, "--reason", "--sort-by", ".creationTimestamp")
		assert.Equal(t, jobs["train"].Context, management)
		assert.Equal(t, jobs["train"].Mirrors[0].Context, worker1)
		assert.Equal(t, *jobs["train"].Reason, inspect.ReasonNone)
		assert.Assert(t, strings.HasPrefix(*jobs["sweep"].Message, "Needs 1 nvidia.com/gpu; 0 free on worker-"), *jobs["sweep"].Message)
		assert.Equal(t, *jobs["forgotten"].Message, "It is a mirror on worker-2. Its origin is unknown: not read: broken and dead.")
	})
	t.Run("queues", func(t *testing.T) {
		byContext := queuesOf(t, ns, healthy)
		assert.Equal(t, *byContext[management].Nominal, "1000")
		assert.DeepEqual(t, byContext[management].Workers.Clusters, []string{"paris", "tokyo"})
		assert.Equal(t, byContext[management].Workers.Nominal, "8")
		assert.Assert(t, byContext[worker1].Workers == nil && *byContext[worker1].Nominal == "4")
		byContext = queuesOf(t, ns, "-n", ns, healthy)
		assert.Equal(t, byContext[management].Name, gpuQueue)
		assert.Equal(t, *byContext[worker1].Used, "4")
		// The orphan still holds its quota.
		assert.Equal(t, *byContext[worker2].Used, "4")
		assert.Equal(t, *byContext[worker2].Pending, "1")
	})
	t.Run("queues, for a user of one namespace", func(t *testing.T) {
		allow(t, client(t, worker1), ns, "teammate", "kueue.x-k8s.io", "*")
		out, stderr := succeeds(t, "queues", "-n", ns, "--context", worker1, "--as", "teammate")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		assert.Equal(t, len(lines), 2, out)
		assert.DeepEqual(t, strings.Fields(lines[1]), strings.Fields("gpu traced - a100 nvidia.com/gpu ? 4 ? 1"))
		assert.Assert(t, contains(stderr, "note: context \"worker-1\": teammate may not read clusterqueues, workloads (kueue.x-k8s.io) cluster-wide"), stderr)
	})
	t.Run("a context without rights", func(t *testing.T) {
		allow(t, c, ns, "nobody", "batch", "jobs")
		// The mirror was read, so that nothing is missing.
		out, stderr := succeeds(t, "trace", "train", "-n", ns, "--contexts", "nobody,"+worker1)
		assert.Assert(t, contains(out, "running on worker-1", "Forbidden", "may not read pods", "4 Running"), out)
		assert.Assert(t, contains(stderr, "note: context \"nobody\": "), stderr)
	})
	t.Run("ls -w with each Job once", func(t *testing.T) {
		l := follow(t, "jobs-managedby", "ls", "-n", ns, healthy, "--reason", "-w", "--no-headers", "-o", "custom-columns=:.name,:.context")
		l.expect(`^train +management$`)
		_, err := client(t, management).BatchV1().Jobs(ns).Create(t.Context(), fixture.New(ns, "another"), metav1.CreateOptions{})
		assert.NilError(t, err)
		l.expect(`^another +management$`)
		assert.Equal(t, l.interrupt(), 130)
		assert.NilError(t, client(t, management).BatchV1().Jobs(ns).Delete(t.Context(), "another", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
	})
	t.Run("a change is shown", func(t *testing.T) {
		l := follow(t, "jobs-managedby", "trace", "train", "-n", ns, healthy, "-w")
		l.expect(`^Job traced/train: running on worker-1 `)
		_, err := client(t, worker1).BatchV1().Jobs(ns).Patch(t.Context(), "train", types.MergePatchType, []byte(`{"spec":{"parallelism":2}}`), metav1.PatchOptions{})
		assert.NilError(t, err)
		l.expect(`^spec.parallelism +4 +2 +worker-1 +differs$`)
		assert.Equal(t, l.interrupt(), 130)
	})
}

// TestTraceOfManyPods checks that a trace does not grow with the number of pods.
func TestTraceOfManyPods(t *testing.T) {
	t.Parallel()
	const ns = "many-pods"
	createJobs(t, management, fixture.New(ns, "wide", fixture.Pods(200), fixture.ManagedBy("flows.example.com/runner")))
	createJobs(t, worker2, fixture.New(ns, "wide", fixture.Pods(200), fixture.NeverStarts()))
	err := poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		pods, err := client(t, worker2).CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 200, err
	})
	assert.NilError(t, err)
	out, err := command(t, "jobs-managedby", "trace", "wide", "-n", ns, healthy).Output()
	assert.NilError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	assert.Assert(t, len(lines) < 25, string(out))
	tr := trace(t, "wide", "-n", ns, healthy)
	assert.Equal(t, tr.Mirrors[0].Relation, inspect.ByName)
	assert.Equal(t, tr.Mirrors[0].Context, worker2)
}

// queuesOf returns the rows of a ClusterQueue, or of the first LocalQueue that points to it, by
// their context.
func queuesOf(t *testing.T, clusterQueue string, args ...string) map[string]queues.QueueQuota {
	t.Helper()
	out, _ := succeeds(t, append([]string{"queues", "-o", "json"}, args...)...)
	var list queues.QueueList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	found := map[string]queues.QueueQuota{}
	for _, q := range list.Items {
		if _, isKnown := found[q.Context]; !isKnown && (q.Name == clusterQueue || q.ClusterQueue == clusterQueue) {
			found[q.Context] = q
		}
	}
	return found
}

func hopStates(tr inspect.Trace) (states []string) {
	for _, h := range tr.Hops {
		states = append(states, h.Kind+"/"+h.Name+" "+h.Context+" "+h.State)
	}
	return states
}

func workloadName(j *inspect.Job) string {
	return delegation.Job().WorkloadNames(j.Name, j.UID, "")[0]
}

// createJobs creates Jobs in a namespace, which may exist already.
func createJobs(t *testing.T, cluster string, jobs ...*batchv1.Job) {
	t.Helper()
	c := client(t, cluster)
	for _, j := range jobs {
		_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: j.Namespace}}, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			assert.NilError(t, err)
		}
		_, err = c.BatchV1().Jobs(j.Namespace).Create(t.Context(), j, metav1.CreateOptions{})
		assert.NilError(t, err)
	}
}

// waitReady waits until this many Pods of a Job are ready, and its status says so.
func waitReady(t *testing.T, cluster, namespace, name string, n int32) {
	t.Helper()
	err := poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		j, err := client(t, cluster).BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil && j.Status.Ready != nil && *j.Status.Ready == n, err
	})
	assert.NilError(t, err)
}
