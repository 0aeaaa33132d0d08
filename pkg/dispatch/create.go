package dispatch

import (
	"context"
	"errors"
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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// CreateOrigin creates a delegated Job, or an object of another kind, and checks that it is
// delegated. API servers before Kubernetes 1.32 silently drop a Job's managedBy (KEP-4368), and
// so do servers with older versions of other kinds. The cluster would then run the object itself,
// so CreateOrigin deletes it again.
func CreateOrigin(ctx context.Context, c *fleet.Cluster, k delegation.Kind, job *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx = context.WithoutCancel(ctx)
	created, err := c.CreateOnce(ctx, k.Resource, job, metav1.FieldValidationStrict, fleet.NewManager())
	unknown := (*fleet.UnknownCreationError)(nil)
	switch {
	case errors.As(err, &unknown):
		return nil, fmt.Errorf("context %q: unknown whether %s was created: %w. Run the command again: it resumes an existing one", c.Context, object.KindAndName(job), kubecontext.Cause(err))
	case apierrors.IsInvalid(err):
		return nil, fmt.Errorf("context %q: cannot create %s: %s", c.Context, object.KindAndName(job), kubecontext.Causes(err))
	case err != nil:
		return nil, fmt.Errorf("context %q: cannot create %s: %w", c.Context, object.KindAndName(job), kubecontext.Cause(err))
	}
	isWrong := func(o *unstructured.Unstructured) bool {
		return content.StringAt(o, k.ManagedBy...) != content.StringAt(job, k.ManagedBy...)
	}
	if !isWrong(created) {
		return created, nil
	}
	ref := refOf(c, created)
	dropped := fmt.Errorf("context %q: the API server drops %s, so %s would run there too%s", c.Context, content.Dotted(k.ManagedBy), ref.WithKind(), object.NeededFor(k))
	if _, err := c.RemoveIf(ctx, k.Resource, created, isWrong); err != nil {
		return nil, fmt.Errorf("%w; and it could not be deleted again: %w", dropped, err)
	}
	return nil, dropped
}

// CreatedEvent returns the event of a created origin.
func CreatedEvent(c *fleet.Cluster, job *unstructured.Unstructured) Event {
	origin := refOf(c, job)
	return Event{Event: OriginCreated, Message: string(command.Say("created on %s", c.Context)), Origin: &origin}
}

// ProblemEvent returns the event of a problem that preflight found with a Job in context at.
func ProblemEvent(at string, job *unstructured.Unstructured, p preflight.Problem) Event {
	origin := refOf(&fleet.Cluster{Context: at}, job)
	what := p.Message
	if about := p.Object.String(); about != "" && !p.IsSentence {
		what = about + ": " + what
	}
	e := Event{Event: Warned, Message: string(command.Say("context %q: %s", p.Context, what)), Origin: &origin}
	if p.Blocking {
		e.Event = Refused
	}
	if p.Remedy != "" {
		e.Message += "; " + string(p.Remedy)
	}
	return e
}

// createMirror creates the mirror. It copies the dependencies of its Pods afterwards, so that the
// mirror owns each copy from the beginning. Wherever this process dies, garbage collection
// deletes a Secret together with the mirror.
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
	// An interrupt must not cancel this request: its result would be unknown.
	created, err := t.worker.Create(context.WithoutCancel(ctx), t.Kind.Resource, t.suspendForCopies(planned), metav1.FieldValidationWarn)
	if err != nil {
		return nil, t.creationFailed(err)
	}
	t.mirrorRef.UID = string(created.GetUID())
	t.creation.succeed(t.mirrorRef.UID)
	t.mirrorNow = created
	t.push.lastPlanned = planned
	t.reported.mirror = true
	t.record(MirrorCreated, command.Say("created on %s", t.worker.Context))
	return t.mirrorNow, nil
}

// waitForPods returns a conflict while Pods of the replaced mirror still run. A mirror can be
// gone before its Pods are.
func (t *task) waitForPods(ctx context.Context) error {
	if t.creation.supersededUID == "" || !t.Kind.IsJob() {
		return nil
	}
	running := 0
	ofMirror := metav1.ListOptions{LabelSelector: labels.Set{batchv1.ControllerUidLabel: t.creation.supersededUID}.String()}
	err := t.worker.Each(ctx, corev1.SchemeGroupVersion.WithResource("pods"), t.mirrorRef.Namespace, ofMirror, func(pod *unstructured.Unstructured) {
		if phase := content.StringAt(pod, "status", "phase"); phase != string(corev1.PodSucceeded) && phase != string(corev1.PodFailed) {
			running++
		}
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil // Preflight has already reported that Pods cannot be listed.
	case err != nil:
		return err
	case running == 0:
		return nil
	}
	if !t.reported.pods {
		t.reported.pods = true
		t.record(Warned, command.Say("waiting until the Pods of its earlier mirror on %s end; still running: %d", t.worker.Context, running))
	}
	return conflict(t.Kind, t.Name)
}

// fence checks with the API servers that this task may still create the mirror, and that the
// origin has not changed. This process may have been suspended for longer than its Lease lasts,
// and another dispatcher may have taken over. The Lease is therefore read last.
func (t *task) fence(ctx context.Context, origin *unstructured.Unstructured) error {
	live, err := t.origin.get(ctx, t.Kind, t.ref)
	if err != nil {
		return err
	}
	if live == nil || live.GetUID() != t.UID || live.GetDeletionTimestamp() != nil || object.EndOf(t.Kind, live) != nil || pinnedMirror(live) != pinnedMirror(origin) || !t.Plan.IsFor(live) {
		if live != nil && live.GetUID() == t.UID {
			t.originNow = newer(live, t.originNow)
		}
		return conflict(t.Kind, t.Name)
	}
	// A proxy may point to another cluster than when the context was opened.
	if err := t.worker.Verify(ctx, t.mirrorRef.Namespace); err != nil && !kubecontext.IsUnidentified(err) {
		return err
	}
	return t.lease.confirm(ctx)
}

// suspendForCopies returns a planned mirror that stays suspended until its dependencies are copied. A Pod
// waits for a required ConfigMap, but not for an optional one. The mirror is started later like
// one whose origin is resumed. Not all controllers accept an object that is suspended from the
// start, and in a queue, Kueue decides about suspension; in these cases the planned mirror is
// returned unchanged.
func (t *task) suspendForCopies(planned *unstructured.Unstructured) *unstructured.Unstructured {
	isQueued := content.StringsAt(planned, "metadata", "labels")[delegation.QueueNameLabel] != ""
	path, value := object.Hold(t.Kind)
	if len(t.Dependencies) == 0 || !t.Kind.CanStartSuspended || isQueued || path == nil {
		return planned
	}
	held := planned.DeepCopy()
	if unstructured.SetNestedField(held.Object, value, path...) != nil {
		return planned // No server accepts such an object anyway.
	}
	return held
}

// isSuspendedForCopies reports whether the mirror is suspended only until its dependencies are copied.
func (t *task) isSuspendedForCopies() bool {
	return len(t.Dependencies) > 0 && !t.creation.areDependenciesCopied && t.creation.ownUID != "" && t.mirrorNow != nil && t.Plan != nil &&
		object.StateOf(t.Kind, t.mirrorNow).Suspend && !object.StateOf(t.Kind, t.Plan.Mirror).Suspend
}

// copyDependencies copies the dependencies of the mirror's Pods, once. If they cannot be copied, it deletes
// a mirror that this task has created, and only warns about an older one.
func (t *task) copyDependencies(ctx context.Context, mirror *unstructured.Unstructured) error {
	if t.creation.areDependenciesCopied || len(t.Dependencies) == 0 || mirror.GetDeletionTimestamp() != nil {
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
	case t.creation.isOwn(string(mirror.GetUID())):
		if err := t.removeMirror(ctx, ", because what its Pods need cannot be copied"); err != nil {
			return err
		}
		t.abort(fmt.Errorf("cannot copy the dependencies of the Pods of %s: %w", t.ref.WithKind(), err))
	default:
		t.record(Warned, command.Say("cannot complete its dependencies: %v", err))
	}
	t.creation.areDependenciesCopied = true
	return nil
}

// creationFailed handles an error of creating the mirror: it returns errors that may pass, and
// aborts the task for all others.
func (t *task) creationFailed(err error) error {
	if apierrors.IsAlreadyExists(err) {
		// The next round reads the existing object.
		return conflict(t.Kind, t.Name)
	}
	if mayPass(err) {
		t.creation.fail(err)
		return err
	}
	final := fmt.Errorf("cannot create the mirror of %s: %w", t.ref.WithKind(), err)
	if apierrors.IsInvalid(err) {
		final = fmt.Errorf("context %s rejects the mirror of %s: %s", t.worker.Context, t.ref.WithKind(), kubecontext.Causes(err))
	}
	t.abort(final)
	return nil
}
