package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kinds"
)

// TestDispatchKinds dispatches objects of kinds other than Job. No controller runs them: the tests
// write what their controllers would.
func TestDispatchKinds(t *testing.T) {
	serving(t, alone, management, worker1)
	for _, cluster := range []string{management, worker1} {
		servesKinds(t, cluster, kinds.Known, kinds.Others)
	}
	t.Run("to the end", kindsToTheEnd)
	t.Run("a failure", kindsFailure)
	t.Run("interrupted", kindsInterrupted)
	t.Run("deleted", kindsDeleted)
	t.Run("cancelled", kindsCancelled)
	t.Run("without an end", kindsThatNeverEnd)
	t.Run("as MultiKueue", kindsAsMultiKueue)
	t.Run("of a file", kindsOfAFile)
	t.Run("preflight", kindsPreflight)
	t.Run("selected", kindsSelected)
	t.Run("recreated", kindsRecreated)
	t.Run("named", kindsNamed)
}

func kindsToTheEnd(t *testing.T) {
	const ns = "dispatch-kinds-end"
	l := jobSet(t, ns, "train")
	// A Job with the same name is another object.
	origin(t, ns, "train")
	d := dispatches(t, ns, "jobset/train")
	made := d.Expect(dispatch.MirrorCreated, "train")
	assert.Equal(t, made.Origin.Kind+" "+made.Mirror.APIVersion, "JobSet jobset.x-k8s.io/v1alpha2")
	mirror := l.get(worker1)
	assert.Equal(t, string(mirror.GetUID()), made.Mirror.UID)
	assert.Assert(t, at(mirror, "spec", "managedBy") == nil)
	assert.Equal(t, mirror.GetLabels()[delegation.OriginUIDLabel], string(l.get(management).GetUID()))
	lease, err := client(t, management).CoordinationV1().Leases(ns).Get(t.Context(), l.kind.LeaseName("train"), metav1.GetOptions{})
	assert.NilError(t, err)
	assert.Equal(t, lease.OwnerReferences[0].Kind, "JobSet")
	dispatcher := ls(t, "-n", ns, "--context", management, "--kinds", "jobset")["train"].Dispatcher
	assert.Assert(t, dispatcher != nil && dispatcher.Held && dispatcher.Holder == *lease.Spec.HolderIdentity, "%+v", dispatcher)

	// The whole status is copied, and fields that disappear from it are removed.
	l.reports(`{"replicatedJobsStatus":[{"active":2,"name":"workers"}],"restarts":1,"temporary":{"a":1}}`)
	l.hasStatus(`{"replicatedJobsStatus":[{"active":2,"name":"workers"}],"restarts":1,"temporary":{"a":1}}`)
	assert.Equal(t, d.Expect(dispatch.StatusCopied, "train").Status, delegation.Running)
	l.reports(`{"restarts":2,"temporary":null}`)
	l.hasStatus(`{"replicatedJobsStatus":[{"active":2,"name":"workers"}],"restarts":2}`)

	// The suspension and the labels are copied to the origin; nothing else is.
	l.patch(management, `{metadata: {labels: {team: a}}, spec: {suspend: true, failurePolicy: {maxRestarts: 3}}}`)
	assert.Assert(t, contains(d.Expect(dispatch.Warned, "train").Message, "spec.failurePolicy"))
	d.Expect(dispatch.SpecPushed, "train")
	mirror = l.eventually(worker1, func(o *unstructured.Unstructured) bool { return at(o, "spec", "suspend") == true })
	assert.Assert(t, mirror.GetLabels()["team"] == "a" && at(mirror, "spec", "failurePolicy") == nil)
	l.patch(management, `{spec: {suspend: false}}`)
	l.eventually(worker1, func(o *unstructured.Unstructured) bool { return at(o, "spec", "suspend") == false })

	l.reports(`{"conditions":[{"type":"Completed","status":"True","reason":"AllJobsCompleted","message":"done","lastTransitionTime":"2026-08-20T09:00:00Z"}]}`)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	assert.Equal(t, d.Seen[len(d.Seen)-1].Event, dispatch.Completed)
	assert.DeepEqual(t, l.get(management).Object["status"], l.get(worker1).Object["status"])
	assert.Equal(t, at(l.get(worker1), "spec", "ttlSecondsAfterFinished"), int64(24*60*60))
	_, err = client(t, management).CoordinationV1().Leases(ns).Get(t.Context(), l.kind.LeaseName("train"), metav1.GetOptions{})
	assert.Assert(t, apierrors.IsNotFound(err), "the Lease is left: %v", err)

	// The same command, repeated, reports the same end and changes nothing.
	before := l.get(management).GetResourceVersion()
	again := dispatches(t, ns, "jobset/train")
	assert.Equal(t, again.End(), 0, again.Stderr.String())
	assert.Equal(t, l.get(management).GetResourceVersion(), before)
	other, stderr, code := run(t, "dispatch", "jobset/train", "-n", ns, "--context", management, "--to", worker1, "--namespace-to", "default")
	assert.Equal(t, code, 1, other)
	assert.Assert(t, contains(stderr, "jobset "+ns+"/train is Complete", "recreate jobset/train -n "+ns+" --context "+management), stderr)
}

func kindsFailure(t *testing.T) {
	const ns = "dispatch-kinds-fails"
	mpi := newLike(t, "mpijob", ns, "bad", delegation.Dispatch, `{runPolicy: {ttlSecondsAfterFinished: 60}}`)
	d := dispatches(t, ns, "mpijob/bad", "--mirror-ttl", "0")
	d.Expect(dispatch.MirrorCreated, "bad")
	assert.Assert(t, at(mpi.get(worker1), "spec", "runPolicy", "managedBy") == nil && at(mpi.get(worker1), "spec", "runPolicy", "ttlSecondsAfterFinished") == nil)
	mpi.reports(`{conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}`)
	assert.Equal(t, d.End(), 5, d.Stderr.String())
	assert.Assert(t, contains(d.Seen[len(d.Seen)-1].Message, "it failed (BackoffLimitExceeded): too often"))
	mpi.eventually(worker1, isAbsent)
	assert.Assert(t, contains(d.Stderr.String(), "the MPIJob failed"), d.Stderr.String())

	// Its owner may be changed at any time. Then it belongs to the other owner.
	newLike(t, "mpijob", ns, "taken", delegation.Dispatch, `{}`)
	d = dispatches(t, ns, "mpijob/taken")
	d.Expect(dispatch.MirrorCreated, "taken")
	(&like{t, mpi.kind, ns, "taken"}).patch(management, `{spec: {runPolicy: {managedBy: null}}}`)
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	assert.Assert(t, contains(d.Stderr.String(), "spec.runPolicy.managedBy changed to built-in: the status is no longer copied", "delete mpijobs.kubeflow.org taken"), d.Stderr.String())
}

func kindsInterrupted(t *testing.T) {
	const ns = "dispatch-kinds-interrupted"
	l := jobSet(t, ns, "long")
	d := dispatches(t, ns, "jobset/long")
	made := d.Expect(dispatch.MirrorCreated, "long")
	l.reports(`{restarts: 1}`)
	d.Expect(dispatch.StatusCopied, "long")
	// Another dispatcher is refused meanwhile.
	other := dispatches(t, ns, "jobsets/long")
	assert.Equal(t, other.End(), 1)
	assert.Assert(t, contains(other.Stderr.String(), "jobset "+ns+"/long", "already dispatched by"), other.Stderr.String())
	d.Signal(syscall.SIGINT)
	assert.Equal(t, d.End(), 130, d.Stderr.String())
	// The next dispatch sees what happened meanwhile.
	l.reports(`{restarts: 2}`)
	d = dispatches(t, ns, "jobset/long", "--on-interrupt", "delete")
	assert.Equal(t, d.Expect(dispatch.MirrorFound, "long").Mirror.UID, made.Mirror.UID)
	l.hasStatus(`{"restarts":2}`)
	d.Signal(syscall.SIGINT)
	assert.Equal(t, d.End(), 130, d.Stderr.String())
	l.eventually(worker1, isAbsent)
	o := l.get(management)
	assert.Assert(t, o.Object["status"] == nil && o.GetAnnotations()[delegation.MirrorAnnotation] == "", "%v", o.Object)

	// It can be dispatched again, and the dispatch can detach once it runs.
	d = dispatches(t, ns, "jobset/long", "--detach-after-start")
	d.Expect(dispatch.MirrorCreated, "long")
	l.reports(`{replicatedJobsStatus: [{name: workers, active: 1}]}`)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	assert.Equal(t, d.Seen[len(d.Seen)-1].Event, dispatch.Detached)

	// On a terminal, the output says how to resume.
	cmd := command(t, "jobs-managedby", "dispatch", "jobset/long", "-n", ns, "--context", management, "--to", worker1, "--timeout", "2s")
	var stderr strings.Builder
	cmd.Stderr, cmd.Stdout = &stderr, &stderr
	assert.ErrorContains(t, cmd.Run(), "exit status 124")
	assert.Assert(t, contains(stderr.String(), "dispatch jobset/long -n "+ns, "cancel jobset/long -n "+ns, "timed out"), stderr.String())
	assert.Assert(t, !contains(stderr.String(), "succeeded"), stderr.String())
}

func kindsDeleted(t *testing.T) {
	const ns = "dispatch-kinds-deleted"
	l := jobSet(t, ns, "origin-goes")
	d := dispatches(t, ns, "jobset/origin-goes")
	d.Expect(dispatch.MirrorCreated, "origin-goes")
	assert.NilError(t, l.on(management).Delete(t.Context(), l.name, metav1.DeleteOptions{}))
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	l.eventually(worker1, isAbsent)
	assert.Assert(t, contains(d.Stderr.String(), "jobset "+ns+"/origin-goes was deleted before it ended"), d.Stderr.String())

	l = jobSet(t, ns, "mirror-goes")
	d = dispatches(t, ns, "jobset/mirror-goes")
	d.Expect(dispatch.MirrorCreated, "mirror-goes")
	l.reports(`{restarts: 1}`)
	l.hasStatus(`{"restarts":1}`)
	assert.NilError(t, l.on(worker1).Delete(t.Context(), l.name, metav1.DeleteOptions{}))
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	assert.Equal(t, d.Count(dispatch.MirrorDeleted), 1)
	assert.DeepEqual(t, l.get(management).Object["status"], map[string]any{"restarts": int64(1)})
	d = dispatches(t, ns, "jobset/mirror-goes", "--new-mirror")
	d.Expect(dispatch.MirrorCreated, "mirror-goes")
	d.Signal(syscall.SIGTERM)
	assert.Equal(t, d.End(), 143)

	// Objects without our marks are left alone.
	l = jobSet(t, ns, "taken")
	_, err := l.on(worker1).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": map[string]any{"name": "taken"}, "spec": map[string]any{},
	}}, metav1.CreateOptions{})
	assert.NilError(t, err)
	d = dispatches(t, ns, "jobset/taken")
	assert.Equal(t, d.End(), 1)
	assert.Assert(t, contains(d.Seen[0].Message, "already exists, and dispatch did not create it", "delete jobsets.jobset.x-k8s.io taken"), "%v", d.Seen)
}

func kindsCancelled(t *testing.T) {
	const ns = "dispatch-kinds-cancelled"
	l := jobSet(t, ns, "train")
	d := dispatches(t, ns, "jobset/train")
	d.Expect(dispatch.MirrorCreated, "train")
	l.reports(`{restarts: 1, replicatedJobsStatus: [{name: workers, active: 2}]}`)
	d.Expect(dispatch.StatusCopied, "train")
	out, stderr, code := run(t, "cancel", "--yes", "jobset/train", "-n", ns, "--context", management, "--to", worker1)
	assert.Equal(t, code, 0, stderr)
	// The dispatcher may see first that its origin has ended, and remove the mirror as well.
	assert.Assert(t, contains(out, "jobset "+ns+"/train", "its mirror on worker-1 was removed") || contains(out, "its mirror on worker-1 was already gone"), out)
	assert.Equal(t, d.End(), 5, d.Stderr.String())
	assert.Equal(t, d.Seen[len(d.Seen)-1].Event, dispatch.Cancelled)
	l.eventually(worker1, isAbsent)
	o := l.get(management)
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	assert.Equal(t, len(conditions), 1)
	condition, _ := conditions[0].(map[string]any)
	assert.Equal(t, fmt.Sprint(condition["type"], condition["status"], condition["reason"]), "FailedTrue"+dispatch.CancelReason)
	assert.Equal(t, at(o, "status", "restarts"), int64(1))

	// For an AppWrapper, it is the phase, and the objects that it created are gone.
	l = newLike(t, "appwrapper", ns, "wrapped", delegation.Dispatch, `{components: []}`)
	d = dispatches(t, ns, "appwrapper/wrapped")
	d.Expect(dispatch.MirrorCreated, "wrapped")
	l.reports(`{phase: Running, conditions: [{type: ResourcesDeployed, status: "True", reason: Deployed, message: "", lastTransitionTime: "2026-11-20T23:00:00Z"}]}`)
	d.Expect(dispatch.StatusCopied, "wrapped")
	_, stderr, code = run(t, "cancel", "--yes", "appwrapper/wrapped", "-n", ns, "--context", management, "--to", worker1)
	assert.Equal(t, code, 0, stderr)
	assert.Equal(t, d.End(), 5, d.Stderr.String())
	l.eventually(worker1, isAbsent)
	assert.Equal(t, at(l.get(management), "status", "phase"), "Failed")
	assert.Equal(t, ls(t, "--kinds", "appwrapper", "-n", ns, "--context", management)["wrapped"].Status, delegation.Failed)

	// An origin whose mirror has ended gets the same end.
	l = jobSet(t, ns, "ended")
	d = dispatches(t, ns, "jobset/ended")
	d.Expect(dispatch.MirrorCreated, "ended")
	d.Signal(syscall.SIGINT)
	d.End()
	l.reports(`{conditions: [{type: Completed, status: "True", reason: Done}]}`)
	_, stderr, code = run(t, "cancel", "--yes", "-l", "!none", "--kinds", "jobset", "-n", ns, "--context", management, "--to", worker1)
	assert.Equal(t, code, 0, stderr)
	l.hasStatus(`{"conditions":[{"reason":"Done","status":"True","type":"Completed"}]}`)
	l.eventually(worker1, isAbsent)
}

// kindsThatNeverEnd are dispatched until a user ends them, whatever their status is.
func kindsThatNeverEnd(t *testing.T) {
	const ns = "dispatch-kinds-endless"
	for kind, statuses := range map[string][3]string{
		"raycluster": {`{"state":"failed"}`, `{"state":"ready"}`, ""},
		"rayservice": {`{"serviceStatus":""}`, `{"serviceStatus":"Running"}`, `{"serviceStatus":"Running"}`},
	} {
		l := newLike(t, kind, ns, "chat", delegation.MultiKueue, `{}`)
		d := dispatches(t, ns, kind+"/chat", "--as-multikueue")
		d.Expect(dispatch.MirrorCreated, "chat")
		l.reports(statuses[0])
		l.hasStatus(statuses[0])
		l.reports(statuses[1])
		l.hasStatus(statuses[1])
		out, stderr, code := run(t, "cancel", "--yes", kind+"/chat", "--as-multikueue", "-n", ns, "--context", management, "--to", worker1)
		assert.Equal(t, code, 0, stderr)
		assert.Equal(t, d.End(), 5, d.Stderr.String())
		assert.Equal(t, d.Seen[len(d.Seen)-1].Event, dispatch.Cancelled)
		l.eventually(worker1, isAbsent)
		o := l.get(management)
		assert.Equal(t, o.GetAnnotations()[delegation.MirrorAnnotation], "")
		if statuses[2] != "" {
			l.hasStatus(statuses[2])
			assert.Assert(t, contains(out, "its status did not change: a RayService has no failed state"), out)
		} else {
			assert.Equal(t, at(o, "status", "state"), "failed")
		}
		d = dispatches(t, ns, kind+"/chat", "--as-multikueue", "--on-interrupt", "delete")
		d.Expect(dispatch.MirrorCreated, "chat")
		d.Signal(syscall.SIGTERM)
		assert.Equal(t, d.End(), 143, d.Stderr.String())
	}
}

// kindsAsMultiKueue checks the case that some kinds do not allow our owner value. A cluster with
// Kueue is left to Kueue.
func kindsAsMultiKueue(t *testing.T) {
	const ns = "dispatch-kinds-multikueue"
	l := newLike(t, "trainjob", ns, "tune", delegation.MultiKueue, `{suspend: false}`)
	to := []string{"dispatch", "trainjob/tune", "-n", ns, "--context", management, "--to", worker1}
	_, stderr, code := run(t, to...)
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "its API allows for spec.managedBy only trainer.kubeflow.org/trainjob-controller and kueue.x-k8s.io/multikueue", "--as-multikueue"), stderr)
	_, stderr, code = run(t, append(to, "--as-multikueue", "--managed-by", "kueue.x-k8s.io/multikueue")...)
	assert.Equal(t, code, 2)
	assert.Assert(t, contains(stderr, "cannot be combined with --managed-by"), stderr)

	config, err := set.Config(management)
	assert.NilError(t, err)
	crds, err := kinds.Read(os.DirFS(kueueProgram), "crds")
	assert.NilError(t, err)
	assert.NilError(t, kinds.InstallAll(t.Context(), config, crds))
	_, stderr, code = run(t, append(to, "--as-multikueue")...)
	assert.NilError(t, kinds.RemoveAll(t.Context(), config, crds))
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "context \"management\": Kueue is installed", "Leave it to MultiKueue") && !contains(stderr, "recreate the Job"), stderr)
	assert.Assert(t, l.get(worker1) == nil)

	d := dispatches(t, ns, "trainjob/tune", "--as-multikueue")
	assert.Assert(t, contains(d.Expect(dispatch.Warned, "tune").Message, "Kubeflow Trainer before v2.3.0 ignores spec.managedBy"))
	d.Expect(dispatch.MirrorCreated, "tune")
	// The API server sets the default, which does not make the mirror a delegated object.
	assert.Equal(t, at(l.get(worker1), "spec", "managedBy"), "trainer.kubeflow.org/trainjob-controller")
	l.patch(management, `{spec: {suspend: true}}`)
	l.eventually(worker1, func(o *unstructured.Unstructured) bool { return at(o, "spec", "suspend") == true })
	d.Signal(syscall.SIGINT)
	d.End()
	d = dispatches(t, ns, "trainjob/tune", "--as-multikueue")
	d.Expect(dispatch.MirrorFound, "tune")
	l.reports(`{"conditions":[{"type":"Complete","status":"True","reason":"JobsCompleted","message":"","lastTransitionTime":"2026-08-20T09:00:00Z"}]}`)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	// Kinds that allow our owner value can be dispatched as MultiKueue, too.
	aw := newLike(t, "appwrapper", ns, "wrapped", delegation.MultiKueue, `{components: []}`)
	d = dispatches(t, ns, "appwrapper/wrapped", "--as-multikueue", "--mirror-ttl", "0")
	d.Expect(dispatch.MirrorCreated, "wrapped")
	aw.reports(`{phase: Succeeded}`)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
}
