package e2e

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/podlogs"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// sidecar adds a second container to the Pods.
func sidecar(j *batchv1.Job) {
	s := &j.Spec.Template.Spec
	s.Containers = append(s.Containers, corev1.Container{Name: "sidecar", Image: "registry.example/sidecar:1"})
}

// runningPods waits until a Job has this many running Pods, and returns their names in the order of
// their completion indexes or, without indexes, of their age.
func runningPods(t *testing.T, cluster, ns, job string, n int) []string {
	t.Helper()
	var running []corev1.Pod
	err := poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		list, err := client(t, cluster).CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		if err != nil {
			return false, err
		}
		running = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
		return len(running) == n, nil
	})
	assert.NilError(t, err)
	slices.SortFunc(running, func(a, b corev1.Pod) int {
		index := batchv1.JobCompletionIndexAnnotation
		return cmp.Or(cmp.Compare(a.Annotations[index], b.Annotations[index]), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	names := make([]string, n)
	for i, p := range running {
		names[i] = p.Name
	}
	return names
}

// succeed ends Pods with success.
func succeed(t *testing.T, cluster, ns string, pods ...string) {
	t.Helper()
	for _, pod := range pods {
		patchPod(t, cluster, ns, pod, `{"status": {"phase": "Succeeded", "containerStatuses": [{"name": "main", "state": {"running": null, "terminated": {"exitCode": 0}}}]}}`)
	}
}

func patchPod(t *testing.T, cluster, ns, pod, patch string) {
	t.Helper()
	_, err := client(t, cluster).CoreV1().Pods(ns).Patch(t.Context(), pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	assert.NilError(t, err)
}

// TestLogsOfPods reads and follows logs that real API servers fetch from kwok: those of a
// dispatched Job, on the cluster that runs it, of two containers and their earlier runs, to the
// end; and those of a Job on the other worker.
func TestLogsOfPods(t *testing.T) {
	t.Parallel()
	for _, cluster := range []string{worker1, worker2} {
		kubelets[cluster].enter(t, "kwok's", nil)
	}
	const ns = "pod-logs"
	origin(t, ns, "train", fixture.RunsFor("2h"), sidecar)
	d := dispatches(t, ns, "train", "--detach-after-start")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	pod := runningPods(t, worker1, ns, "train", 1)[0]
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	assert.NilError(t, podlogs.Append(file("before"), start.Add(-time.Hour), "epoch 0", "out of memory"))
	assert.NilError(t, podlogs.Append(file("main"), start, "epoch 1", "epoch 2", "epoch 3"))
	assert.NilError(t, podlogs.Append(file("sidecar"), start, "ready"))
	assert.NilError(t, podlogs.OfPod(t.Context(), dynamicClient(t, worker1), ns, pod,
		podlogs.Log{Containers: []string{"main"}, File: file("main"), Previous: file("before")},
		podlogs.Log{Containers: []string{"sidecar"}, File: file("sidecar")}))
	patchPod(t, worker1, ns, pod, `{"status": {"containerStatuses": [
		{"name": "main", "restartCount": 1, "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
		{"name": "sidecar", "state": {"running": {}}}]}}`)
	args := []string{"train", "-n", ns, "--contexts", management + "," + worker1}
	// kwok learns of it by a watch.
	assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		out, _, _ := run(t, append([]string{"logs"}, args...)...)
		return strings.Contains(out, "epoch 3"), nil
	}))
	lines := func(container string, words ...string) string {
		return pod + " " + container + " " + strings.Join(words, "\n"+pod+" "+container+" ") + "\n"
	}
	at := func(seconds int) string {
		return start.Add(time.Duration(seconds) * time.Second).UTC().Format("2006-01-02T15:04:05.000000000Z")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "epoch 1\nepoch 2\nepoch 3\n"},
		{[]string{"--tail", "1", "--prefix"}, lines("main", "epoch 3")},
		{[]string{"--since-time", start.Add(2 * time.Second).UTC().Format(time.RFC3339)}, "epoch 3\n"},
		{[]string{"--since", "30m"}, ""},
		{[]string{"--since", "3h", "--timestamps", "--tail", "1"}, at(2) + " epoch 3\n"},
		{[]string{"--previous"}, "epoch 0\nout of memory\n"},
		{[]string{"-c", "sidecar"}, "ready\n"},
		{[]string{"--all-containers"}, lines("main", "epoch 1", "epoch 2", "epoch 3") + lines("sidecar", "ready")},
	} {
		out, _ := logsOf(t, 0, append(c.args, args...)...)
		assert.Equal(t, out, c.want, "%v", c.args)
	}

	// Logs of another Job, on the other worker.
	origin(t, ns, "sweep", fixture.RunsFor("2h"))
	_, err := client(t, worker2).CoreV1().Namespaces().Create(t.Context(), namespaceNamed(ns), metav1.CreateOptions{})
	assert.NilError(t, err)
	_, stderr, code := run(t, "dispatch", "sweep", "-n", ns, "--context", management, "--to", worker2, "--detach-after-start")
	assert.Equal(t, code, 0, stderr)
	assert.NilError(t, podlogs.Append(file("sweep"), start, "trial 1"))
	assert.NilError(t, podlogs.OfNamespaces(t.Context(), dynamicClient(t, worker2), ns, []string{ns}, podlogs.Log{File: file("sweep")}))
	var out string
	err = poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		out, stderr, _ = run(t, "logs", "sweep", "-n", ns, healthy)
		return out == "trial 1\n", nil
	})
	assert.NilError(t, err, "%s%s", out, stderr)

	f := followsLogs(t, append([]string{"--tail", "1", "--all-containers"}, args...)...)
	f.expect("^" + pod + " main epoch 3$")
	for i := range 3 {
		line := fmt.Sprintf("epoch %d", 4+i)
		assert.NilError(t, podlogs.Append(file("main"), time.Now(), line))
		f.expect("^" + pod + " main " + line + "$")
	}
	assert.NilError(t, podlogs.Append(file("sidecar"), time.Now(), "uploaded"))
	f.expect("^" + pod + " sidecar uploaded$")
	// The pod ends, and so does the Job.
	assert.NilError(t, podlogs.Append(file("main"), time.Now(), "done"))
	patchPod(t, worker1, ns, pod, `{"status": {"phase": "Succeeded", "containerStatuses": [
		{"name": "main", "state": {"terminated": {"exitCode": 0}}},
		{"name": "sidecar", "state": {"terminated": {"exitCode": 0}}}]}}`)
	f.expect("^" + pod + " main done$")
	for range f.ch {
	}
	assert.NilError(t, f.cmd.Wait())
}
