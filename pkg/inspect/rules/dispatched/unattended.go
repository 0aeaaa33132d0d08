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

// unattendedOrigin is a dispatched origin whose Lease no dispatcher holds.
type unattendedOrigin struct {
	inspect.Pair
	// lease is nil if there is none.
	lease *inspect.Lease
	// check is the result of reading the place that the origin records for its
	// mirror.
	check view.PinnedMirror
	// mirror is nil if none was found.
	mirror *inspect.Job
}

// eachUnattended visits the origins, finished or not, that are not being
// deleted and whose Lease no dispatcher holds. For owners other than our own,
// the Lease is the only proof that dispatch runs the Job.
func eachUnattended(v *view.View, visit func(*view.View, unattendedOrigin)) {
	for _, p := range v.Pairs() {
		o := p.Origin
		if o.DeletedAt != nil || !o.IsDispatched() || !advice.CanDispatch(o.Row()) {
			continue
		}
		lease, held, known := v.Lease(o)
		if !known || held || lease == nil && o.ManagedBy != delegation.Dispatch {
			continue
		}
		x := unattendedOrigin{Pair: p, lease: lease, check: v.PinnedMirror(o)}
		if x.mirror = x.check.Mirror; x.mirror == nil {
			x.mirror = view.DispatchedMirror(p)
		}
		visit(v, x)
	}
}

// eachUnfinished visits the unattended origins that are not finished and have
// a mirror, or may have one. It leaves out origins that were never
// dispatched, and those whose mirror certainly no longer exists.
func eachUnfinished(v *view.View, visit func(*view.View, unattendedOrigin)) {
	eachUnattended(v, func(v *view.View, x unattendedOrigin) {
		mayHave := x.mirror != nil || !x.Origin.Pinned().IsZero() && !x.check.IsGone() && !x.check.IsCopy
		if mayHave && !x.Origin.Status.IsFinished() {
			visit(v, x)
		}
	})
}

// since returns since when no dispatcher holds the Lease, as far as it is
// known. If the Lease no longer exists, that is when the origin was last
// written.
func (x *unattendedOrigin) since(v *view.View) time.Time {
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
func (x *unattendedOrigin) place(v *view.View) (name, context string) {
	if x.mirror != nil {
		return x.mirror.Context, x.mirror.Context
	}
	place := x.Origin.Pinned()
	if f := v.ClusterOf(place); f != nil {
		return f.Context, f.Context
	}
	return place.Cluster(), "CONTEXT"
}

// resumeCommand returns the command that resumes with the mirror. If the origin names
// another mirror, dispatch needs a flag to resume with this one, which was
// created instead.
func (x *unattendedOrigin) resumeCommand(v *view.View) command.Command {
	_, context := x.place(v)
	place := x.Origin.Pinned()
	namespace := place.Namespace
	if x.mirror != nil {
		namespace = x.mirror.Namespace
	}
	resume := advice.DispatchTo(x.Origin, context, namespace)
	if x.mirror != nil && !place.IsZero() && x.mirror.UID != place.UID {
		resume = resume.With(advice.NewMirrorFlag)
	}
	return resume
}

// evidence quotes the Lease, the origin, and the mirror or the annotation
// that names it.
func (x *unattendedOrigin) evidence() []string {
	lines := []string{x.leaseLine(), quote.State(x.Origin)}
	if x.mirror != nil {
		return append(lines, quote.State(x.mirror))
	}
	return append(lines, quote.MirrorAnnotation(x.Origin))
}

// leaseLine quotes the Lease.
func (x *unattendedOrigin) leaseLine() string {
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
