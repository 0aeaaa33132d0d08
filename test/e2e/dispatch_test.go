package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// dispatches starts a dispatch from management to worker-1. Args may contain another kubeconfig.
func dispatches(t *testing.T, ns string, args ...string) *dispatching.Process {
	t.Helper()
	return dispatchesTo(t, worker1, ns, args...)
}

// dispatchesTo is dispatches for any worker.
func dispatchesTo(t *testing.T, worker, ns string, args ...string) *dispatching.Process {
	t.Helper()
	return dispatchesBetween(t, management, worker, ns, args...)
}

// dispatchesBetween is dispatches for any clusters.
func dispatchesBetween(t *testing.T, from, to, ns string, args ...string) *dispatching.Process {
	t.Helper()
	all := append([]string{"jobs-managedby", "dispatch", "--context", from, "--to", to, "-n", ns, "-o", "json"}, args...)
	return dispatching.Start(t, command(t, all...))
}

// origin creates a Job that is delegated to dispatch, and its namespace on both clusters.
func origin(t *testing.T, ns, name string, options ...fixture.Option) {
	t.Helper()
	namespaces(t, ns)
	createJobs(t, management, fixture.New(ns, name, append(options, fixture.ManagedBy(string(delegation.Dispatch)))...))
}

// namespaces creates a namespace on the clusters of a dispatch, and on others.
func namespaces(t *testing.T, ns string, others ...string) {
	t.Helper()
	for _, cluster := range append([]string{management, worker1}, others...) {
		_, err := client(t, cluster).CoreV1().Namespaces().Create(t.Context(), namespaceNamed(ns), metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			assert.NilError(t, err)
			settled(t, cluster, ns)
		}
	}
}

// jobOf returns a Job, nil if it does not exist.
func jobOf(t *testing.T, cluster, ns, name string) *batchv1.Job {
	t.Helper()
	job, err := client(t, cluster).BatchV1().Jobs(ns).Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	assert.NilError(t, err)
	return job
}

// eventuallyJob waits until a Job meets a condition. The Job is nil if it does not exist.
func eventuallyJob(t *testing.T, cluster, ns, name string, is func(*batchv1.Job) bool) *batchv1.Job {
	t.Helper()
	var job *batchv1.Job
	err := poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		job = jobOf(t, cluster, ns, name)
		return is(job), nil
	})
	if err != nil {
		t.Fatalf("job %s/%s on %s did not reach the expected state: %+v", ns, name, cluster, job)
	}
	return job
}

func isGone(job *batchv1.Job) bool { return job == nil }

// sameEnd checks that an origin ended like its mirror.
func sameEnd(t *testing.T, ns, name string) {
	t.Helper()
	o, m := jobOf(t, management, ns, name), jobOf(t, worker1, ns, name)
	assert.Assert(t, o != nil && m != nil, "origin %v, mirror %v", o, m)
	want := m.Status.DeepCopy()
	got := o.Status.DeepCopy()
	want.UncountedTerminatedPods, got.UncountedTerminatedPods = nil, nil
	assert.Assert(t, apiequality.Semantic.DeepEqual(got, want), "origin %+v\nmirror %+v", got, want)
}

func TestDispatchToTheEnd(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-end"
	origin(t, ns, "good", fixture.Pods(3), fixture.RunsFor("3s"))
	d := dispatches(t, ns, "good")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	sameEnd(t, ns, "good")
	var order []dispatch.EventType
	for _, e := range d.Seen {
		if e.Event != dispatch.StatusCopied {
			order = append(order, e.Event)
		}
	}
	assert.DeepEqual(t, order, []dispatch.EventType{dispatch.LeaseTaken, dispatch.MirrorCreated, dispatch.Completed})
	last := d.Seen[len(d.Seen)-1]
	assert.Equal(t, last.Status, delegation.Complete)
	assert.Equal(t, last.Succeeded, int32(3))
	for i, e := range d.Seen {
		assert.Equal(t, e.Sequence, int64(i+1))
		assert.Equal(t, e.Kind, dispatch.EventKind)
	}

	m := jobOf(t, worker1, ns, "good")
	assert.Equal(t, *m.Spec.TTLSecondsAfterFinished, int32(24*60*60))
	assert.Assert(t, m.Spec.ManagedBy == nil)
	_, err := client(t, management).CoordinationV1().Leases(ns).Get(t.Context(), delegation.LeaseName("good"), metav1.GetOptions{})
	assert.Assert(t, apierrors.IsNotFound(err), "the Lease is left: %v", err)

	// The same command, repeated, reports the same end and changes nothing.
	before := jobOf(t, management, ns, "good").ResourceVersion
	again := dispatches(t, ns, "good")
	assert.Equal(t, again.End(), 0, again.Stderr.String())
	assert.Equal(t, again.Seen[len(again.Seen)-1].Event, dispatch.Completed)
	assert.Equal(t, jobOf(t, management, ns, "good").ResourceVersion, before)
	// For another worker, it is a finished Job like any other.
	other, stderr, code := run(t, "dispatch", "good", "-n", ns, "--context", management, "--to", worker2)
	assert.Equal(t, code, 1, other)
	assert.Assert(t, contains(stderr, "good", "Complete"), stderr)
}

func TestDispatchOfAFailure(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-fails"
	origin(t, ns, "bad", fixture.Fails())
	d := dispatches(t, ns, "bad", "--mirror-ttl", "0")
	assert.Equal(t, d.End(), 5, d.Stderr.String())
	o := jobOf(t, management, ns, "bad")
	assert.Equal(t, o.Status.Failed, int32(1))
	eventuallyJob(t, worker1, ns, "bad", isGone)
}

// TestDispatchResumes checks that however a dispatch ends, the same command resumes it with the
// same mirror.
func TestDispatchResumes(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-resumes"
	origin(t, ns, "long", fixture.Pods(2), fixture.RunsFor("2h"))
	d := dispatches(t, ns, "long")
	made := d.Expect(dispatch.MirrorCreated, "long")
	d.Expect(dispatch.StatusCopied, "long")
	d.Signal(syscall.SIGKILL)
	d.End()

	// It waits until the Lease of the killed dispatcher expires.
	d = dispatches(t, ns, "long")
	d.Expect(dispatch.LeaseWaiting, "long")
	found := d.Expect(dispatch.MirrorFound, "long")
	assert.Equal(t, found.Mirror.UID, made.Mirror.UID)

	// Meanwhile another dispatcher is refused, with the name of the holder.
	other := dispatches(t, ns, "long")
	assert.Equal(t, other.End(), 1)
	lease, err := client(t, management).CoordinationV1().Leases(ns).Get(t.Context(), delegation.LeaseName("long"), metav1.GetOptions{})
	assert.NilError(t, err)
	assert.Assert(t, contains(other.Stderr.String(), *lease.Spec.HolderIdentity, lease.Spec.AcquireTime.UTC().Format(time.RFC3339)), other.Stderr.String())

	d.Signal(syscall.SIGINT)
	assert.Equal(t, d.End(), 130, d.Stderr.String())
	// A released Lease can be acquired at once.
	d = dispatches(t, ns, "long")
	d.Expect(dispatch.MirrorFound, "long")
	assert.Equal(t, d.Count(dispatch.LeaseWaiting), 0)
	succeed(t, worker1, ns, runningPods(t, worker1, ns, "long", 2)...)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	sameEnd(t, ns, "long")
	assert.Equal(t, string(jobOf(t, worker1, ns, "long").UID), made.Mirror.UID)
}

func TestDispatchInterrupted(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-interrupted"
	for _, name := range []string{"left", "deleted", "late", "detached"} {
		origin(t, ns, name, fixture.RunsFor("2h"))
	}
	d := dispatches(t, ns, "left")
	d.Expect(dispatch.StatusCopied, "left")
	d.Signal(syscall.SIGTERM)
	assert.Equal(t, d.End(), 143, d.Stderr.String())
	assert.Assert(t, jobOf(t, worker1, ns, "left") != nil)

	d = dispatches(t, ns, "deleted", "--on-interrupt", "delete")
	d.Expect(dispatch.StatusCopied, "deleted")
	d.Signal(syscall.SIGINT)
	assert.Equal(t, d.End(), 130, d.Stderr.String())
	eventuallyJob(t, worker1, ns, "deleted", isGone)
	o := jobOf(t, management, ns, "deleted")
	assert.Equal(t, o.Status.Active, int32(0))
	assert.Equal(t, o.Annotations[delegation.MirrorAnnotation], "")
	// It can be dispatched again.
	d = dispatches(t, ns, "deleted", "--detach-after-start")
	assert.Equal(t, d.End(), 0, d.Stderr.String())

	d = dispatches(t, ns, "late", "--timeout", "3s", "--on-interrupt", "delete")
	assert.Equal(t, d.End(), 124, d.Stderr.String())
	eventuallyJob(t, worker1, ns, "late", isGone)

	d = dispatches(t, ns, "detached", "--detach-after-start")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	assert.Equal(t, d.Seen[len(d.Seen)-1].Event, dispatch.Detached)
	assert.Equal(t, jobOf(t, management, ns, "detached").Status.Active, int32(1))
	assert.Assert(t, jobOf(t, worker1, ns, "detached") != nil)
}

// TestDispatchOutlivesItsReader checks that the reader of the events may exit, as head does; the
// status is still copied to the end.
func TestDispatchOutlivesItsReader(t *testing.T) {
	t.Parallel()
	const ns = "outlives"
	origin(t, ns, "train")
	reader, writer, err := os.Pipe()
	assert.NilError(t, err)
	assert.NilError(t, reader.Close())
	cmd := command(t, "jobs-managedby", "dispatch", "train", "--context", management, "--to", worker1, "-n", ns, "-o", "json")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = writer, &stderr
	err = cmd.Run()
	assert.NilError(t, writer.Close())
	var exit *exec.ExitError
	assert.Assert(t, errors.As(err, &exit) && exit.ExitCode() == 1, "%v: %s", err, &stderr)
	assert.Equal(t, strings.Count(stderr.String(), "note: cannot print events"), 1, stderr.String())
	job := jobOf(t, management, ns, "train")
	assert.Equal(t, job.Status.Succeeded, int32(1), "%+v", job.Status)
}

// TestWait checks that wait follows a Job from its origin to the end of its mirror, and its exit
// code says how the Job ended.
func TestWait(t *testing.T) {
	t.Parallel()
	const ns = "waits"
	origin(t, ns, "train", fixture.RunsFor("20s"))
	origin(t, ns, "bad", fixture.Fails())
	fleet := []string{"--contexts", management + "," + worker1, "-n", ns}
	waits := func(name, condition string) (out, stderr *bytes.Buffer, end func() int) {
		out, stderr = &bytes.Buffer{}, &bytes.Buffer{}
		cmd := command(t, append([]string{"jobs-managedby", "wait", name, "--for", condition, "--timeout", "3m"}, fleet...)...)
		cmd.Stdout, cmd.Stderr = out, stderr
		assert.NilError(t, cmd.Start())
		return out, stderr, func() int {
			var exit *exec.ExitError
			if err := cmd.Wait(); errors.As(err, &exit) {
				return exit.ExitCode()
			}
			return 0
		}
	}
	running, stderrRunning, endRunning := waits("train", "running")
	finished, stderrFinished, endFinished := waits("train", "finished")
	_, stderrBad, endBad := waits("bad", "finished")
	d := dispatches(t, ns, "train", "bad")
	assert.Equal(t, endRunning(), 0, stderrRunning.String())
	assert.Equal(t, running.String(), "job waits/train is running on "+worker1+"\n")
	assert.Assert(t, strings.Contains(stderrRunning.String(), "running on "+worker1), stderrRunning.String())
	mirror := jobOf(t, worker1, ns, "train")
	assert.Assert(t, mirror != nil && mirror.Status.StartTime != nil, "%+v", mirror)
	assert.Equal(t, endBad(), 5, stderrBad.String())
	assert.Equal(t, d.End(), 5, d.Stderr.String())
	assert.Equal(t, endFinished(), 0, stderrFinished.String())
	assert.Equal(t, finished.String(), "job waits/train is complete on "+worker1+"\n")
	_, stderr, code := run(t, append([]string{"wait", "nothere", "--for", "running"}, fleet...)...)
	assert.Equal(t, code, 1, stderr)
	assert.Equal(t, jobOf(t, management, ns, "train").Status.Succeeded, int32(1))
}
