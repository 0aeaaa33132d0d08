package clusters_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// crashIn, set to a directory, makes this test binary bring up a cluster there and panic, like a
// broken test.
const crashIn = "CLUSTERS_TEST_CRASH_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashIn); dir != "" {
		set, err := clusters.Up(context.Background(), config(dir, "doomed"))
		if err == nil {
			err = adoptSleeper(set)
		}
		if err != nil {
			panic(err)
		}
		panic("on purpose")
	}
	os.Exit(m.Run())
}

// adoptSleeper starts a program that does not end by itself, adopted by the clusters.
func adoptSleeper(set *clusters.Set) error {
	script := filepath.Join(set.Dir(), "sleeper")
	if err := os.WriteFile(script, []byte("while :; do sleep 1; done\n"), 0o644); err != nil {
		return err
	}
	sleeper := exec.CommandContext(context.Background(), "sh", script)
	if err := sleeper.Start(); err != nil {
		return err
	}
	_, err := set.Adopt("sleeper", sleeper.Process.Pid)
	return err
}

func config(dir string, names ...string) clusters.Config {
	return clusters.Config{Programs: "../../bin/clusters", Dir: dir, Names: names, Nodes: 2}
}

func TestUpServesEachClusterUnderItsName(t *testing.T) {
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "set")
	c := config(dir, "red", "blue")
	c.Stages = []byte(markNodes)
	set, err := clusters.Up(ctx, c)
	assert.NilError(t, err)
	t.Cleanup(func() {
		assert.NilError(t, set.Down())
		assertGone(t, dir)
	})

	uids := map[string]bool{}
	for _, name := range []string{"red", "blue"} {
		settings, err := set.Config(name)
		assert.NilError(t, err)
		client, err := kubernetes.NewForConfig(settings)
		assert.NilError(t, err)
		ns, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		assert.NilError(t, err)
		uids[string(ns.UID)] = true
		awaitNodes(t, client, 2)
		assert.NilError(t, set.Scale(ctx, name, 3))
		awaitNodes(t, client, 3)
	}
	assert.Equal(t, len(uids), 2, "both names lead to one cluster")
	t.Run("programs start again", func(t *testing.T) { programsStartAgain(t, set) })
}

// programsStartAgain stops programs often: a program that starts while the port of the old one is not
// yet free ends at once.
func programsStartAgain(t *testing.T, set *clusters.Set) {
	t.Helper()
	ctx := t.Context()
	settings, err := set.Config("red")
	assert.NilError(t, err)
	client, err := kubernetes.NewForConfig(settings)
	assert.NilError(t, err)
	for i := range 3 {
		assert.NilError(t, set.Stop(ctx, "red"))
		assert.NilError(t, set.Start(ctx, "red"))
		assert.NilError(t, set.StopControllers(ctx, "red"))
		assert.NilError(t, set.Start(ctx, "red"))
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("round-%d", i)}}
		_, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
		assert.NilError(t, err)
		// The controller manager creates it.
		assert.NilError(t, poll.Until(ctx, poll.Limit, func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
			return err == nil, client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		}), "no service account in %s", ns.Name)
	}
}

// markNodes is an additional stage, which shows in the nodes.
const markNodes = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: mark-nodes
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Running]}
    - {key: .status.nodeInfo.osImage, operator: NotIn, values: [marked]}
  next:
    statusTemplate: |
      nodeInfo: {osImage: marked}
`

// awaitNodes waits for that many nodes that are ready and marked.
func awaitNodes(t *testing.T, client kubernetes.Interface, n int) {
	t.Helper()
	marked := 0
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		marked = 0
		for i := range nodes.Items {
			status := nodes.Items[i].Status
			for _, c := range status.Conditions {
				if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && status.NodeInfo.OSImage == "marked" {
					marked++
				}
			}
		}
		return marked == n && len(nodes.Items) == n, nil
	})
	assert.NilError(t, err, "%d nodes are ready and marked, want %d", marked, n)
}

func TestNothingIsLeftAfterAPanic(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "set")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashIn+"="+dir)
	out, err := cmd.CombinedOutput()
	assert.ErrorContains(t, err, "exit status 2")
	assert.Assert(t, strings.Contains(string(out), "panic: on purpose"), "%s", out)
	assertGone(t, dir)
}

// assertGone waits until the directory and all processes that work in it are gone.
func assertGone(t *testing.T, dir string) {
	t.Helper()
	var left string
	err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := os.Stat(dir)
		out, psErr := exec.CommandContext(ctx, "ps", "-eo", "args").Output()
		left = ""
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, dir+"/") {
				left += line
			}
		}
		return os.IsNotExist(err) && left == "", psErr
	})
	assert.NilError(t, err, "%s still exists, or these processes:\n%s", dir, left)
}
