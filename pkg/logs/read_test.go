package logs_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

// readLogs reads the existing logs of a cluster.
func readLogs(t *testing.T, c *cluster, o logs.Options) (*call, error) {
	t.Helper()
	call := newCall(t, o)
	return call, call.reader.Read(t.Context(), []logs.Target{c.target()})
}

func TestReadInOrder(t *testing.T) {
	c := newCluster(t)
	var want []string
	for i := range 20 {
		// Pods are created in another order, and the first one of each index has failed.
		n := (i*7)%20 - 1
		name := fmt.Sprintf("train-%d", n)
		c.newPod(name+"-a", index(n))
		c.newPod(name+"-b", index(n))
		for _, pod := range []string{name + "-b", name + "-a"} {
			c.run(pod, "main")
			c.write(pod, "main", "of "+pod)
		}
	}
	for n := range 20 {
		want = append(want, fmt.Sprintf("train-%d-a/main", n-1), fmt.Sprintf("train-%d-b/main", n-1))
	}
	c.newPod("stranger", ofOtherJob)
	c.newPod("young")
	r, err := readLogs(t, c, all())
	assert.NilError(t, err)
	assert.DeepEqual(t, r.order, want)
	assert.Equal(t, r.text("train-3-b/main"), "of train-3-b")
	assert.Equal(t, len(r.expected), 40)
	assert.Equal(t, len(r.notes), 0, "%q", r.notes)
}

func TestReadOptions(t *testing.T) {
	c := newCluster(t)
	c.newPod("train-0", containers("main", "sidecar"))
	for _, container := range []string{"main", "sidecar"} {
		c.run("train-0", container)
		c.write("train-0", container, "one\n", "two of "+container+"\n")
	}
	c.exit("train-0", "sidecar")
	c.run("train-0", "sidecar")
	c.write("train-0", "sidecar", "again\n")
	note := `note: defaulted container "main" out of: main, sidecar. Choose another with -c, or all with --all-containers`
	for _, tt := range []struct {
		name    string
		options logs.Options
		main    string
		sidecar string
		notes   []string
		err     string
	}{
		{name: "default", options: all(), main: "one\ntwo of main\n", notes: []string{note}},
		{name: "tail", options: logs.Options{Tail: 1}, main: "two of main\n", notes: []string{note}},
		{name: "times", options: logs.Options{Tail: 1, Timestamps: true}, main: "2026-08-30T06:00:00.300000000Z two of main\n", notes: []string{note}},
		{name: "one", options: logs.Options{Tail: -1, Container: "sidecar"}, sidecar: "again\n"},
		{name: "all", options: logs.Options{Tail: 1, AllContainers: true}, main: "two of main\n", sidecar: "again\n"},
		{name: "previous", options: logs.Options{Tail: -1, AllContainers: true, Previous: true}, sidecar: "one\ntwo of sidecar\n"},
		{name: "no such container", options: logs.Options{Tail: -1, Container: "mian"}, err: `no Pod has a container "mian"`},
		{name: "none before", options: logs.Options{Tail: -1, Container: "main", Previous: true}, err: "no container was restarted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := readLogs(t, c, tt.options)
			if tt.err != "" {
				assert.ErrorContains(t, err, tt.err)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, r.text(main0), tt.main)
			assert.Equal(t, r.text("train-0/sidecar"), tt.sidecar)
			assert.DeepEqual(t, r.notes, tt.notes)
		})
	}
	c.update("train-0", func(p *corev1.Pod) {
		p.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "sidecar"}
	})
	r, err := readLogs(t, c, all())
	assert.NilError(t, err)
	assert.Equal(t, r.text("train-0/sidecar"), "again\n")
}

// TestReadSteps reads all steps of a Tekton TaskRun, and no other container.
func TestReadSteps(t *testing.T) {
	c := newCluster(t)
	names := []string{"step-fetch", "step-build", "sidecar-proxy"}
	c.newPod("train-pod", containers(names...))
	c.update("train-pod", func(p *corev1.Pod) { p.Labels = map[string]string{"tekton.dev/taskRun": "train"} })
	for _, name := range names {
		c.run("train-pod", name)
		c.write("train-pod", name, "of "+name+"\n")
	}
	call := newCall(t, all())
	target := logs.Target{Client: c.client, Job: &inspect.Job{APIVersion: "tekton.dev/v1", Kind: "TaskRun", Name: "train", Context: "worker", Namespace: "ml"}}
	assert.NilError(t, call.reader.Read(t.Context(), []logs.Target{target}))
	assert.DeepEqual(t, call.order, []string{"train-pod/step-fetch", "train-pod/step-build"})
	assert.Equal(t, len(call.notes), 0, "%q", call.notes)
}

func TestReadWithoutPods(t *testing.T) {
	c := newCluster(t)
	_, err := readLogs(t, c, all())
	assert.ErrorIs(t, err, logs.ErrNoPods)
	c.newPod("train-0")
	c.update("train-0", func(p *corev1.Pod) {
		statusIn(p, "main").State.Waiting = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}
	})
	r, err := readLogs(t, c, all())
	assert.Error(t, err, "no output yet: container main of Pod train-0 has not started")
	assert.DeepEqual(t, r.notes, []string{"note: container main of Pod train-0 waits: ImagePullBackOff"})

	// A Pod whose log is not available does not affect the others.
	for _, name := range []string{"train-1", "train-2"} {
		c.newPod(name)
		c.run(name, "main")
		c.write(name, "main", "of "+name+"\n")
	}
	c.change(func() { delete(c.logs, "train-1/main") })
	r, err = readLogs(t, c, all())
	assert.Error(t, err, "1 of 2 logs were not read completely")
	assert.Equal(t, r.text("train-2/main"), "of train-2\n")
	assert.Equal(t, r.notes[1], "error: context \"worker\": cannot read the log of container main of Pod train-1: there is no such container")
}

// TestReadAfterBrokenConnection checks that a log that breaks off is requested again.
func TestReadAfterBrokenConnection(t *testing.T) {
	c := newCluster(t)
	c.newPod("train-0")
	c.run("train-0", "main")
	c.write("train-0", "main", "one\n", "two\n")
	c.change(func() { c.breakOff = 1 })
	call := newCall(t, all())
	done := make(chan error, 1)
	go func() { done <- call.reader.Read(t.Context(), []logs.Target{c.target()}) }()
	call.step(1e9)
	assert.NilError(t, <-done)
	assert.Equal(t, call.text(main0), "one\ntwo\n")
	assert.Equal(t, len(c.asked), 2)
}

// TestPodsOfOtherKinds finds Pods by the label of their kind, by their controller, or as the
// object itself.
func TestPodsOfOtherKinds(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{"train-0", "lonely"} {
		c.newPod(name, ofOtherJob, func(p *corev1.Pod) { p.OwnerReferences[0].Name = "other" })
		c.run(name, "main")
		c.write(name, "main", "of "+name+"\n")
	}
	c.update("train-0", func(p *corev1.Pod) { p.Labels = map[string]string{"ray.io/cluster": "train-x7f2k"} })
	c.newPod("submitter", func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "job", Controller: new(true)}}
	})
	c.run("submitter", "main")
	c.write("submitter", "main", "of submitter\n")
	for _, tt := range []struct {
		name string
		job  inspect.Job
		want []string
	}{
		{"by label, and of its submitter", inspect.Job{APIVersion: "ray.io/v1", Kind: "RayJob", Name: "train", PodValue: "train-x7f2k"}, []string{main0, "submitter/main"}},
		{"of its submitter alone", inspect.Job{APIVersion: "ray.io/v1", Kind: "RayJob", Name: "train"}, []string{"submitter/main"}},
		{"by label", inspect.Job{APIVersion: "ray.io/v1", Kind: "RayCluster", Name: "train-x7f2k"}, []string{main0}},
		{"by controller", inspect.Job{APIVersion: "apps/v1", Kind: "StatefulSet", UID: "another"}, []string{main0, "lonely/main"}},
		{"itself", inspect.Job{APIVersion: "v1", Kind: "Pod", Name: "lonely", UID: "uid-of-lonely"}, []string{"lonely/main"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call := newCall(t, all())
			tt.job.Context, tt.job.Namespace = "worker", "ml"
			assert.NilError(t, call.reader.Read(t.Context(), []logs.Target{{Job: &tt.job, Client: c.client}}))
			var got []string
			for _, container := range []string{main0, "lonely/main", "submitter/main"} {
				if call.text(container) != "" {
					got = append(got, container)
				}
			}
			assert.DeepEqual(t, got, tt.want)
		})
	}
}
