package dispatch

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// pushState is what is remembered of writing to the mirror.
type pushState struct {
	// refused is whether the worker does not take what planned asks for, and writes
	// how often it was written.
	refused bool
	writes  int
	// inStep is the mirror as it was when it was found to be what is planned.
	inStep object.Desired
	// deferred is what was told to wait, or to be impossible.
	deferred string
}

// fight is how often the same plan is written to a mirror before it is taken that
// somebody else wants it otherwise.
const fight = 5

// pushSpec writes to the mirror what the user has changed on the origin.
func (t *task) pushSpec(ctx context.Context, origin, mirror *unstructured.Unstructured) error {
	planned, err := t.plan(origin)
	if err != nil {
		return err
	}
	if t.push.refused || t.push.inStep.IsOf(mirror) {
		return nil
	}
	drift := plan.DriftOf(t.Kind, planned, t.before, mirror)
	t.tellUnpushed(drift)
	if drift.Patch == nil {
		t.wrote(drift, planned)
		if len(drift.Deferred) == 0 {
			t.push.inStep = object.DesiredOf(mirror)
		}
		return nil
	}
	if t.push.writes == fight {
		t.push.refused = true
		t.record(Warned, command.Say("somebody on %s changes %s of the mirror back; it is left alone until the origin changes",
			t.worker.Context, strings.Join(drift.Fields, ", ")))
		return nil
	}
	written, err := t.worker.patch(ctx, t.Kind, mirror, "", drift.Patch)
	if apierrors.IsInvalid(err) {
		if rest := drift.WithoutTemplate(); rest.Patch != nil && len(rest.Fields) < len(drift.Fields) {
			drift = rest
			written, err = t.worker.patch(ctx, t.Kind, mirror, "", drift.Patch)
		}
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		t.push.refused = true
		t.record(Warned, command.Say("context %s does not take %s of the origin for the mirror: %s",
			t.worker.Context, strings.Join(drift.Fields, ", "), kubecontext.Causes(err)))
		return nil
	}
	if err != nil {
		return err
	}
	t.push.writes++
	t.mirrorNow = written
	t.wrote(drift, planned)
	t.record(SpecPushed, command.Say("changed on the mirror as on the origin: %s", strings.Join(drift.Fields, ", ")))
	// One write may not be all.
	t.queue.Add(t)
	return nil
}

// wrote remembers what the mirror was written by. With many Jobs it matters that
// no second copy is kept of what is the same.
func (t *task) wrote(drift plan.Drift, planned *unstructured.Unstructured) {
	if len(drift.Deferred) > 0 {
		t.before = drift.Written(planned, t.before)
		return
	}
	t.before = planned
}

// plan is the mirror as the origin wants it now. It is made anew only when the
// user has changed something, and not with each status.
func (t *task) plan(origin *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if t.Plan != nil && t.Plan.IsFor(origin) {
		return t.Plan.Mirror, nil
	}
	o := t.options.Plan
	o.Kind = t.Kind
	made, err := plan.New(origin, o)
	if err != nil {
		return nil, err
	}
	t.Plan, t.push = made, pushState{}
	return made.Mirror, nil
}

// tellUnpushed tells once what the mirror cannot be told.
func (t *task) tellUnpushed(drift plan.Drift) {
	var parts []string
	if len(drift.Deferred) > 0 {
		parts = append(parts, fmt.Sprintf("%s of the origin can be changed on the mirror only while it is suspended and has no pods", strings.Join(drift.Deferred, ", ")))
	}
	if len(drift.Immutable) > 0 {
		parts = append(parts, fmt.Sprintf("%s of the mirror differs from the origin, and can never be changed", strings.Join(drift.Immutable, ", ")))
	}
	if len(drift.Foreign) > 0 {
		parts = append(parts, fmt.Sprintf("%s of the mirror is left to whoever decides on it on %s", strings.Join(drift.Foreign, ", "), t.worker.Context))
	}
	if len(drift.Unshared) > 0 {
		parts = append(parts, fmt.Sprintf("of a %s, only what holds it back, labels and annotations are carried over to the mirror, and not what has changed on the origin: %s",
			t.Kind.Kind, strings.Join(drift.Unshared, ", ")))
	}
	message := strings.Join(parts, "; ")
	if message != "" && message != t.push.deferred {
		t.record(Warned, command.Text(message))
	}
	t.push.deferred = message
}
