package e2e

import (
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
)

func namespaceNamed(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// deletes removes a Job, with its Pods.
func deletes(t *testing.T, cluster, ns, name string) {
	t.Helper()
	policy := metav1.DeletePropagationBackground
	assert.NilError(t, client(t, cluster).BatchV1().Jobs(ns).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}

// started dispatches a Job that runs for an hour, and returns once it runs.
func started(t *testing.T, ns, name string) *dispatching.Process {
	t.Helper()
	origin(t, ns, name, fixture.RunsFor("1h"))
	d := dispatches(t, ns, name)
	eventuallyJob(t, management, ns, name, func(j *batchv1.Job) bool { return j.Status.Ready != nil && *j.Status.Ready == 1 })
	return d
}

func TestDispatchWhoseOriginIsDeleted(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-origin-deleted"
	d := started(t, ns, "train")
	deletes(t, management, ns, "train")
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	assert.Equal(t, d.Count(dispatch.MirrorRemoved), 1)
	eventuallyJob(t, worker1, ns, "train", isGone)
}

// TestDispatchWhoseOriginIsReplaced checks that the dispatch ignores another origin with the same
// name.
func TestDispatchWhoseOriginIsReplaced(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-origin-replaced"
	d := started(t, ns, "train")
	deletes(t, management, ns, "train")
	origin(t, ns, "train", fixture.RunsFor("1h"))
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	eventuallyJob(t, worker1, ns, "train", isGone)
	replaced := jobOf(t, management, ns, "train")
	assert.Equal(t, replaced.Status.Active, int32(0))
	assert.Assert(t, replaced.Status.StartTime == nil)
}

func TestDispatchWhoseNamespaceIsDeleted(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-ns-deleted"
	d := started(t, ns, "train")
	assert.NilError(t, client(t, management).CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}))
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	eventuallyJob(t, worker1, ns, "train", isGone)
}

// TestDispatchWhoseMirrorIsDeleted checks that the deletion is reported, and nothing is written to
// the origin. --new-mirror runs it again.
func TestDispatchWhoseMirrorIsDeleted(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-mirror-deleted"
	d := started(t, ns, "train")
	before := jobOf(t, management, ns, "train")
	deletes(t, worker1, ns, "train")
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	assert.Equal(t, d.Count(dispatch.MirrorDeleted), 1)
	assert.Assert(t, contains(d.Stderr.String(), "--new-mirror", "cancel"), d.Stderr.String())
	after := jobOf(t, management, ns, "train")
	assert.DeepEqual(t, after.Status, before.Status)

	// The same command alone does not run it again.
	d = dispatches(t, ns, "train")
	assert.Equal(t, d.End(), 1)
	assert.Equal(t, d.Count(dispatch.MirrorCreated), 0)
	assert.Assert(t, jobOf(t, worker1, ns, "train") == nil)

	d = dispatches(t, ns, "train", "--new-mirror")
	made := d.Expect(dispatch.MirrorCreated, "train")
	eventuallyJob(t, management, ns, "train", func(j *batchv1.Job) bool {
		return contains(j.Annotations[delegation.MirrorAnnotation], made.Mirror.UID)
	})
	deletes(t, management, ns, "train")
	assert.Equal(t, d.End(), 1)
	eventuallyJob(t, worker1, ns, "train", isGone)
}

func TestDispatchWhoseMirrorsNamespaceIsDeleted(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-mirror-ns-deleted"
	d := started(t, ns, "train")
	assert.NilError(t, client(t, worker1).CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}))
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	assert.Equal(t, d.Count(dispatch.MirrorDeleted), 1)
	// Its Pods may be deleted before it, but the origin still shows that there was a mirror.
	o := jobOf(t, management, ns, "train")
	assert.Assert(t, o.Status.StartTime != nil && len(o.Status.Conditions) == 0, "%+v", o.Status)
}

// TestDispatchWhoseMirrorIsReplaced checks that a Job that only has the name of the mirror is left
// alone, and its status is not copied.
func TestDispatchWhoseMirrorIsReplaced(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-mirror-replaced"
	d := started(t, ns, "train")
	deletes(t, worker1, ns, "train")
	createJobs(t, worker1, fixture.New(ns, "train"))
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	eventuallyJob(t, worker1, ns, "train", func(j *batchv1.Job) bool { return j.Status.Succeeded == 1 })
	assert.Equal(t, jobOf(t, management, ns, "train").Status.Succeeded, int32(0))

	// This also holds for a Job that existed before.
	origin(t, ns, "first", fixture.RunsFor("1h"))
	createJobs(t, worker1, fixture.New(ns, "first"))
	before := eventuallyJob(t, worker1, ns, "first", func(j *batchv1.Job) bool { return j.Status.CompletionTime != nil })
	d = dispatches(t, ns, "first")
	assert.Equal(t, d.End(), 1)
	after := jobOf(t, worker1, ns, "first")
	assert.Equal(t, after.ResourceVersion, before.ResourceVersion)
	assert.Equal(t, jobOf(t, management, ns, "first").Annotations[delegation.MirrorAnnotation], "")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-cancel"
	d := started(t, ns, "watched")
	out, stderr, code := run(t, "cancel", "--yes", "watched", "-n", ns, "--context", management, "--to", worker1)
	assert.Equal(t, code, 0, stderr)
	assert.Assert(t, contains(out, "watched"), out)
	assert.Equal(t, d.End(), 5, d.Stderr.String())
	eventuallyJob(t, worker1, ns, "watched", isGone)
	o := jobOf(t, management, ns, "watched")
	failed := o.Status.Conditions[len(o.Status.Conditions)-1]
	assert.Equal(t, failed.Type, batchv1.JobFailed)
	assert.Equal(t, failed.Reason, dispatch.CancelReason)
	assert.Equal(t, o.Status.Active, int32(0))

	// No dispatcher copies any more, and the mirror is found on any context.
	origin(t, ns, "left", fixture.RunsFor("1h"))
	d = dispatches(t, ns, "left", "--detach-after-start")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	_, stderr, code = run(t, "cancel", "--yes", "left", "-n", ns, "--context", management, healthyKubeconfig(t))
	assert.Equal(t, code, 0, stderr)
	eventuallyJob(t, worker1, ns, "left", isGone)

	// If the mirror cannot be reached, nothing is changed.
	origin(t, ns, "far", fixture.RunsFor("1h"))
	d = dispatches(t, ns, "far", "--detach-after-start")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	_, stderr, code = run(t, "cancel", "--yes", "far", "-n", ns, "--context", management, "--to", worker2)
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "the recorded place of its mirror, which no context is proven to reach", "Without --to"), stderr)
	assert.Equal(t, jobOf(t, management, ns, "far").Status.Active, int32(1))
	// None of the contexts reaches its cluster.
	elsewhere := append([]string{"cancel", "--yes", "far", "-n", ns, "--context", management}, kubeconfigOf(t, management, worker2))
	_, stderr, code = run(t, elsewhere...)
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "--abandon-mirror"), stderr)
	assert.Equal(t, jobOf(t, management, ns, "far").Status.Active, int32(1))
	_, stderr, code = run(t, "cancel", "--yes", "far", "-n", ns, "--context", management, "--abandon-mirror")
	assert.Equal(t, code, 0, stderr)
	assert.Equal(t, jobOf(t, management, ns, "far").Status.Active, int32(0))
	assert.Assert(t, jobOf(t, worker1, ns, "far") != nil)

	// A Job of another owner is not ended.
	createJobs(t, management, fixture.New(ns, "foreign", fixture.ManagedBy("example.com/x")))
	_, stderr, code = run(t, "cancel", "--yes", "foreign", "-n", ns, "--context", management, "--to", worker1)
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "example.com/x"), stderr)
}
