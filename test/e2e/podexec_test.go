package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// played configures kwok for all Pods of a namespace.
func played(t *testing.T, cluster, kind, plural, ns string, spec map[string]any) {
	t.Helper()
	spec["selector"] = map[string]any{"matchNamespaces": []any{ns}}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": map[string]any{"name": ns}, "spec": spec,
	}}
	resource := schema.GroupVersionResource{Group: "kwok.x-k8s.io", Version: "v1alpha1", Resource: plural}
	_, err := dynamicClient(t, cluster).Resource(resource).Create(t.Context(), o, metav1.CreateOptions{})
	assert.NilError(t, err)
}

// TestExec runs commands in the Pods of a dispatched Job, through a real API server, on the cluster
// that runs it. It refuses, with a reason, if no Pod runs.
func TestExec(t *testing.T) {
	t.Parallel()
	kubelets[worker1].enter(t, "kwok's", nil)
	const ns = "pod-exec"
	origin(t, ns, "train", fixture.Pods(2), fixture.RunsFor("2h"))
	contexts := []string{"-n", ns, "--contexts", management + "," + worker1}
	in := func(args ...string) (string, string, int) {
		return run(t, append(append([]string{"exec"}, contexts...), args...)...)
	}
	_, stderr, code := in("train", "--pod-running-timeout", "1s", "--", "true")
	assert.Equal(t, code, 1, stderr)
	assert.Assert(t, contains(stderr, "train has no running Pod: it was not dispatched to a cluster"), stderr)

	d := dispatches(t, ns, "train", "--detach-after-start")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	played(t, worker1, "ClusterExec", "clusterexecs", ns, map[string]any{"execs": []any{map[string]any{"local": map[string]any{}}}})
	pods := runningPods(t, worker1, ns, "train", 2)
	// kwok learns of it by a watch.
	var out string
	assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		out, stderr, code = in("train", "--", "echo", "in", "-n", "a pod")
		return code == 0, nil
	}), "%s", &stderr)
	assert.Equal(t, out, "in -n a pod\n")
	assert.Assert(t, contains(stderr, "note: using Pod "+pods[0]+" on worker-1, one of 2. Choose another with --pod"), stderr)

	// Standard input is forwarded. A command must not wait for its end: kwok closes no pipe
	// (pkg/utils/exec of v0.8.0), not with kubectl exec either.
	piped := command(t, append(append([]string{"jobs-managedby", "exec"}, contexts...), "-i", "train", "--", "head", "-n", "1")...)
	piped.Stdin = strings.NewReader("from here\nand more\n")
	text, err := piped.Output()
	assert.NilError(t, err)
	assert.Equal(t, string(text), "from here\n")

	out, stderr, code = in("train", "--pod", pods[1], "-q", "--", "sh", "-c", "echo bad >&2; exit 7")
	// kwok turns an exit code into an error instead of a status.
	assert.Equal(t, code, 1, stderr)
	assert.Assert(t, out == "" && contains(stderr, "exit status 7") && contains(stderr, "bad\n") && !contains(stderr, "note:"), stderr)
	_, stderr, code = in("train", "--pod", "another", "--", "true")
	assert.Equal(t, code, 1, stderr)
	assert.Assert(t, contains(stderr, `Pod "another" is not a running Pod of job `+ns+`/train. Running: `+strings.Join(pods, ", ")), stderr)
}

// TestPortForward forwards a port to a Pod of a dispatched Job, and ends on a signal.
func TestPortForward(t *testing.T) {
	t.Parallel()
	kubelets[worker1].enter(t, "kwok's", nil)
	const ns = "pod-forward"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "from the pod") }))
	t.Cleanup(server.Close)
	_, text, err := net.SplitHostPort(server.Listener.Addr().String())
	assert.NilError(t, err)
	port, err := strconv.ParseInt(text, 10, 64)
	assert.NilError(t, err)
	origin(t, ns, "train", fixture.RunsFor("2h"))
	d := dispatches(t, ns, "train", "--detach-after-start")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	played(t, worker1, "ClusterPortForward", "clusterportforwards", ns, map[string]any{"forwards": []any{
		map[string]any{"ports": []any{int64(80)}, "target": map[string]any{"address": "127.0.0.1", "port": port}},
	}})
	runningPods(t, worker1, ns, "train", 1)

	cmd := command(t, "jobs-managedby", "port-forward", "train", ":80", "-n", ns, "--contexts", management+","+worker1, "--address", "127.0.0.1")
	stdout, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	assert.NilError(t, err)
	local, _, ok := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " -> 80")
	assert.Assert(t, ok, line)
	// kwok learns of it by a watch.
	var got string
	assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+local, http.NoBody)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil
		}
		defer func() { _ = answer.Body.Close() }()
		body, _ := io.ReadAll(answer.Body)
		got = string(body)
		return got == "from the pod", nil
	}), "%s", &got)
	assert.NilError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	assert.Equal(t, cmd.ProcessState.ExitCode(), 130)
}
