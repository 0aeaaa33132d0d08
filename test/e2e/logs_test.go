package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// kubelet serves the logs of the Pods of a cluster to its API server, which finds it by the
// addresses of the nodes. kwok does the rest of the work of a kubelet.
type kubelet struct {
	t       *testing.T
	cluster string

	mu      sync.Mutex
	changed chan struct{}
	// logs are the lines of Pods, by name, each written one second after the other.
	logs map[string][]string
	// ended are Pods that write nothing more; cuts counts how often all connections were closed.
	ended map[string]bool
	cuts  int
}

// players are the kubelets of all tests, by cluster and namespace.
var players sync.Map

// playKubelet redirects the nodes of a cluster to a kubelet of each test, for its namespace.
func playKubelet(t *testing.T, cluster, ns string) *kubelet {
	t.Helper()
	k := &kubelet{t: t, cluster: cluster, changed: make(chan struct{}), logs: map[string][]string{}, ended: map[string]bool{}}
	players.Store(cluster+"/"+ns, k)
	t.Cleanup(func() { players.Delete(cluster + "/" + ns) })
	kubelets[cluster].enter(t, "the tests'", func() func() { return redirectNodes(t, cluster) })
	t.Cleanup(k.cut)
	return k
}

// redirectNodes redirects the nodes of a cluster to the tests' kubelets; undo reverts that.
func redirectNodes(t *testing.T, cluster string) (undo func()) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		player, ok := players.Load(cluster + "/" + r.PathValue("namespace"))
		if !ok {
			http.NotFound(w, r)
			return
		}
		k, _ := player.(*kubelet)
		k.serve(w, r)
	})
	server := httptest.NewTLSServer(mux)
	address, err := url.Parse(server.URL)
	assert.NilError(t, err)
	patch := fmt.Appendf(nil, `{"status": {"addresses": [{"type": "InternalIP", "address": %q}], "daemonEndpoints": {"kubeletEndpoint": {"Port": %s}}}}`, address.Hostname(), address.Port())
	nodes := client(t, cluster).CoreV1().Nodes()
	var list *corev1.NodeList
	// kwok initializes the status of new nodes, and would overwrite an earlier change.
	err = poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		list, err = nodes.List(ctx, metav1.ListOptions{})
		isNew := func(n corev1.Node) bool {
			return n.Status.DaemonEndpoints.KubeletEndpoint.Port == 0 || len(n.Status.Addresses) == 0 || len(n.Status.Conditions) == 0
		}
		return err == nil && !slices.ContainsFunc(list.Items, isNew), err
	})
	assert.NilError(t, err)
	for _, n := range list.Items {
		_, err := nodes.Patch(t.Context(), n.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		assert.NilError(t, err)
	}
	return func() {
		for _, n := range list.Items {
			back, err := json.Marshal(map[string]any{"status": map[string]any{"addresses": n.Status.Addresses, "daemonEndpoints": n.Status.DaemonEndpoints}})
			if err == nil {
				_, err = nodes.Patch(context.Background(), n.Name, types.MergePatchType, back, metav1.PatchOptions{}, "status")
			}
			if err != nil {
				panic(err)
			}
		}
		server.CloseClientConnections()
		server.Close()
	}
}

func (k *kubelet) change(do func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do()
	close(k.changed)
	k.changed = make(chan struct{})
}

// write adds lines to the log of a Pod.
func (k *kubelet) write(pod string, lines ...string) {
	k.change(func() { k.logs[pod] = append(k.logs[pod], lines...) })
}

// cut closes all connections.
func (k *kubelet) cut() { k.change(func() { k.cuts++ }) }

// succeed ends Pods with success.
func (k *kubelet) succeed(ns string, pods ...string) {
	k.t.Helper()
	for _, pod := range pods {
		k.change(func() { k.ended[pod] = true })
		succeed(k.t, k.cluster, ns, pod)
	}
}

func (k *kubelet) pods(ns, job string, n int) []string {
	k.t.Helper()
	return runningPods(k.t, k.cluster, ns, job, n)
}

// serve serves a log like a kubelet.
func (k *kubelet) serve(w http.ResponseWriter, r *http.Request) {
	q, pod := r.URL.Query(), r.PathValue("pod")
	since, _ := time.Parse(time.RFC3339, q.Get("sinceTime"))
	k.mu.Lock()
	sent, cuts := 0, k.cuts
	if tail, err := strconv.Atoi(q.Get("tailLines")); err == nil {
		sent = max(0, len(k.logs[pod])-tail)
	}
	k.mu.Unlock()
	for {
		k.mu.Lock()
		lines, isEnded, isCut, changed := slices.Clone(k.logs[pod]), k.ended[pod], k.cuts > cuts, k.changed
		k.mu.Unlock()
		for ; sent < len(lines); sent++ {
			if at := time.Date(2026, 8, 30, 6, 0, sent, 0, time.UTC); !at.Before(since) {
				fmt.Fprintf(w, "%s %s", at.Format("2006-01-02T15:04:05.000000000Z07:00"), lines[sent])
			}
		}
		if isCut {
			panic(http.ErrAbortHandler)
		}
		if isEnded || q.Get("follow") != "true" {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}

// logsOf runs logs and returns its output and its error output.
func logsOf(t *testing.T, code int, args ...string) (out, errOut string) {
	t.Helper()
	cmd := command(t, append([]string{"jobs-managedby", "logs"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	assert.Equal(t, cmd.ProcessState.ExitCode(), code, "%s%s", &stdout, &stderr)
	return stdout.String(), stderr.String()
}

// followsLogs starts logs -f. Messages appear between the lines.
func followsLogs(t *testing.T, args ...string) *lines {
	t.Helper()
	cmd := command(t, append([]string{"jobs-managedby", "logs", "-f"}, args...)...)
	out, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	cmd.Stderr = cmd.Stdout
	assert.NilError(t, cmd.Start())
	l := &lines{t: t, cmd: cmd, ch: make(chan string, 1000)}
	go l.read(out)
	return l
}

// ends waits until the command ends, with this last line.
func (l *lines) ends(last string) {
	l.t.Helper()
	l.expect("^" + last + "$")
	for line := range l.ch {
		l.t.Errorf("unexpected line: %s", line)
	}
	assert.NilError(l.t, l.cmd.Wait())
}

func TestLogsFindTheCluster(t *testing.T) {
	const ns = "logs"
	sharesKueue(t, ns)
	playKubelet(t, management, ns)
	one := playKubelet(t, worker1, ns)
	indexed := func(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.IndexedCompletion) }
	createJobs(t, management, submitted(ns, "done"))
	one.succeed(ns, one.pods(ns, "done", 1)...)
	waitFinished(t, management, ns, "done")
	createJobs(t, management, submitted(ns, "train", fixture.Pods(2), indexed))
	waitReady(t, management, ns, "train", 2)
	createJobs(t, management, submitted(ns, "sweep", fixture.Pods(3)))
	createJobs(t, management, fixture.New(ns, "alone", fixture.RunsFor("2h")))
	createJobs(t, management, fixture.New(ns, "twice", fixture.RunsFor("2h")))
	createJobs(t, worker2, fixture.New(ns, "twice", fixture.RunsFor("2h")))
	pods := one.pods(ns, "train", 2)
	for i, pod := range pods {
		one.write(pod, fmt.Sprintf("epoch 1 of %d\n", i), "epoch 2 \x1b[1m\xff")
	}
	want := fmt.Sprintf("%[1]s main epoch 1 of 0\n%[1]s main epoch 2 \x1b[1m\xff\n%[2]s main epoch 1 of 1\n%[2]s main epoch 2 \x1b[1m\xff", pods[0], pods[1])

	t.Run("of the mirror", func(t *testing.T) {
		out, errOut := logsOf(t, 0, "train", "-n", ns, healthy)
		assert.Equal(t, out, want)
		assert.Equal(t, errOut, "note: reading the Pods of job logs/train on worker-1; its origin is on management\n")
		out, errOut = logsOf(t, 0, "job/train", "-n", ns, "--context", worker1)
		assert.Equal(t, out, want)
		assert.Equal(t, errOut, "")
	})
	t.Run("limited", func(t *testing.T) {
		out, _ := logsOf(t, 0, "train", "-n", ns, "--context", worker1, "--tail", "1", "--timestamps", "--prefix=false")
		assert.Equal(t, out, "2026-08-30T06:00:01.000000000Z epoch 2 \x1b[1m\xff\n2026-08-30T06:00:01.000000000Z epoch 2 \x1b[1m\xff")
		out, _ = logsOf(t, 0, "train", "-n", ns, "--context", worker1, "--since-time", "2026-08-30T06:00:02Z")
		assert.Equal(t, out, "")
	})
	t.Run("in color", func(t *testing.T) {
		out, _ := logsOf(t, 0, "train", "-n", ns, "--context", worker1, "--tail", "1", "--color", "always")
		for _, pod := range pods {
			assert.Assert(t, strings.Contains(out, "m"+pod+" main\x1b[m epoch 2"), "%q", out)
		}
	})
	t.Run("no worker", func(t *testing.T) {
		const want = "error: no logs of sweep: no worker admits it. worker-1: needs 3 nvidia.com/gpu, limit 2 (flavor a100); worker-2: needs 3 nvidia.com/gpu, limit 0 (flavor a100)\n"
		last := ""
		// Kueue first has to copy the Workload to the workers, and to judge it there.
		err := poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
			_, last = logsOf(t, 1, "sweep", "-n", ns, healthy)
			return last == want, nil
		})
		assert.NilError(t, err, "%s", last)
	})
	t.Run("not delegated", func(t *testing.T) {
		runningPods(t, management, ns, "alone", 1)
		_, errOut := logsOf(t, 0, "alone", "-n", ns, healthy)
		assert.Equal(t, errOut, "")
	})
	t.Run("ambiguous name", func(t *testing.T) {
		_, errOut := logsOf(t, 1, "twice", "-n", ns, healthy)
		assert.Equal(t, errOut, "error: twice names several unrelated Jobs: namespace logs in context \"management\", namespace logs in context \"worker-2\". Choose one with --context\n")
	})
	t.Run("not found", func(t *testing.T) {
		_, errOut := logsOf(t, 1, "nobody", "-n", ns, healthy)
		assert.Equal(t, errOut, "error: job \"nobody\" not found in namespace \"logs\" of contexts management, worker-1, worker-2; no other namespace has one; for another kind write KIND/NAME, such as jobset/nobody\n")
	})
	t.Run("removed by MultiKueue", func(t *testing.T) {
		waitGone(t, worker1, ns, "done")
		for _, follow := range []string{"-f=false", "-f"} {
			_, errOut := logsOf(t, 1, "done", "-n", ns, healthy, follow)
			assert.Equal(t, errOut, "error: no logs of done: it has ended (Complete); MultiKueue deletes a mirror as soon as it finishes, with its logs\n")
		}
	})
}

// TestLogsFollow checks that logs -f follows from before the Pods exist, over closed connections
// and on another cluster, to the end.
func TestLogsFollow(t *testing.T) {
	const ns = "logs-follow"
	sharesKueue(t, ns)
	one, two := playKubelet(t, worker1, ns), playKubelet(t, worker2, ns)
	createJobs(t, management, submitted(ns, "train"))
	l := followsLogs(t, "train", "-n", ns, healthy)
	l.expect("^note: waiting for Pods: no worker admits it. worker-1, worker-2: needs 1 nvidia.com/gpu, limit 0")
	setQuota(t, worker1, ns, "1")
	l.expect("^note: reading the Pods of job logs-follow/train on worker-1; its origin is on management$")
	pod := one.pods(ns, "train", 1)[0]
	one.write(pod, "first\n", "second\n")
	l.expect("^second$")
	one.cut()
	one.write(pod, "third\n")
	assert.DeepEqual(t, l.expect("^third$"), []string(nil))

	// It is evicted there, and the other worker gets it.
	one.change(func() { one.ended[pod] = true })
	setQuota(t, worker2, ns, "1")
	shell(t, "kubectl --context "+worker1+" patch clusterqueues.kueue.x-k8s.io "+ns+` --type merge -p '{"spec":{"stopPolicy":"HoldAndDrain"}}'`)
	waitGone(t, worker1, ns, "train")
	l.expect("^note: reading the Pods of job logs-follow/train on worker-2; its origin is on management$")
	again := two.pods(ns, "train", 1)[0]
	two.write(again, "once more\n")
	l.expect("^worker-2 " + again + " main once more$")
	two.write(again, "done\n")
	two.succeed(ns, again)
	waitFinished(t, management, ns, "train")
	l.expect("^worker-2 " + again + " main done$")
	l.ends("note: job logs-follow/train has ended: Complete( on worker-2)?")
}

func TestLogsFollowRetries(t *testing.T) {
	t.Parallel()
	const ns = "logs-retries"
	k := playKubelet(t, management, ns)
	createJobs(t, management, fixture.New(ns, "flaky", fixture.RunsFor("2h")))
	first := k.pods(ns, "flaky", 1)[0]
	k.write(first, "fails\n")
	l := followsLogs(t, "flaky", "-n", ns, healthy)
	l.expect("^fails$")
	k.change(func() { k.ended[first] = true })
	_, err := client(t, management).CoreV1().Pods(ns).Patch(t.Context(), first, types.StrategicMergePatchType,
		[]byte(`{"status": {"phase": "Failed", "containerStatuses": [{"name": "main", "state": {"running": null, "terminated": {"exitCode": 1}}}]}}`), metav1.PatchOptions{}, "status")
	assert.NilError(t, err)
	second := k.pods(ns, "flaky", 1)[0]
	k.write(second, "works\n")
	l.expect("^" + second + " main works$")
	assert.Equal(t, l.interrupt(), 130)
}

// TestLogsFollowOverARestart checks that logs -f continues after the API server restarts.
func TestLogsFollowOverARestart(t *testing.T) {
	const ns = "logs-restart"
	k := playKubelet(t, worker2, ns)
	createJobs(t, worker2, fixture.New(ns, "steady", fixture.RunsFor("2h")))
	pod := k.pods(ns, "steady", 1)[0]
	l := followsLogs(t, "steady", "-n", ns, "--context", worker2)
	k.write(pod, "before\n")
	l.expect("^before$")
	assert.NilError(t, set.Stop(t.Context(), worker2))
	k.write(pod, "meanwhile\n")
	before := l.expect("^note: context \"worker-2\" does not answer; trying again: .*connection refused")
	assert.Equal(t, len(before), 0, "%q", before)
	assert.NilError(t, set.Start(t.Context(), worker2))
	k.write(pod, "after\n")
	lines := l.expect("^after$")
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "note: context worker-2 answers again" })
	assert.DeepEqual(t, lines, []string{"meanwhile"})
	k.succeed(ns, pod)
	l.ends("note: job logs-restart/steady has ended: Complete")
}

// TestLogsReportWhatCouldNotBeRead checks that the other clusters are read although one is down.
func TestLogsReportWhatCouldNotBeRead(t *testing.T) {
	t.Parallel()
	const ns = "logs-partial"
	k := playKubelet(t, worker1, ns)
	createJobs(t, management, fixture.New(ns, "train", fixture.ManagedBy("flows.example.com/runner")))
	createJobs(t, worker1, fixture.New(ns, "train", fixture.RunsFor("2h")))
	pod := k.pods(ns, "train", 1)[0]
	k.write(pod, "one\n")
	out, errOut := logsOf(t, 0, "train", "-n", ns, "--contexts", "management,worker-1,dead")
	assert.Equal(t, out, "one\n")
	assert.Assert(t, contains(errOut, "note: context \"dead\": cannot reach the cluster", "note: reading the Pods of job logs-partial/train on worker-1") && !contains(errOut, "error:"), errOut)
	_, errOut = logsOf(t, 1, "train", "-n", ns, "--contexts", "management,dead")
	assert.Assert(t, contains(errOut, "error: no logs of train: no sign of controller flows.example.com/runner"), errOut)
}

func waitFinished(t *testing.T, cluster, ns, name string) {
	t.Helper()
	err := poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		j, err := client(t, cluster).BatchV1().Jobs(ns).Get(ctx, name, metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		}), err
	})
	assert.NilError(t, err)
}

// waitGone waits until a Job and its Pods are deleted.
func waitGone(t *testing.T, cluster, ns, name string) {
	t.Helper()
	err := poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		selected := metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + name}
		pods, err := client(t, cluster).CoreV1().Pods(ns).List(ctx, selected)
		if err != nil || len(pods.Items) > 0 {
			return false, err
		}
		jobs, err := client(t, cluster).BatchV1().Jobs(ns).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		return err == nil && len(jobs.Items) == 0, err
	})
	assert.NilError(t, err)
}
