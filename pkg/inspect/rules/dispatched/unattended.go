package dispatched

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// unattended is a dispatched origin whose Lease no dispatcher holds.
type unattended struct {
	inspect.Pair
	// lease is nil if there is none.
	lease *inspect.Lease
	// spot is what was found at the place that the origin names as its
	// mirror's.
	spot view.PinnedMirror
	// mirror is nil if none was found.
	mirror *inspect.Job
}

// eachUnattended visits the origins, finished or not, that are not being
// deleted and whose Lease no dispatcher holds. For owners other than our own,
// the Lease is the only proof that dispatch runs the Job.
func eachUnattended(v *view.View, visit func(*view.View, unattended)) {
	for _, p := range v.Pairs() {
		o := p.Origin
		if o.DeletedAt != nil || !o.IsDispatched() || !advice.CanDispatch(o.Row()) {
			continue
		}
		lease, held, known := v.Lease(o)
		if !known || held || lease == nil && o.ManagedBy != delegation.Dispatch {
			continue
		}
		x := unattended{Pair: p, lease: lease, spot: v.PinnedMirror(o)}
		if x.mirror = x.spot.Mirror; x.mirror == nil {
			x.mirror = view.DispatchedMirror(p)
		}
		visit(v, x)
	}
}

// eachUnfinished visits the unattended origins that are not finished and have
// a mirror, or may have one. It leaves out origins that were never
// dispatched, and those whose mirror certainly no longer exists.
func eachUnfinished(v *view.View, visit func(*view.View, unattended)) {
	eachUnattended(v, func(v *view.View, x unattended) {
		mayHave := x.mirror != nil || !x.Origin.Pinned().IsZero() && !x.spot.IsGone() && !x.spot.IsCopy
		if mayHave && !x.Origin.Status.IsFinished() {
			visit(v, x)
		}
	})
}

// since returns since when no dispatcher holds the Lease, as far as it is
// known. If the Lease no longer exists, that is when the origin was last
// written.
func (x *unattended) since(v *view.View) time.Time {
	if x.lease != nil {
		return x.lease.FreeSince()
	}
	last := view.Latest(view.TimeOf(x.Origin.SpecWrittenAt), view.TimeOf(x.Origin.StatusWrittenAt))
	if x.mirror != nil {
		last = view.Latest(last, v.On(x.Origin.Context, x.mirror.Context, x.mirror.CreationTimestamp.Time))
	}
	return last
}

// place returns the name of the mirror's cluster for people, and the context
// that reaches it.
func (x *unattended) place(v *view.View) (name, context string) {
	if x.mirror != nil {
		return x.mirror.Context, x.mirror.Context
	}
	place := x.Origin.Pinned()
	if f := v.ClusterOf(place); f != nil {
		return f.Context, f.Context
	}
	return place.Cluster(), "CONTEXT"
}

// again returns the command that resumes with the mirror. If the origin names
// another mirror, dispatch needs a flag to resume with this one, which was
// created instead.
func (x *unattended) again(v *view.View) command.Command {
	_, context := x.place(v)
	place := x.Origin.Pinned()
	namespace := place.Namespace
	if x.mirror != nil {
		namespace = x.mirror.Namespace
	}
	again := advice.DispatchTo(x.Origin, context, namespace)
	if x.mirror != nil && !place.IsZero() && x.mirror.UID != place.UID {
		again = again.With(advice.NewMirrorFlag)
	}
	return again
}

// evidence quotes the Lease, the origin, and the mirror or the annotation
// that names it.
func (x *unattended) evidence() []string {
	lines := []string{x.leaseLine(), quote.State(x.Origin)}
	if x.mirror != nil {
		return append(lines, quote.State(x.mirror))
	}
	return append(lines, quote.MirrorAnnotation(x.Origin))
}

// leaseLine quotes the Lease.
func (x *unattended) leaseLine() string {
	o := x.Origin
	name := fmt.Sprintf("Lease %s/%s", o.Namespace, o.Row().LeaseName(o.Name))
	l := x.lease
	if l == nil {
		return fmt.Sprintf("%s: there is no %s with label %s=%s", o.Context, name, delegation.OriginUIDLabel, o.UID)
	}
	renewed := quote.MaybeTime(l.Renewed)
	if l.Holder == "" {
		return fmt.Sprintf("%s: spec.holderIdentity of %s is empty since %s", o.Context, name, renewed)
	}
	return fmt.Sprintf("%s: spec.holderIdentity of %s is %s, which last renewed it at %s; the Lease is valid for %s", o.Context, name, l.Holder, renewed, l.Duration)
}
