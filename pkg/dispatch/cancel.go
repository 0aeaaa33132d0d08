package dispatch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
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
	// Workers are the clusters that a mirror may be on, and Unreached the contexts
	// of those that do not answer.
	Workers   []*fleet.Cluster
	Unreached []string
	// Others are other contexts of a worker, by the context that stands for it. They are
	// asked to remove a mirror that this one may not remove.
	Others map[string][]*fleet.Cluster
	// Only is the context that alone is looked at, "" if all are.
	Only string
	// OriginMinor is the minor version of the origin's API server, 0 if unknown.
	OriginMinor int
	// Owner is the managedBy value of the Jobs that may be ended.
	Owner delegation.Owner
	// Abandon ends an origin although its mirror's cluster cannot be reached: the
	// mirror stays.
	Abandon bool
	// Identity names who cancels, in the origin's condition.
	Identity string
	Clock    clock.PassiveClock
	Events   *Recorder
}

// Cancel removes the mirror of a Job, or of an object of another kind, and has the
// origin fail with CancelReason. One that is finished already keeps its end, and
// loses its mirror; one whose mirror is finished gets that end. Whoever dispatches it
// sees that and stops. Nothing is changed if the mirror cannot be reached, unless it
// is abandoned.
//
// Of a kind that has no way to say that an object has failed, the status stays. An
// origin of a kind that never ends does not name its mirror any more, and can be
// dispatched again.
func (c *Canceller) Cancel(ctx context.Context, k delegation.Kind, namespace, name string) error {
	ref := refTo(c.Origin, k.GroupVersionKind(), namespace, name, "")
	if k.Template {
		return fmt.Errorf("%s is not dispatched itself: its %s is that of what it makes; cancel that", ref.WithKind(), content.Dotted(k.ManagedBy))
	}
	origin, err := c.Origin.Get(ctx, k.Resource, namespace, name)
	if err != nil {
		return err
	}
	if origin == nil {
		return fmt.Errorf("context %s: there is no %s", ref.Context, ref.WithKind())
	}
	if owner := k.OwnerOf(content.StringAt(origin, k.ManagedBy...)); owner != c.Owner {
		return command.Errorf("%s is managed by %s and not by %s: it was not dispatched by this plugin; %s ends it",
			ref.WithKind(), owner, c.Owner, c.Origin.Kubectl(namespace, "delete", command.KindName(k), name))
	}
	ref.UID = string(origin.GetUID())
	x := &cancellation{Canceller: c, kind: k, ref: ref}
	if err := x.find(ctx, origin); err != nil {
		return err
	}
	if x.mirror != nil {
		if err := x.choose(ctx); err != nil {
			return err
		}
	}
	stored, err := x.fail(ctx)
	if err != nil {
		return err
	}
	e := Event{Event: Cancelled, Origin: &ref}
	if x.mirror != nil {
		mirror := refOf(x.worker, x.mirror)
		e.Mirror = &mirror
		if _, err := remove(ctx, x.worker, k, mirror); err != nil {
			return command.Errorf("%s has ended, but its mirror runs on: %w; %s removes it",
				ref.WithKind(), err, x.worker.Kubectl(mirror.Namespace, "delete", command.KindName(k), mirror.Name))
		}
	}
	x.removeCopies(ctx, origin)
	x.tidy(ctx)
	e.setState(k, stored)
	e.Message = string(command.Text(x.tellEnd(stored)))
	c.Events.Record(e)
	return nil
}

// cancellation is the end of one dispatch.
type cancellation struct {
	*Canceller
	kind delegation.Kind
	ref  Ref
	// mirror is nil if there is none; otherwise it is on worker.
	worker *fleet.Cluster
	mirror *unstructured.Unstructured
}

func (x *cancellation) tellEnd(origin *unstructured.Unstructured) string {
	end := "it is ended as " + string(object.StatusOf(x.kind, origin))
	if object.EndOf(x.kind, origin) == nil && object.StatusOf(x.kind, origin) != delegation.Failed {
		end = fmt.Sprintf("it is not dispatched any more; its status stays as it was, because a status of %s cannot say that it was ended", object.WithArticle(x.kind.Kind))
	}
	switch {
	case x.mirror != nil:
		return fmt.Sprintf("%s, and its mirror on %s is removed", end, x.worker.Context)
	case x.Abandon:
		return end + "; its mirror was not looked for"
	}
	return end + "; it had no mirror"
}

// fail ends the origin, unless it has ended already, and returns it as it is then.
func (x *cancellation) fail(ctx context.Context) (stored *unstructured.Unstructured, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := x.Origin.Get(ctx, x.kind.Resource, x.ref.Namespace, x.ref.Name)
		if err != nil {
			return err
		}
		if live == nil || string(live.GetUID()) != x.ref.UID {
			return fmt.Errorf("context %s: %s was deleted meanwhile", x.ref.Context, x.ref.WithKind())
		}
		if stored = live; object.EndOf(x.kind, live) != nil {
			return nil
		}
		status, again, err := x.lastStatus(live)
		if err != nil {
			return err
		}
		if status != nil {
			if stored, err = patch(ctx, x.Origin, x.kind, live, "status", map[string]any{"status": status}); err != nil {
				return err
			}
		}
		if again {
			// The end takes two writes.
			return x.Origin.Failed(conflict(x.kind, x.ref.Name))
		}
		if object.NeverEnds(x.kind) && namesMirror(stored) {
			stored, err = patch(ctx, x.Origin, x.kind, stored, "", map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{delegation.MirrorAnnotation: nil}},
			})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("could not end %s: %w", x.ref.WithKind(), err)
	}
	return stored, nil
}

// lastStatus is what is written to an origin that is cancelled, nil if nothing is.
func (x *cancellation) lastStatus(origin *unstructured.Unstructured) (status any, again bool, err error) {
	where := "it had no mirror"
	switch {
	case x.mirror != nil:
		where = "its mirror on " + x.worker.Context + " was removed"
	case x.Abandon:
		where = "its mirror was left where it is"
	}
	if x.mirror != nil && object.HasFinished(x.kind, x.mirror) {
		result, err := workloadOf(x.kind).copier(x.OriginMinor).copied(origin, x.mirror, true)
		if err != nil {
			return nil, false, err
		}
		if result.more || result.ends {
			return result.status, result.more, nil
		}
		// The origin cannot be told this end any more.
	}
	status, err = workloadOf(x.kind).failed(origin, CancelReason, fmt.Sprintf("cancelled by %s; %s", x.Identity, where), x.Clock.Now())
	return status, false, err
}

// removeCopies removes what was copied for the mirror and is owned by nobody, which an
// older version has left: beside the mirror, or, where there is none, wherever it may
// have been about to be made.
func (x *cancellation) removeCopies(ctx context.Context, origin *unstructured.Unstructured) {
	workers, namespace := x.Workers, x.ref.Namespace
	if named := pinned(origin); !named.IsZero() {
		namespace = named.Namespace
	}
	switch {
	case x.Abandon:
		return
	case x.mirror != nil:
		workers, namespace = []*fleet.Cluster{x.worker}, x.mirror.GetNamespace()
	}
	for _, worker := range workers {
		removed, err := dependency.RemoveLeft(ctx, worker, namespace, x.ref.UID)
		for _, o := range removed {
			x.Events.Record(Event{Event: Warned, Origin: &x.ref, Message: fmt.Sprintf("%s on %s, which was copied for the mirror and left without an owner, is removed", o, worker.Context)})
		}
		if err != nil {
			x.Events.Record(Event{Event: Warned, Origin: &x.ref, Message: err.Error()})
		}
	}
}

// tidy removes the Lease, unless somebody holds it: they do so themselves.
func (x *cancellation) tidy(ctx context.Context) {
	l := &lease{cluster: x.Origin, kind: x.kind, origin: x.ref, clock: x.Clock}
	if err := l.remove(ctx); err != nil {
		x.Events.Record(Event{Event: Warned, Origin: &x.ref, Message: string(command.Say("Lease %s could not be removed: %v", l.name(), err))})
	}
}

// Find returns the objects of a kind in a namespace that match a label selector and
// belong to the owner, finished or not, and how many others match.
func Find(ctx context.Context, c *fleet.Cluster, k delegation.Kind, owner delegation.Owner, namespace, selector string) (found []*unstructured.Unstructured, others int, err error) {
	err = c.Each(ctx, k.Resource, namespace, metav1.ListOptions{LabelSelector: selector}, func(o *unstructured.Unstructured) {
		if object.OwnerOf(k, o) == owner {
			found = append(found, o)
		} else {
			others++
		}
	})
	return found, others, err
}
