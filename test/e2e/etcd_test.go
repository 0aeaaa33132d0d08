package e2e

import (
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
)

// fills exceeds the quota of the etcd of a cluster until free is called or the test ends.
func fills(t *testing.T, cluster string) (free func()) {
	t.Helper()
	end, err := set.Fill(t.Context(), cluster)
	assert.NilError(t, err)
	free = sync.OnceFunc(func() { assert.NilError(t, end()) })
	t.Cleanup(free)
	return free
}

// TestDispatchWithoutSpace checks the case that a cluster whose etcd is full can be read, and
// stores nothing. A dispatch reports that, creates nothing partially, and continues when etcd has
// space again. The outage affects everything on both clusters, so this test runs alone.
func TestDispatchWithoutSpace(t *testing.T) {
	const ns = "dispatch-without-space"
	for _, name := range []string{"running", "late", "there"} {
		origin(t, ns, name, fixture.RunsFor("1h"))
	}
	saysSo := func(d *dispatching.Process, cluster string) {
		t.Helper()
		d.Until("an event about etcd", func(e dispatch.Event) bool {
			return e.Event == dispatch.Warned && contains(e.Message, cluster, "Its etcd is full", "makes space")
		})
	}
	ends := func(d *dispatching.Process, name string) {
		t.Helper()
		succeed(t, worker1, ns, runningPods(t, worker1, ns, name, 1)...)
		assert.Equal(t, d.End(), 0, d.Stderr.String())
		sameEnd(t, ns, name)
		assert.Assert(t, d.Count(dispatch.Warned) <= 3, "too many warnings: %v", d.Seen)
	}

	running := dispatches(t, ns, "running")
	running.Expect(dispatch.MirrorCreated, "running")
	eventuallyJob(t, management, ns, "running", isReady)
	free := fills(t, management)
	_, err := client(t, management).BatchV1().Jobs(ns).Create(t.Context(), fixture.New(ns, "refused"), metav1.CreateOptions{})
	assert.ErrorContains(t, err, "database space exceeded")
	assert.Equal(t, len(ls(t, "-n", ns, "--context", management)), 3)
	saysSo(running, management)
	// Its end cannot be stored.
	succeed(t, worker1, ns, runningPods(t, worker1, ns, "running", 1)...)
	eventuallyJob(t, worker1, ns, "running", func(j *batchv1.Job) bool { return j.Status.CompletionTime != nil })
	late := dispatches(t, ns, "late")
	saysSo(late, management)
	assert.Assert(t, jobOf(t, worker1, ns, "late") == nil, "a mirror was created without a Lease")
	assert.Assert(t, jobOf(t, management, ns, "running").Status.CompletionTime == nil)
	free()
	assert.Equal(t, running.End(), 0, running.Stderr.String())
	sameEnd(t, ns, "running")
	late.Expect(dispatch.MirrorCreated, "late")
	ends(late, "late")

	free = fills(t, worker1)
	there := dispatches(t, ns, "there")
	saysSo(there, worker1)
	assert.Assert(t, jobOf(t, worker1, ns, "there") == nil)
	free()
	there.Expect(dispatch.MirrorCreated, "there")
	ends(there, "there")
	noLeaseIsLeft(t, ns)
}
