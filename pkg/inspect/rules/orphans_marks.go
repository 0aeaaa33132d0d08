package rules

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func renamedOrigin() Rule {
	return Rule{
		Code: "JM059", Title: "left from before multiKueue.origin was changed", Severity: inspect.Warning,
		Holds: "no mirror is left from an earlier multiKueue.origin",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `MultiKueue marks what it makes on workers by the name multiKueue.origin of its configuration, and takes
nothing else for its own. Since that name was changed, it neither follows nor deletes what carries the old one; and a
Job of the same name that is dispatched there finds its place taken.`,
		Shows: `Mirrors of one management cluster carry different values of the label kueue.x-k8s.io/multikueue-origin,
and all with the one value are older than all with the other.`,
		Remedy: `Delete the Jobs and Workloads that it made under the old name on the workers, and none by that label alone:
another management cluster may go by that name. Or set multiKueue.origin back until they have finished.`,
		Link: "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: func(v *View) {
			e := newMultiKueue(v)
			for d, x := range e.mirrors() {
				if x.mirror.DeletedAt == nil {
					reportOldName(v, d, x.mirror, x.Origin)
				}
			}
			for d, s := range e.lost(e.strays()) {
				// What is younger than the new name was made by somebody else.
				if s.job.CreationTimestamp.Time.Before(d.marks[d.marks.now()].first) {
					reportOldName(v, d, s.job)
				}
			}
		},
	}
}

// reportOldName reports a mirror that carries another name than its management
// cluster has now.
func reportOldName(v *View, d *dispatcher, mirror *inspect.Job, origins ...*inspect.Job) {
	old, now := mirror.Marks.MultiKueueOrigin, d.marks.now()
	if old == now || d.marks[old].last.IsZero() || !d.marks[old].last.Before(d.marks[now].first) {
		return
	}
	v.Report(Sighting{
		Object: Of(mirror), Since: newest(d.marks[now].first, timeOf(mirror.FinishedTime)), Jobs: append(origins, mirror),
		Cause:   "renamed " + d.Context + " " + old + " " + mirror.Kind,
		Message: fmt.Sprintf("%s calls itself %s now: it ignores what it made as %s", d.Context, now, old),
		Evidence: []string{
			fmt.Sprintf("%s: label %s of %s is %s since %s", mirror.Context, delegation.MultiKueueOriginLabel, named(Of(mirror)), old, stamp(mirror.CreationTimestamp)),
			fmt.Sprintf("%s: what it has dispatched since %s is labeled %s", d.Context, day(d.marks[now].first), now),
		},
		// Not by the label: somebody else may go by the old name, and be the reason for the new one.
		Remedy: command.Say("%s, and so for all %s named here; or set multiKueue.origin of Kueue's configuration on %s back to %s until they have finished",
			deleteBoth(mirror, mirror.Prebuilt()), plural(mirror), d.Context, old),
	})
}

func sharedOrigin() Rule {
	return Rule{
		Code: "JM060", Title: "two managers share a worker under one name", Severity: inspect.Error,
		Holds: "every management cluster has a name of its own on each worker",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `MultiKueue collects once a minute what carries its own name on a worker and has no Workload on its
management cluster. Two management clusters of the same name (multiKueue.origin, by default "multikueue") that share
a worker take each other's Workloads for garbage, and delete them within a minute of their creation.`,
		Shows: `Two clusters have a MultiKueueCluster that leads to the same worker, and what both of them made carries
the same value of the label kueue.x-k8s.io/multikueue-origin.`,
		Remedy: `Set multiKueue.origin in Kueue's configuration to another name on each management cluster, at a time
when nothing of it runs on the workers.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/1643",
		Detect: func(v *View) {
			e := newMultiKueue(v)
			if len(e.dispatchers) > 1 {
				e.seeCopies()
			}
			for i, a := range e.dispatchers {
				for _, b := range e.dispatchers[i+1:] {
					e.reportShared(a, b)
				}
			}
		},
	}
}

// seeCopies adds the marks of copies to those of mirrors.
func (e *multiKueue) seeCopies() {
	for _, d := range e.dispatchers {
		for _, f := range e.Clusters() {
			if len(d.at(f.Context)) > 0 {
				d.marks.addCopies(e.View, d.Facts, f)
			}
		}
	}
}

// reportShared reports two management clusters that share a worker and a name.
func (e *multiKueue) reportShared(a, b *dispatcher) {
	name := a.marks.now()
	if name == "" || name != b.marks.now() || a.Context == b.Context {
		return
	}
	for _, f := range e.Clusters() {
		there, too := a.at(f.Context), b.at(f.Context)
		if len(there) == 0 || len(too) == 0 {
			continue
		}
		s := Sighting{
			Object:  OfKueue(b.Facts, "MultiKueueCluster", "", too[0]),
			Message: fmt.Sprintf("%s and %s both dispatch to %s as %s, and delete each other's Workloads there", a.Context, b.Context, f.Context, name),
			Evidence: []string{
				fmt.Sprintf("%s: MultiKueueCluster %s leads to %s", a.Context, there[0], f.Context),
				fmt.Sprintf("%s: MultiKueueCluster %s leads to %s", b.Context, too[0], f.Context),
				fmt.Sprintf("%s: label %s of what it makes is %s", a.Context, delegation.MultiKueueOriginLabel, name),
				fmt.Sprintf("%s: label %s of what it makes is %s", b.Context, delegation.MultiKueueOriginLabel, name),
			},
			Remedy: command.Say("set multiKueue.origin in Kueue's configuration on %s to a name of its own, and restart Kueue there", b.Context),
		}
		if c, _ := e.MultiKueueCluster(b.Facts, too[0]); c != nil {
			s.Since = newest(c.CreationTimestamp.Time, a.marks[name].first, b.marks[name].first)
		}
		for _, p := range e.Pairs() {
			isOfThem := p.Origin.Context == a.Context || p.Origin.Context == b.Context
			if isOfThem && isMultiKueues(p) && !p.Origin.Status.IsFinished() {
				s.Jobs = append(s.Jobs, p.Origin)
			}
		}
		e.Report(s)
	}
}
