package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// dispatching are the ways in which what dispatch runs goes wrong (JM201 and on).
func dispatching() []Rule { return []Rule{nobodyCopies(), outcomeNotLanded()} }

// docsLeases is what Kubernetes says of Leases.
const docsLeases = "https://kubernetes.io/docs/concepts/architecture/leases/"

func nobodyCopies() Rule {
	return Rule{
		Code: "JM201", Undated: true, Title: "it was dispatched, and nobody looks after it any more", Severity: inspect.Warning,
		Families: []Family{FamilyDispatch}, Reads: []inspect.Part{inspect.PartJobs, inspect.PartLeases},
		Why: `dispatch copies a Job's status from its mirror, and what is changed on the origin to the mirror, for as long
as the command runs, and holds a Lease beside the origin while it does. It was stopped, or its terminal or machine was,
or it cannot reach the origin's cluster any more. The mirror runs on; only nobody tells the origin.`,
		Shows: `The origin is not finished and has a mirror, or its annotation jobmanagedby.github.io/mirror names one, and
nobody holds the Lease jobs-managedby-NAME in its namespace: there is none, its holderIdentity is empty, or it was
renewed longer ago than its leaseDurationSeconds.`,
		Remedy: `Run dispatch again, on any machine: it finds the mirror and goes on with it. Or end the Job with cancel,
which removes the mirror.`,
		Link: docsLeases, Covers: []string{"JM104"},
		Detect: func(v *View) { v.eachForsaken(reportForsaken) },
	}
}

func outcomeNotLanded() Rule {
	return Rule{
		Code: "JM202", Undated: true, Title: "how it ended was never told to its origin, and nobody is going to", Severity: inspect.Error,
		Families: []Family{FamilyDispatch}, Reads: []inspect.Part{inspect.PartJobs, inspect.PartLeases},
		Why: `The mirror has come to its end after dispatch was stopped, or lost the origin's cluster, so that nobody has
copied that to the origin; only then does the Job count as finished. If the mirror is deleted before that, how the Job
ended is lost.`,
		Shows: `The mirror has the condition Complete or Failed, the origin has neither, and nobody holds the Lease
jobs-managedby-NAME in the origin's namespace.`,
		Remedy: `Run dispatch again, on any machine: it finds the mirror, copies how it ended, and is done. Or end the Job
with cancel. Do not delete the mirror before that.`,
		Link: docsLeases, Covers: []string{"JM104", "JM110", "JM201"},
		Detect: func(v *View) { v.eachForsaken(reportNotLanded) },
	}
}

// forsaken is an origin that was dispatched and that nobody looks after.
type forsaken struct {
	inspect.Pair
	// lease is nil if there is none.
	lease *inspect.Lease
	// mirror is nil where only the annotation tells of it.
	mirror *inspect.Job
}

// eachForsaken visits the origins that have a mirror and are not finished, and
// whose Lease nobody holds. What was never dispatched is not one of them. Of an
// owner that is not ours the Lease is the only proof that dispatch runs its Job.
func (v *View) eachForsaken(visit func(*View, forsaken)) {
	for _, p := range v.Pairs() {
		o := p.Origin
		isOpen := o.DeletedAt == nil && !o.Status.IsFinished()
		x := forsaken{Pair: p, mirror: dispatchedMirror(p)}
		hasMirror := x.mirror != nil || o.Marks != nil && !o.Marks.Mirror.IsZero()
		if !isOpen || !hasMirror || !o.IsDispatched() {
			continue
		}
		lease, held, known := v.Lease(o)
		if !known || held || lease == nil && o.ManagedBy != delegation.Dispatch {
			continue
		}
		x.lease = lease
		visit(v, x)
	}
}

// dispatchedMirror is the mirror that dispatch has made of an origin, nil if none
// was found.
func dispatchedMirror(p inspect.Pair) *inspect.Job {
	for _, m := range p.Mirrors {
		if m.Current && m.Relation == inspect.ByDispatch {
			return m.Job
		}
	}
	return nil
}

// since is since when nobody looks after it, as far as that is known. Where there
// is no Lease any more, somebody did when it was last written to.
func (x *forsaken) since(v *View) time.Time {
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
func (x *forsaken) where(v *View) (name, context string) {
	if x.mirror != nil {
		return x.mirror.Context, x.mirror.Context
	}
	uid := x.Origin.Marks.Mirror.ClusterUID
	if f := v.clusterOf(uid); f != nil {
		return f.Context, f.Context
	}
	return "the cluster with the uid " + uid, "CONTEXT"
}

// evidence quotes the Lease, and what tells of the mirror.
func (x *forsaken) evidence() []string {
	o := x.Origin
	name := fmt.Sprintf("Lease %s/%s", o.Namespace, delegation.LeaseName(o.Name))
	lease := fmt.Sprintf("%s: there is no %s with label %s=%s", o.Context, name, delegation.OriginUIDLabel, o.UID)
	if l := x.lease; l != nil {
		written := ""
		if !l.Renewed.IsZero() {
			written = " since " + l.Renewed.UTC().Format(time.RFC3339)
		}
		lease = fmt.Sprintf("%s: spec.holderIdentity of %s is empty%s", o.Context, name, written)
		if l.Holder != "" {
			lease = fmt.Sprintf("%s: spec.holderIdentity of %s is %s, who has not renewed it%s; it is good for %s", o.Context, name, l.Holder, written, l.Duration)
		}
	}
	if x.mirror != nil {
		return []string{lease, stateOf(o), stateOf(x.mirror)}
	}
	return []string{
		lease, stateOf(o),
		fmt.Sprintf("%s: annotation %s of %s is %s", o.Context, delegation.MirrorAnnotation, named(Of(o)), o.Marks.Mirror),
	}
}

func reportForsaken(v *View, x forsaken) {
	name, context := x.where(v)
	v.Report(Sighting{
		Object: Of(x.Origin), Since: x.since(v), Jobs: []*inspect.Job{x.Origin},
		Message:  fmt.Sprintf("nobody holds its Lease, so nothing copies its status from its mirror on %s", name),
		Evidence: x.evidence(),
		Remedy:   fmt.Sprintf("go on with the same mirror: %s; or end it: %s", dispatchTo(x.Origin, context), cancel(x.Origin)),
	})
}

func reportNotLanded(v *View, x forsaken) {
	m := x.mirror
	if m == nil || m.DeletedAt != nil || !m.Status.IsFinished() || v.Age(m.Context, timeOf(m.FinishedTime)) < inspect.Settling {
		return
	}
	isLive := func(other inspect.Mirror) bool { return other.Current && isLiveJob(other.Job) }
	if slices.ContainsFunc(x.Mirrors, isLive) {
		return
	}
	evidence := x.evidence()
	if m.TTL != nil {
		evidence = append(evidence, fmt.Sprintf("%s: spec.ttlSecondsAfterFinished of %s is %d", m.Context, named(Of(m)), *m.TTL))
	}
	v.Report(Sighting{
		Object: Of(x.Origin), Since: newest(x.since(v), v.On(x.Origin.Context, m.Context, timeOf(m.FinishedTime))), Jobs: []*inspect.Job{x.Origin},
		Message:  fmt.Sprintf("its mirror on %s is %s, it still says %s, and nobody holds its Lease", m.Context, m.Status, x.Origin.Status),
		Evidence: evidence,
		Remedy: fmt.Sprintf("copy how it ended: %s; or end it: %s; the mirror may go after that, not before",
			dispatchTo(x.Origin, m.Context), cancel(x.Origin)),
	})
}
