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

// pushState is the state of writing to the mirror.
type pushState struct {
	// refused is whether the worker refuses the planned changes. writes counts the writes of this
	// plan.
	refused bool
	writes  int
	// synced is the mirror as it was when it matched the plan.
	synced object.Desired
	// lastReport is the last report of changes that have to wait or are impossible.
	lastReport string
}

// maxWrites is the number of writes of one plan to a mirror. After these, another client is
// assumed to revert them.
const maxWrites = 5

// pushSpec writes the user's changes of the origin to the mirror.
func (t *task) pushSpec(ctx context.Context, origin, mirror *unstructured.Unstructured) error {
	planned, err := t.plan(origin)
	if err != nil {
		return err
	}
	if t.push.refused || t.push.synced.IsOf(mirror) {
		return nil
	}
	drift := plan.DriftOf(t.Kind, planned, t.lastPlanned, mirror)
	t.reportUnpushed(drift)
	if drift.Patch == nil {
		t.recordWritten(drift, planned)
		if len(drift.Deferred) == 0 {
			t.push.synced = object.DesiredOf(mirror)
		}
		return nil
	}
	if t.push.writes == maxWrites {
		t.push.refused = true
		t.record(Warned, command.Say("another client on %s reverts %s of the mirror; dispatch does not change it until the origin changes",
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
		t.record(Warned, command.Say("context %s rejects %s of the origin for the mirror: %s",
			t.worker.Context, strings.Join(drift.Fields, ", "), kubecontext.Causes(err)))
		return nil
	}
	if err != nil {
		return err
	}
	t.push.writes++
	t.mirrorNow = written
	t.recordWritten(drift, planned)
	t.record(SpecPushed, command.Say("copied from the origin to the mirror: %s", strings.Join(drift.Fields, ", ")))
	// One write may not be enough.
	t.queue.Add(t)
	return nil
}

// recordWritten remembers the planned mirror as last written. It keeps no second copy of equal
// parts, which matters with many Jobs.
func (t *task) recordWritten(drift plan.Drift, planned *unstructured.Unstructured) {
	if len(drift.Deferred) > 0 {
		t.lastPlanned = drift.Written(planned, t.lastPlanned)
		return
	}
	t.lastPlanned = planned
}

// plan returns the mirror that the origin wants now. It plans again only if the user has changed
// the origin, and not after each status.
func (t *task) plan(origin *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if t.Plan != nil && t.Plan.IsFor(origin) {
		return t.Plan.Mirror, nil
	}
	o := t.options.Plan
	o.Kind = t.Kind
	newPlan, err := plan.New(origin, o)
	if err != nil {
		return nil, err
	}
	t.Plan, t.push = newPlan, pushState{}
	return newPlan.Mirror, nil
}

// reportUnpushed reports, once, which changes cannot be written to the mirror.
func (t *task) reportUnpushed(drift plan.Drift) {
	var parts []string
	if len(drift.Deferred) > 0 {
		parts = append(parts, fmt.Sprintf("%s of the origin can be changed on the mirror only while it is suspended and has no Pods", strings.Join(drift.Deferred, ", ")))
	}
	if len(drift.Immutable) > 0 {
		parts = append(parts, fmt.Sprintf("%s of the mirror differs from the origin, and can never be changed", strings.Join(drift.Immutable, ", ")))
	}
	if len(drift.Foreign) > 0 {
		parts = append(parts, fmt.Sprintf("%s of the mirror is left to the controller that sets it on %s", strings.Join(drift.Foreign, ", "), t.worker.Context))
	}
	if len(drift.Unshared) > 0 {
		parts = append(parts, fmt.Sprintf("for %s, dispatch copies only suspension, labels and annotations to the mirror; not copied: %s",
			object.WithArticle(t.Kind.Kind), strings.Join(drift.Unshared, ", ")))
	}
	message := strings.Join(parts, "; ")
	if message != "" && message != t.push.lastReport {
		t.record(Warned, command.Text(message))
	}
	t.push.lastReport = message
}
