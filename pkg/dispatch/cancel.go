package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// CancelReason is the reason of the condition Failed on an origin that was
// cancelled.
const CancelReason = "DispatchCancelled"

// Canceller ends dispatches.
type Canceller struct {
	Origin *fleet.Cluster
	// Workers are the clusters that may hold a mirror. Unreached are contexts of workers that do
	// not answer.
	Workers   []*fleet.Cluster
	Unreached []string
	// Others are further contexts of the same worker, by the context that represents it. They are
	// tried if that context has no right to delete a mirror.
	Others map[string][]*fleet.Cluster
	// Only is the only context to search; "" searches all.
	Only string
	// OriginMinor is the minor version of the origin's API server, 0 if unknown.
	OriginMinor int
	// Owner is the managedBy value of the Jobs that may be cancelled.
	Owner delegation.Owner
	// Abandon ends the origin without searching for its mirrors. They remain.
	Abandon bool
	// Identity is who cancels, for the message of the origin's condition.
	Identity string
	Clock    clock.PassiveClock
}

// Cancel deletes all mirrors of a Job, or of an object of another kind, and fails the origin with
// CancelReason. A finished origin keeps its status and only loses its mirror. If a mirror has
// finished, the origin gets the mirror's final status instead. A running dispatch of the origin
// notices the end and stops.
//
// Warnings and the end are reported as events. If ctx is done before the origin is written, Cancel changes
// nothing. Afterwards it still deletes the mirrors, because the origin no longer says that they run.
//
// Cancel searches for mirrors by their label, in all namespaces of all workers. If it cannot
// search a place that may hold a mirror, it changes nothing, unless c.Abandon is set.
//
// If the kind cannot express failure, the status stays as it is. An origin of a kind that never
// ends loses its mirror annotation, and can be dispatched again.
func (c *Canceller) Cancel(ctx context.Context, events *Recorder, k delegation.Kind, namespace, name string) error {
	x, origin, err := c.prepare(ctx, events, k, namespace, name)
	if err != nil {
		return err
	}
	for i := range x.mirrors {
		if err := x.chooseContext(ctx, &x.mirrors[i]); err != nil {
			return err
		}
	}
	stored, err := x.failOrigin(ctx)
	if err != nil {
		return x.unended(err)
	}
	e := Event{Event: Cancelled, Origin: &x.ref}
	if len(x.mirrors) > 0 {
		mirror := refOf(x.mirrors[0].Cluster, x.mirrors[0].Object)
		e.Mirror = &mirror
	}
	// Each request has a time limit of its own.
	whole := context.WithoutCancel(ctx)
	end := x.reportInterrupt(ctx)
	err = x.removeMirrors(whole)
	end()
	if err != nil {
		return err
	}
	x.removeCopies(ctx, origin)
	x.removeLease(whole, origin)
	if stored != nil {
		e.setState(k, stored)
	}
	e.Message = string(command.Text(x.describeEnd(stored)))
	events.Record(e)
	return nil
}

// prepare reads an origin and finds its mirrors. It changes nothing.
func (c *Canceller) prepare(ctx context.Context, events *Recorder, k delegation.Kind, namespace, name string) (x *cancellation, origin *unstructured.Unstructured, err error) {
	ref := refTo(c.Origin, k.GroupVersionKind(), namespace, name, "")
	if k.Template {
		return nil, nil, fmt.Errorf("%s is a template and never dispatched itself: its %s is for the objects it creates. Cancel those", ref.WithKind(), content.Dotted(k.ManagedBy))
	}
	origin, err = c.Origin.Get(ctx, k.Resource, namespace, name)
	if err != nil {
		return nil, nil, err
	}
	if origin == nil {
		return nil, nil, fmt.Errorf("context %q: %s not found. Name the namespace with -n", ref.Context, ref.WithKind())
	}
	if object.OwnerOf(k, origin) != c.Owner {
		return nil, nil, c.refuseOwner(ctx, k, origin)
	}
	ref.UID = string(origin.GetUID())
	x = &cancellation{Canceller: c, events: events, kind: k, ref: ref, copier: workloadOf(k).newCopier(c.OriginMinor)}
	if err := x.findMirrors(ctx, origin); err != nil {
		return nil, nil, err
	}
	return x, origin, nil
}

// cancellation is one call of Cancel or Preview.
type cancellation struct {
	*Canceller
	events *Recorder
	// dryRun is metav1.DryRunAll if the writes of the origin are only tried.
	dryRun []string
	// isWritten is whether a write of the origin was stored.
	isWritten bool
	kind      delegation.Kind
	ref       Ref
	copier    copier
	// mirrors are all mirrors found. The one that the origin names comes first.
	mirrors []FoundMirror
	// removed are the contexts of deleted mirrors. absent are those of mirrors that no longer
	// existed.
	removed, absent []string
}

// reportInterrupt reports why an interrupted command does not end at once: it has mirrors to delete. end waits
// until that is reported, and ends the reports.
func (x *cancellation) reportInterrupt(ctx context.Context) (end func()) {
	if len(x.mirrors) == 0 {
		return func() {}
	}
	on := make([]string, len(x.mirrors))
	for i, m := range x.mirrors {
		on[i] = m.Cluster.Context
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		x.events.Record(Event{Event: Warned, Origin: &x.ref, Message: string(command.Say(
			"interrupted; requesting the deletion of its mirror on %s first", list(withoutRepeats(on))))})
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// removeMirrors deletes all mirrors found. Its error names the mirrors that may still run.
func (x *cancellation) removeMirrors(ctx context.Context) error {
	var failures []error
	for _, m := range x.mirrors {
		mirror := refOf(m.Cluster, m.Object)
		removed, err := removeMirror(ctx, m.Cluster, x.kind, mirror, x.ref)
		var foreign *foreignError
		switch {
		case errors.As(err, &foreign):
			failures = append(failures, fmt.Errorf("%s: its mirror on %s was not deleted: %w", x.ref.WithKind(), m.Cluster.Context, err))
		case err != nil:
			failures = append(failures, command.Errorf("%s: its mirror may still run on %s: %w; %s removes it",
				x.ref.WithKind(), m.Cluster.Context, err, m.Cluster.Kubectl(mirror.Namespace, "delete", command.KindName(x.kind), mirror.Name)))
		case removed:
			x.removed = append(x.removed, m.Cluster.Context)
		default:
			x.absent = append(x.absent, m.Cluster.Context)
		}
	}
	return errors.Join(failures...)
}

// unended returns the error of a failed end. It names the mirrors that were found, because they still
// run.
func (x *cancellation) unended(err error) error {
	if changed := (*ownerChangedError)(nil); errors.As(err, &changed) {
		for _, m := range x.mirrors {
			err = command.Errorf("%w. %s", err, keepsRunning(m.Cluster, x.kind, refOf(m.Cluster, m.Object)))
		}
		return err
	}
	var all []string
	for _, m := range x.mirrors {
		all = append(all, fmt.Sprintf("%s on %s", refOf(m.Cluster, m.Object), m.Cluster.Context))
	}
	if len(all) == 0 {
		return err
	}
	again := "Run the command again"
	if !mayPass(err) && !apierrors.IsConflict(err) {
		again += " once that is fixed"
	}
	return fmt.Errorf("%w. Its mirrors were not deleted: %s. %s", err, list(all), again)
}

// describeEnd describes the end of an origin, nil for one that was deleted meanwhile.
func (x *cancellation) describeEnd(origin *unstructured.Unstructured) string {
	end := "it was deleted meanwhile"
	if origin != nil {
		end = "ended as " + string(object.StatusOf(x.kind, origin))
	}
	if origin != nil && object.EndOf(x.kind, origin) == nil && object.StatusOf(x.kind, origin) != delegation.Failed {
		end = fmt.Sprintf("it is no longer dispatched; its status did not change: %s has no failed state", object.WithArticle(x.kind.Kind))
	}
	if x.Abandon {
		return end + "; its mirror was not searched for, and remains if it exists"
	}
	if len(x.mirrors) == 0 {
		return end + "; no mirror of it was found on " + list(contextsOf(x.Workers))
	}
	if len(x.removed) > 0 {
		end += fmt.Sprintf("; %s removed", describeMirrors(x.removed))
	}
	if len(x.absent) > 0 {
		end += fmt.Sprintf("; %s already gone", describeMirrors(x.absent))
	}
	return end
}

// describeMirrors returns the subject of a sentence about the mirrors on some contexts, including
// "was" or "were".
func describeMirrors(on []string) string {
	if len(on) == 1 {
		return "its mirror on " + on[0] + " was"
	}
	return fmt.Sprintf("its %d mirrors on %s were", len(on), list(withoutRepeats(on)))
}

// withoutRepeats returns each name once, in the order of their first places.
func withoutRepeats(all []string) (names []string) {
	for _, name := range all {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func contextsOf(clusters []*fleet.Cluster) (names []string) {
	for _, c := range clusters {
		names = append(names, c.Context)
	}
	return names
}

// removeCopies deletes copies of ConfigMaps and Secrets that have no owner, which older versions
// left behind. They are in the namespace of each mirror or, without a mirror, in the namespace
// planned for it. An interrupt ends the search.
func (x *cancellation) removeCopies(ctx context.Context, origin *unstructured.Unstructured) {
	if x.Abandon {
		return
	}
	namespace := cmp.Or(pinnedMirror(origin).Namespace, x.ref.Namespace)
	for _, m := range x.mirrors {
		x.removeCopiesIn(ctx, m.Cluster, m.Object.GetNamespace())
	}
	if len(x.mirrors) == 0 {
		for _, worker := range x.Workers {
			x.removeCopiesIn(ctx, worker, namespace)
		}
	}
}

func (x *cancellation) removeCopiesIn(ctx context.Context, worker *fleet.Cluster, namespace string) {
	if ctx.Err() != nil {
		return
	}
	removed, err := dependency.RemoveUnowned(ctx, worker, namespace, x.ref.UID)
	for _, o := range removed {
		x.events.Record(Event{Event: Warned, Origin: &x.ref, Message: fmt.Sprintf("removing %s on %s, a copy for the mirror that has no owner", o, worker.Context)})
	}
	if err != nil && ctx.Err() == nil {
		x.events.Record(Event{Event: Warned, Origin: &x.ref, Message: err.Error()})
	}
}

// annotated returns a merge patch that sets annotations. A nil value removes one.
func annotated(annotations map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": annotations}}
}

// removeLease deletes the Lease, unless a dispatcher holds it that may be alive. That one may have requested
// a mirror before it noticed the end of the origin. before is the origin before its end.
func (x *cancellation) removeLease(ctx context.Context, before *unstructured.Unstructured) {
	l := &leaseStore{cluster: x.Origin, kind: x.kind, origin: x.ref}
	holder, err := l.removeUnheld(ctx, x.Clock)
	isEnded := object.EndOf(x.kind, before) != nil || isCancelled(before)
	switch {
	case err != nil:
		x.events.Record(Event{Event: Warned, Origin: &x.ref, Message: string(command.Say("Lease %s could not be removed: %v", l.name(), err))})
	case holder != "" && len(x.mirrors) == 0 && !x.Abandon && !isEnded:
		x.events.Record(Event{Event: Warned, Origin: &x.ref, Message: string(command.Say(
			"%s holds its Lease %s, and may have just requested a mirror. Run cancel again in a minute to find out", holder, l.name()))})
	}
}
