package e2e

import (
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
)

// TestKilledBeforePin checks the case that a dispatcher dies after it has created a mirror and
// before the origin names the mirror. The Lease names the place, so no other worker gets a second
// mirror.
func TestKilledBeforePin(t *testing.T) {
	t.Parallel()
	const ns = "intent"
	namespaces(t, ns, worker2)
	origin(t, ns, "train", fixture.RunsFor("1h"))
	proxy := newFaulty(t, management)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	behindFaults(t, kubeconfig, map[string]*faulty{management: proxy})
	started := make(chan *dispatching.Process, 1)
	proxy.pins.arm("train", func() { (<-started).Signal(syscall.SIGKILL) })
	first := dispatches(t, ns, "train", "--kubeconfig", kubeconfig)
	started <- first
	made := first.Expect(dispatch.MirrorCreated, "train")
	first.End()
	assert.Equal(t, jobOf(t, management, ns, "train").Annotations[delegation.MirrorAnnotation], "")
	assert.Assert(t, leaseNow(t, ns, "train").Annotations[delegation.TargetAnnotation] != "")

	shorten(t, ns, "train")
	_, stderr, code := run(t, "dispatch", "train", "-n", ns, "--context", management, "--to", worker2, healthyKubeconfig(t))
	assert.Equal(t, code, 1, stderr)
	assert.Assert(t, contains(stderr, "is already dispatched to "+ns+"/train on worker-1. Resume it with --to worker-1"), stderr)
	_, stderr, code = run(t, "dispatch", "train", "-n", ns, "--context", management, "--to", worker2, kubeconfigOf(t, management, worker2))
	assert.Equal(t, code, 1, stderr)
	assert.Assert(t, contains(stderr, "No context reaches that cluster"), stderr)
	_, stderr, code = run(t, "cancel", "--yes", "train", "-n", ns, "--context", management, kubeconfigOf(t, management, worker2))
	assert.Equal(t, code, 1, stderr)
	assert.Assert(t, contains(stderr, "nothing was changed", "which no context is proven to reach"), stderr)
	assert.Assert(t, jobOf(t, worker2, ns, "train") == nil)

	again := dispatches(t, ns, "train")
	assert.Equal(t, again.Expect(dispatch.MirrorFound, "train").Mirror.UID, made.Mirror.UID)
	eventuallyJob(t, management, ns, "train", isReady)
	again.Signal(syscall.SIGINT)
	assert.Equal(t, again.End(), 130, again.Stderr.String())

	// A context that does not answer may hide a mirror: cancel changes nothing, and says how to
	// continue.
	_, stderr, code = run(t, "cancel", "--yes", "train", "-n", ns, "--context", management, kubeconfigOf(t, management, worker1, "dead"))
	assert.Equal(t, code, 1, stderr)
	assert.Assert(t, contains(stderr, "Not searched: context dead", "to search these contexts only: kubectl jobs-managedby cancel train -n "+ns+" --context management --to worker-1"), stderr)
	succeeds(t, "cancel", "--yes", "train", "-n", ns, "--context", management, "--to", worker1)
	eventuallyJob(t, worker1, ns, "train", isGone)
}

// TestCopyOfADispatchedJob checks that a copy (kubectl get -o yaml, another name, kubectl create)
// runs by itself, and cancel of it leaves the first Job's mirror alone.
func TestCopyOfADispatchedJob(t *testing.T) {
	t.Parallel()
	const ns = "copied"
	origin(t, ns, "first", fixture.RunsFor("1h"))
	d := dispatches(t, ns, "first", "--detach-after-start")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	first := jobOf(t, worker1, ns, "first")
	marks := func(mark string) string {
		return jobOf(t, management, ns, mark).Annotations[delegation.MirrorAnnotation]
	}
	copied := fixture.New(ns, "second", fixture.ManagedBy(string(delegation.Dispatch)), fixture.RunsFor("1h"))
	copied.Annotations = map[string]string{delegation.MirrorAnnotation: marks("first")}
	createJobs(t, management, copied)
	_, stderr := succeeds(t, "dispatch", "second", "-n", ns, "--context", management, "--to", worker1, "--detach-after-start", healthyKubeconfig(t))
	assert.Assert(t, contains(stderr, "names the mirror of another Job; ignored"), stderr)
	assert.Assert(t, marks("second") != marks("first"))
	exported := jobOf(t, management, ns, "first")
	exported.Name, exported.Spec.Selector, exported.Spec.Template.Labels = "exported", nil, nil
	succeeds(t, "dispatch", "-f", manifest(t, exported), "-n", ns, "--context", management, "--to", worker1, "--detach-after-start", healthyKubeconfig(t))
	assert.Assert(t, marks("exported") != marks("first"))
	createJobs(t, management, fixture.New(ns, "third", fixture.ManagedBy(string(delegation.Dispatch))))
	change(t, management, ns, "third", `{"metadata":{"annotations":{"`+delegation.MirrorAnnotation+`":"`+marks("first")+`"}}}`)
	succeeds(t, "cancel", "--yes", "third", "-n", ns, "--context", management, healthyKubeconfig(t))
	assert.Equal(t, jobOf(t, worker1, ns, "first").UID, first.UID)
	assert.Assert(t, jobOf(t, worker1, ns, "first").DeletionTimestamp == nil)
}
