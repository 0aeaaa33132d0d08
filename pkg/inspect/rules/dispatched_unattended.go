package rules

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// unattended is an origin that was dispatched and that nobody looks after.
type unattended struct {
	inspect.Pair
	// lease is nil if there is none.
	lease *inspect.Lease
	// spot is what is found where the origin says that its mirror is.
	spot spot
	// mirror is nil where none was found.
	mirror *inspect.Job
}

// eachUnattended visits the origins that are there to stay, finished or not, and
// whose Lease nobody holds. Of an owner that is not ours the Lease is the only
// proof that dispatch runs its Job.
func (v *View) eachUnattended(visit func(*View, unattended)) {
	for _, p := range v.Pairs() {
		o := p.Origin
		if o.DeletedAt != nil || !o.IsDispatched() || !mayDispatch(o.Row()) {
			continue
		}
		lease, held, known := v.Lease(o)
		if !known || held || lease == nil && o.ManagedBy != delegation.Dispatch {
			continue
		}
		x := unattended{Pair: p, lease: lease, spot: v.spotOf(o)}
		if x.mirror = x.spot.mirror; x.mirror == nil {
			x.mirror = dispatchedMirror(p)
		}
		visit(v, x)
	}
}

// eachUnfinished visits those of them that are not finished and have a mirror, or
// may have: what was never dispatched is not one, nor is one whose mirror is gone.
func (v *View) eachUnfinished(visit func(*View, unattended)) {
	v.eachUnattended(func(v *View, x unattended) {
		mayHave := x.mirror != nil || !x.Origin.Pinned().IsZero() && !x.spot.isGone() && !x.spot.isCopy
		if mayHave && !x.Origin.Status.IsFinished() {
			visit(v, x)
		}
	})
}

// since is since when nobody looks after it, as far as that is known. Where there
// is no Lease any more, somebody did when it was last written to.
func (x *unattended) since(v *View) time.Time {
	if x.lease != nil {
		return x.lease.FreeSince()
	}
	last := newest(timeOf(x.Origin.SpecWrittenAt), timeOf(x.Origin.StatusWrittenAt))
	if x.mirror != nil {
		last = newest(last, v.On(x.Origin.Context, x.mirror.Context, x.mirror.CreationTimestamp.Time))
	}
	return last
}

// where is what a person calls the mirror's cluster, and the context that leads
// there.
func (x *unattended) where(v *View) (name, context string) {
	if x.mirror != nil {
		return x.mirror.Context, x.mirror.Context
	}
	place := x.Origin.Pinned()
	if f := v.clusterOf(place); f != nil {
		return f.Context, f.Context
	}
	return place.Cluster(), "CONTEXT"
}

// again is the command that goes on with the mirror. With one that the origin does
// not name, made in place of the one that it does, dispatch only goes on if told.
func (x *unattended) again(v *View) command.Command {
	_, context := x.where(v)
	place := x.Origin.Pinned()
	namespace := place.Namespace
	if x.mirror != nil {
		namespace = x.mirror.Namespace
	}
	again := dispatchTo(x.Origin, context, namespace)
	if x.mirror != nil && !place.IsZero() && x.mirror.UID != place.UID {
		again = again.With(newMirror)
	}
	return again
}

// evidence quotes the Lease, and what tells of the mirror.
func (x *unattended) evidence() []string {
	lines := []string{x.leaseLine(), stateOf(x.Origin)}
	if x.mirror != nil {
		return append(lines, stateOf(x.mirror))
	}
	return append(lines, pinOf(x.Origin))
}

// leaseLine quotes the Lease.
func (x *unattended) leaseLine() string {
	o := x.Origin
	name := fmt.Sprintf("Lease %s/%s", o.Namespace, o.Row().LeaseName(o.Name))
	l := x.lease
	if l == nil {
		return fmt.Sprintf("%s: there is no %s with label %s=%s", o.Context, name, delegation.OriginUIDLabel, o.UID)
	}
	written := ""
	if !l.Renewed.IsZero() {
		written = " since " + stamp(l.Renewed)
	}
	if l.Holder == "" {
		return fmt.Sprintf("%s: spec.holderIdentity of %s is empty%s", o.Context, name, written)
	}
	return fmt.Sprintf("%s: spec.holderIdentity of %s is %s, who has not renewed it%s; it is good for %s", o.Context, name, l.Holder, written, l.Duration)
}
