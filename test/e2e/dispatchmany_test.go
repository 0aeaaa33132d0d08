package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

// change patches a Job.
func change(t *testing.T, cluster, ns, name, patch string, subresources ...string) {
	t.Helper()
	_, err := client(t, cluster).BatchV1().Jobs(ns).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	assert.NilError(t, err)
}

// TestDispatchOfMany checks that the failure of one Job does not affect the others.
func TestDispatchOfMany(t *testing.T) {
	t.Parallel()
	const ns, n = "dispatch-many", 20
	mine := fixture.Labels("experiment", "a")
	for i := range n {
		origin(t, ns, fmt.Sprintf("good-%02d", i), mine, fixture.RunsFor("2s"))
	}
	origin(t, ns, "bad", mine, fixture.Fails())
	origin(t, ns, "taken", mine)
	createJobs(t, worker1, fixture.New(ns, "taken"))
	createJobs(t, management, fixture.New(ns, "foreign", mine, fixture.ManagedBy("example.com/x")))

	d := dispatches(t, ns, "-l", "experiment=a")
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	for i := range n {
		sameEnd(t, ns, fmt.Sprintf("good-%02d", i))
	}
	assert.Equal(t, d.Count(dispatch.Completed), n)
	assert.Equal(t, d.Count(dispatch.JobFailed), 1)
	assert.Equal(t, d.Count(dispatch.Refused), 1)
	assert.Assert(t, jobOf(t, management, ns, "taken").Status.StartTime == nil)
	assert.Assert(t, jobOf(t, management, ns, "foreign").Annotations[delegation.MirrorAnnotation] == "")

	// Without the refused Job, the failed one determines the exit code.
	deletes(t, management, ns, "taken")
	origin(t, ns, "worse", mine, fixture.Fails())
	d = dispatches(t, ns, "-l", "experiment=a")
	assert.Equal(t, d.End(), 5, d.Stderr.String())
}

func TestDispatchOfAFile(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-file"
	namespaces(t, ns)
	file := manifest(t, fixture.New(ns, "one"), fixture.New(ns, "two"))
	text, err := os.ReadFile(file)
	assert.NilError(t, err)
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	assert.NilError(t, os.WriteFile(bad, append(text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"...), 0o600))

	// Because of one bad document, nothing is created.
	d := dispatches(t, ns, "-f", bad)
	assert.Equal(t, d.End(), 1)
	assert.Assert(t, contains(d.Stderr.String(), "document 3", "ConfigMap"), d.Stderr.String())
	assert.Assert(t, jobOf(t, management, ns, "one") == nil)

	d = dispatches(t, ns, "-f", file)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	assert.Equal(t, d.Count(dispatch.OriginCreated), 2)
	for _, name := range []string{"one", "two"} {
		assert.Equal(t, *jobOf(t, management, ns, name).Spec.ManagedBy, string(delegation.Dispatch))
		sameEnd(t, ns, name)
	}
}

// TestDispatchFollowsTheUser checks that changes of the origin are copied to the mirror, and their
// results to the origin.
func TestDispatchFollowsTheUser(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-push"
	namespaces(t, ns)
	indexed := func(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.IndexedCompletion) }
	origin(t, ns, "train", fixture.Pods(2), indexed, fixture.RunsFor("1h"), fixture.Suspended())
	d := dispatches(t, ns, "train")
	is := func(cluster string, is func(*batchv1.Job) bool) *batchv1.Job {
		t.Helper()
		return eventuallyJob(t, cluster, ns, "train", is)
	}
	suspended := func(j *batchv1.Job) bool {
		return j != nil && len(j.Status.Conditions) == 1 && j.Status.Conditions[0].Status == "True"
	}
	ready := func(n int32) func(*batchv1.Job) bool {
		return func(j *batchv1.Job) bool { return j.Status.Ready != nil && *j.Status.Ready == n }
	}
	is(management, suspended)
	for range 3 {
		change(t, management, ns, "train", `{"spec":{"suspend":false}}`)
		is(management, ready(2))
		change(t, management, ns, "train", `{"spec":{"suspend":true}}`)
		is(management, func(j *batchv1.Job) bool { return suspended(j) && j.Status.Active == 0 })
	}
	// Its scheduling directives can be changed while it is suspended.
	change(t, management, ns, "train", `{"spec":{"template":{"metadata":{"annotations":{"pod-complete.stage.kwok.x-k8s.io/delay":"2s"}}}}}`)
	is(worker1, func(j *batchv1.Job) bool {
		return j.Spec.Template.Annotations["pod-complete.stage.kwok.x-k8s.io/delay"] == "2s"
	})
	change(t, management, ns, "train", `{"spec":{"parallelism":4,"completions":4,"activeDeadlineSeconds":3600,"suspend":false},"metadata":{"labels":{"team":"b"}}}`)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	sameEnd(t, ns, "train")
	m := jobOf(t, worker1, ns, "train")
	assert.Equal(t, m.Status.CompletedIndexes, "0-3")
	assert.Equal(t, *m.Spec.ActiveDeadlineSeconds, int64(3600))
	assert.Equal(t, m.Labels["team"], "b")
}

// TestDispatchWritesSparingly checks that the status of an origin is written at most once in 100
// ms, and never without a change.
func TestDispatchWritesSparingly(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-pace"
	origin(t, ns, "train", fixture.Pods(30), fixture.RunsFor("2s"))
	c := client(t, management).BatchV1().Jobs(ns)
	watching, err := c.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=train"})
	assert.NilError(t, err)
	defer watching.Stop()
	d := dispatches(t, ns, "train")
	var last *batchv1.Job
	var at time.Time
	writes := 0
	for e := range watching.ResultChan() {
		job, ok := e.Object.(*batchv1.Job)
		assert.Assert(t, ok)
		written := statusWritten(job)
		if last != nil && written.After(at) {
			writes++
			before, now := last.Status.DeepCopy(), job.Status.DeepCopy()
			assert.Assert(t, !assertEqual(before, now), "a write changed nothing: %+v", now)
		}
		last, at = job, written
		if job.Status.CompletionTime != nil {
			break
		}
	}
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	var times []time.Time
	for _, e := range d.Seen {
		if e.Event == dispatch.StatusCopied {
			times = append(times, e.Time.Time)
		}
	}
	assert.Assert(t, len(times) > 2 && writes > 0, "%d writes", len(times))
	for i := 1; i < len(times); i++ {
		assert.Assert(t, times[i].Sub(times[i-1]) >= 100*time.Millisecond, "%v after %v", times[i], times[i-1])
	}
}

// statusWritten returns when the status of a Job was last written.
func statusWritten(job *batchv1.Job) time.Time {
	for _, f := range job.ManagedFields {
		if f.Subresource == "status" {
			return f.Time.Time
		}
	}
	return time.Time{}
}

func assertEqual(a, b *batchv1.JobStatus) bool { return a.String() == b.String() }
