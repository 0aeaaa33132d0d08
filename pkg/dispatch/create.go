package dispatch

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// createMirror makes the mirror. What its pods need is copied after that, so that
// every copy has an owner from its first moment on, and goes with it: wherever this
// process dies, no Secret is left on the worker that nobody knows of.
func (t *task) createMirror(ctx context.Context, origin *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	planned, err := t.plan(origin)
	if err != nil {
		t.abort(err)
		return nil, nil
	}
	if err := t.waitForPods(ctx); err != nil {
		return nil, err
	}
	if err := t.fence(ctx, origin); err != nil {
		return nil, err
	}
	// What has begun is not broken off: nobody would know whether it was made.
	created, err := t.worker.Create(context.WithoutCancel(ctx), t.Kind.Resource, t.heldBack(planned), metav1.FieldValidationWarn)
	if err != nil {
		return nil, t.notCreated(err)
	}
	t.replace, t.announced, t.isSupplied, t.isUnanswered = false, true, false, false
	t.mirrorRef.UID = string(created.GetUID())
	t.made = t.mirrorRef.UID
	t.mirrorNow = created
	t.before = planned
	t.record(MirrorCreated, command.Say("created on %s", t.worker.Context))
	return t.mirrorNow, nil
}

// waitForPods returns a conflict while pods of the mirror that this one replaces still run: a
// mirror may be gone before its pods are.
func (t *task) waitForPods(ctx context.Context) error {
	if t.superseded == "" || !t.Kind.IsJob() {
		return nil
	}
	running := 0
	ofMirror := metav1.ListOptions{LabelSelector: labels.Set{batchv1.ControllerUidLabel: t.superseded}.String()}
	err := t.worker.Each(ctx, corev1.SchemeGroupVersion.WithResource("pods"), t.mirrorRef.Namespace, ofMirror, func(pod *unstructured.Unstructured) {
		if phase := content.StringAt(pod, "status", "phase"); phase != string(corev1.PodSucceeded) && phase != string(corev1.PodFailed) {
			running++
		}
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil // Preflight has said that pods may not be listed.
	case err != nil:
		return err
	case running == 0:
		return nil
	}
	if !t.toldPods {
		t.toldPods = true
		t.record(Warned, command.Say("%d pods of its earlier mirror on %s still run; waiting until they have ended", running, t.worker.Context))
	}
	return conflict(t.Kind, t.Name)
}

// fence makes sure, at the servers, that the mirror is still ours to make, and is made of the
// origin as it is now: this process may have stood still since it looked last, for longer than
// its Lease lasts, and somebody else have begun. The Lease is read last.
func (t *task) fence(ctx context.Context, origin *unstructured.Unstructured) error {
	live, err := t.origin.get(ctx, t.Kind, t.ref)
	if err != nil {
		return err
	}
	if live == nil || live.GetUID() != t.UID || live.GetDeletionTimestamp() != nil || object.EndOf(t.Kind, live) != nil || pinned(live) != pinned(origin) || !t.Plan.IsFor(live) {
		if live != nil && live.GetUID() == t.UID {
			t.originNow = newer(live, t.originNow)
		}
		return conflict(t.Kind, t.Name)
	}
	// A front may lead to another cluster than when the context was opened.
	if err := t.worker.Verify(ctx, t.mirrorRef.Namespace); err != nil && !isUnidentified(err) {
		return err
	}
	return t.lease.confirm(ctx)
}

// heldBack is a planned mirror that does not start before what its pods need is
// there, where something is to be copied: a pod does wait for a ConfigMap that it
// needs, but not for one that it can do without. It is let go like one whose origin
// is resumed. Not all controllers take an object that is held back from the start; and
// where it is in a queue, that is Kueue's to decide.
func (t *task) heldBack(planned *unstructured.Unstructured) *unstructured.Unstructured {
	isQueued := content.StringsAt(planned, "metadata", "labels")[delegation.QueueNameLabel] != ""
	path, value := object.Hold(t.Kind)
	if len(t.Dependencies) == 0 || !t.Kind.HeldAtOnce || isQueued || path == nil {
		return planned
	}
	held := planned.DeepCopy()
	if unstructured.SetNestedField(held.Object, value, path...) != nil {
		return planned // It is no object that any server would take.
	}
	return held
}

// isHeldBack says whether the mirror waits for what its pods need, and not for its
// user.
func (t *task) isHeldBack() bool {
	return len(t.Dependencies) > 0 && !t.isSupplied && t.made != "" && t.mirrorNow != nil && t.Plan != nil &&
		object.StateOf(t.Kind, t.mirrorNow).Suspend && !object.StateOf(t.Kind, t.Plan.Mirror).Suspend
}

// supply sees that what the mirror's pods need is there, once. A mirror that was just
// made is removed again where that cannot be; one that was there already may run.
func (t *task) supply(ctx context.Context, mirror *unstructured.Unstructured) error {
	if t.isSupplied || len(t.Dependencies) == 0 || mirror.GetDeletionTimestamp() != nil {
		return nil
	}
	copied, err := dependency.Provide(ctx, t.origin.Cluster, t.worker.Cluster, mirror, t.Dependencies)
	for _, d := range copied {
		t.record(DependencyCopied, command.Say("%s %s was copied to %s", d.Kind, d.Name, t.worker.Context))
	}
	switch {
	case err == nil:
	case mayPass(err):
		return err
	case t.made == string(mirror.GetUID()):
		if err := t.removeMirror(ctx, ", because what its pods need cannot be copied"); err != nil {
			return err
		}
		t.abort(fmt.Errorf("cannot copy what the pods of %s need: %w", t.ref.WithKind(), err))
	default:
		t.record(Warned, command.Say("what its pods need could not be completed: %v", err))
	}
	t.isSupplied = true
	return nil
}

// notCreated tells apart what may pass from what will not.
func (t *task) notCreated(err error) error {
	if apierrors.IsAlreadyExists(err) {
		// It is looked at in the next round.
		return conflict(t.Kind, t.Name)
	}
	if mayPass(err) {
		// It may have been made nevertheless.
		t.isUnanswered = true
		return err
	}
	final := fmt.Errorf("cannot create the mirror of %s: %w", t.ref.WithKind(), err)
	if apierrors.IsInvalid(err) {
		final = fmt.Errorf("context %s does not take the mirror of %s: %s", t.worker.Context, t.ref.WithKind(), kubecontext.Causes(err))
	}
	t.abort(final)
	return nil
}
