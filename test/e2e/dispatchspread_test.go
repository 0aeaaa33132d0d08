package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// spaces creates a namespace on some clusters, and waits until Pods can be created in it.
func spaces(t *testing.T, ns string, on ...string) {
	t.Helper()
	for _, cluster := range on {
		assert.NilError(t, makeSpace(t, cluster, ns))
	}
}

// ours creates a Job that is delegated to dispatch.
func ours(t *testing.T, ns, name string, options ...fixture.Option) {
	t.Helper()
	createJobs(t, management, fixture.New(ns, name, append(options, fixture.ManagedBy(string(delegation.Dispatch)))...))
}

// passed returns the messages about workers that were skipped.
func passed(d *dispatching.Process) string {
	var all []string
	for _, e := range d.Seen {
		if e.Event == dispatch.PassedOver {
			all = append(all, e.Message)
		}
	}
	return strings.Join(all, "\n")
}

// TestDispatchToTheFirstThatPasses checks the case that the first worker of a list lacks the
// namespace, the second one does not answer, and the third one accepts the Job. The Job stays
// there, whatever becomes available later and whichever controller resumes it, even if it does not name its
// mirror yet.
func TestDispatchToTheFirstThatPasses(t *testing.T) {
	t.Parallel()
	const ns, list, reversed = "spread-first", "worker-1,dead,worker-2", "worker-2,worker-1,twin"
	spaces(t, ns, management, worker2)
	ours(t, ns, "train", fixture.RunsFor("1h"))
	first := dispatchesTo(t, list, ns, "train")
	made := first.Expect(dispatch.MirrorCreated, "train")
	assert.Equal(t, made.Mirror.Context, worker2)
	assert.Assert(t, contains(passed(first), "context \"worker-1\": Namespace "+ns+": does not exist", "create namespace "+ns, "context \"dead\": ", "refused"), passed(first))
	eventuallyJob(t, management, ns, "train", isReady)
	first.Signal(syscall.SIGKILL)
	first.End()
	shorten(t, ns, "train")

	// Now the first worker would accept it.
	spaces(t, ns, worker1)
	for _, to := range []string{"worker-1,worker-2", reversed} {
		again := dispatchesTo(t, to, ns, "train")
		found := again.Expect(dispatch.MirrorFound, "train")
		assert.Equal(t, found.Mirror.UID, made.Mirror.UID)
		again.Signal(syscall.SIGKILL)
		again.End()
		shorten(t, ns, "train")
	}
	// As if it was killed after it created the mirror and before the origin named it.
	change(t, management, ns, "train", fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, delegation.MirrorAnnotation))
	d := dispatchesTo(t, "dead,worker-1", ns, "train")
	assert.Equal(t, d.End(), 1, "%v", d.Seen)
	assert.Assert(t, contains(d.Stderr.String(), "is already dispatched to "+ns+"/train on worker-2. Resume it with --to worker-2"), d.Stderr.String())
	d = dispatchesTo(t, "worker-1,worker-2", ns, "train")
	found := d.Expect(dispatch.MirrorFound, "train")
	assert.Equal(t, found.Mirror.UID, made.Mirror.UID)
	eventuallyJob(t, management, ns, "train", func(j *batchv1.Job) bool { return j.Annotations[delegation.MirrorAnnotation] != "" })
	d.Signal(syscall.SIGTERM)
	assert.Equal(t, d.End(), 143, d.Stderr.String())
	assert.Assert(t, jobOf(t, worker1, ns, "train") == nil)

	// A list without its worker is refused, like another single worker.
	d = dispatchesTo(t, "worker-1,dead", ns, "train")
	assert.Equal(t, d.End(), 1)
	assert.Assert(t, contains(d.Stderr.String(), "job "+ns+"/train is already dispatched to "+ns+"/train on worker-2"), d.Stderr.String())
}

// TestDispatchToNoWorker checks that if no worker accepts the Job, nothing is created, and the
// reason of each worker is reported.
func TestDispatchToNoWorker(t *testing.T) {
	t.Parallel()
	const ns = "spread-none"
	spaces(t, ns, management)
	ours(t, ns, "train")
	_, stderr, code := run(t, "dispatch", "train", "-n", ns, "--context", management, "--to", "worker-*,dead")
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "worker-1", "worker-2", "Namespace "+ns, "cannot reach the cluster", "the Job cannot run on any of worker-1, worker-2, dead as it is; created nothing there"), stderr)
	_, stderr, code = run(t, "dispatch", "train", "-n", ns, "--context", management, "--to", "dead,expired")
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "cannot reach any context of --to", "context \"dead\"", "context \"expired\""), stderr)
	_, stderr, code = run(t, "dispatch", "train", "-n", ns, "--context", management, "--to", "twin,elsewhere,management")
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "skipping management: the Jobs are there", "all reach the cluster of management"), stderr)
	_, stderr, code = run(t, "dispatch", "train", "-n", ns, "--context", management, "--to", "worker-1,wrker-2")
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, `no context "wrker-2" in the kubeconfig; did you mean "worker-2"?`), stderr)
}

// TestDispatchSpread checks that Jobs are created on two workers in turn. Existing Jobs count, and
// the summary names the worker of each.
func TestDispatchSpread(t *testing.T) {
	t.Parallel()
	const ns = "spread-two"
	spaces(t, ns, management, worker1, worker2)
	mine := fixture.Labels("experiment", "a")
	ours(t, ns, "job-0", mine, fixture.RunsFor("1h"))
	d := dispatchesTo(t, worker2, ns, "job-0", "--detach-after-start")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	for i := 1; i < 4; i++ {
		ours(t, ns, fmt.Sprintf("job-%d", i), mine, fixture.RunsFor("1h"))
	}
	out, stderr, code := run(t, "dispatch", "-l", "experiment=a", "-n", ns, "--context", management, "--to", "worker-*", "--spread", "--timeout", "20s")
	assert.Equal(t, code, 124, stderr)
	for name, cluster := range map[string]string{"job-0": worker2, "job-1": worker1, "job-2": worker1, "job-3": worker2} {
		other := worker1
		if cluster == worker1 {
			other = worker2
		}
		assert.Assert(t, jobOf(t, cluster, ns, name) != nil && jobOf(t, other, ns, name) == nil, "%s is not on %s:\n%s", name, cluster, out)
		assert.Assert(t, strings.Contains(strings.Join(strings.Fields(out), " "), ns+"/"+name+" "+cluster+" timed out"), out)
	}
	assert.Assert(t, contains(stderr, "to resume: kubectl jobs-managedby dispatch job-0 job-1 job-2 job-3 -n "+ns+" --context management --to worker-1,worker-2 --spread"), stderr)
}

// TestDispatchPastFewRights checks the case that on one worker the user has no rights, and the
// other has not enough quota for all.
func TestDispatchPastFewRights(t *testing.T) {
	t.Parallel()
	const ns = "spread-rights"
	spaces(t, ns, management, worker1, worker2)
	developers(t, ns, management, worker2)
	config := kubeconfigWith(t, "management=management developer", "worker-1=worker-1 developer", "worker-2=worker-2 developer")
	ours(t, ns, "train", fixture.RunsFor("2s"))
	d := dispatchesTo(t, "worker-1,worker-2", ns, "train", config)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	assert.Assert(t, contains(passed(d), "context \"worker-1\": "), passed(d))
	assert.Assert(t, jobOf(t, worker2, ns, "train").Status.CompletionTime != nil)
	assert.Assert(t, jobOf(t, worker1, ns, "train") == nil)
}

// TestTraceBeforeDispatch checks that trace has one row per other context, with what it can check
// there, and none once there is a mirror.
func TestTraceBeforeDispatch(t *testing.T) {
	t.Parallel()
	const ns = "spread-trace"
	spaces(t, ns, management, worker2)
	ours(t, ns, "train", fixture.RunsFor("1h"))
	args := []string{"trace", "train", "-n", ns, "--contexts", "management,worker-*,dead"}
	out, stderr, code := run(t, args...)
	assert.Equal(t, code, 0, stderr)
	assert.Assert(t, contains(stderr, "note: context \"dead\": "), stderr)
	assert.Assert(t, contains(out, "\ndead ", "never", "namespace "+ns+" does not exist", "no obstacle found"), out)
	assert.Assert(t, !strings.Contains(out, "\nmanagement "), out)
	d := dispatchesTo(t, worker2, ns, "train", "--detach-after-start")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	out, _, _ = run(t, args...)
	assert.Assert(t, !strings.Contains(out, "VERDICT"), out)
}

// TestDispatchListDry checks that a dry run prints one row per worker, with the result of its
// checks, and creates nothing.
func TestDispatchListDry(t *testing.T) {
	t.Parallel()
	const ns = "spread-dry"
	spaces(t, ns, management, worker1, worker2)
	_, err := client(t, worker1).CoreV1().ResourceQuotas(ns).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}},
	}, metav1.CreateOptions{})
	assert.NilError(t, err)
	ours(t, ns, "train")
	args := []string{"dispatch", "train", "-n", ns, "--context", management, "--to", "dead,worker-*"}
	for _, how := range []string{"client", "server"} {
		var out, stderr string
		// The API server caches quotas for admission.
		err := poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
			var code int
			out, stderr, code = run(t, append(args, "--dry-run="+how)...)
			return code == 0 && contains(out, "unknown", "waits", "fits"), nil
		})
		assert.NilError(t, err, "%s%s", out, stderr)
		assert.Assert(t, contains(out, "CONTEXT", "VERDICT", "job "+ns+"/train would run on worker-2."), out)
		assert.Assert(t, contains(stderr, "passed over", "ResourceQuota"), stderr)
	}
	out, _, code := run(t, append(args, "--dry-run", "-o", "json")...)
	assert.Equal(t, code, 0)
	var trace inspect.Trace
	assert.NilError(t, json.Unmarshal([]byte(out), &trace))
	var got []string
	for _, p := range trace.Placements {
		got = append(got, fmt.Sprint(p.Context, " ", p.Verdict, " ", p.Chosen))
	}
	assert.Equal(t, got[0]+", "+got[2], "dead unknown false, worker-2 fits true")
	assert.Assert(t, strings.HasPrefix(got[1], "worker-1 ") && !strings.Contains(got[1], "fits"), got[1])
	out, _, code = run(t, append(args, "--dry-run", "-o", "name")...)
	assert.Equal(t, code, 0)
	assert.Equal(t, out, "job.batch/train\n")
	assert.Assert(t, jobOf(t, worker2, ns, "train") == nil)
}
