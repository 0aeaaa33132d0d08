package e2e

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
)

// TestMirrorsInOneNamespace checks that origins of several namespaces have mirrors in one
// namespace. Of two origins with the same name, the second is refused, and the first continues.
func TestMirrorsInOneNamespace(t *testing.T) {
	t.Parallel()
	const one, two, there = "beside-one", "beside-two", "beside-there"
	namespaces(t, there)
	origin(t, one, "train", fixture.RunsFor("1h"))
	origin(t, two, "train", fixture.RunsFor("1h"))
	origin(t, two, "other", fixture.RunsFor("1h"))
	first := dispatches(t, one, "train", "--namespace-to", there)
	made := first.Expect(dispatch.MirrorCreated, "train")
	second := dispatches(t, two, "train", "--namespace-to", there)
	assert.Equal(t, second.End(), 1)
	assert.Assert(t, contains(fmt.Sprint(second.Seen)+second.Stderr.String(), "the mirror of another Job", one+"/train"), "%v %s", second.Seen, &second.Stderr)
	beside := dispatches(t, two, "other", "--namespace-to", there)
	beside.Expect(dispatch.MirrorCreated, "other")
	for name, d := range map[string]*dispatching.Process{"train": first, "other": beside} {
		succeed(t, worker1, there, runningPods(t, worker1, there, name, 1)...)
		assert.Equal(t, d.End(), 0, d.Stderr.String())
	}
	assert.Equal(t, string(jobOf(t, worker1, there, "train").UID), made.Mirror.UID)
	for ns, want := range map[string]int32{one: 1, two: 0} {
		assert.Equal(t, jobOf(t, management, ns, "train").Status.Succeeded, want)
	}
	noLeaseIsLeft(t, one)
}

// TestConcurrentWriters checks the case that another client edits an origin and its mirror
// repeatedly while the loop writes to both. MultiKueue's label is added to the mirror next to
// ours. Changes of the origin are copied to the mirror, additions to the mirror stay there, the
// label is not copied, and no status is lost.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	const ns, edits = "beside-edits", 25
	origin(t, ns, "train", fixture.Pods(20), fixture.RunsFor("1h"))
	d := dispatches(t, ns, "train")
	made := d.Expect(dispatch.MirrorCreated, "train")
	change(t, worker1, ns, "train", `{"metadata":{"labels":{"`+delegation.MultiKueueOriginLabel+`":"somebody"}}}`)
	pods := runningPods(t, worker1, ns, "train", 20)
	for i := range edits {
		change(t, management, ns, "train", fmt.Sprintf(`{"metadata":{"labels":{"edit":"%d"}},"spec":{"activeDeadlineSeconds":%d}}`, i, 10000+i))
		change(t, worker1, ns, "train", fmt.Sprintf(`{"metadata":{"annotations":{"example.com/edit":"%d"}}}`, i))
		if i < len(pods)-1 {
			succeed(t, worker1, ns, pods[i])
		}
	}
	eventuallyJob(t, worker1, ns, "train", func(j *batchv1.Job) bool {
		return j.Labels["edit"] == fmt.Sprint(edits-1) && *j.Spec.ActiveDeadlineSeconds == 10000+edits-1
	})
	succeed(t, worker1, ns, pods[len(pods)-1])
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	sameEnd(t, ns, "train")
	o, m := jobOf(t, management, ns, "train"), jobOf(t, worker1, ns, "train")
	assert.Equal(t, string(m.UID), made.Mirror.UID)
	assert.Equal(t, m.Annotations["example.com/edit"], fmt.Sprint(edits-1))
	assert.Equal(t, m.Labels[delegation.MultiKueueOriginLabel], "somebody")
	assert.Equal(t, m.Labels[delegation.OriginUIDLabel], string(o.UID))
	_, isThere := o.Labels[delegation.MultiKueueOriginLabel]
	assert.Assert(t, !isThere)
	assert.Equal(t, o.Annotations["example.com/edit"], "")
	assert.Equal(t, o.Status.Succeeded, int32(20))
}
