package orphans

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func renamedOrigin() view.Rule {
	return view.Rule{
		Code: "JM059", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			e := newMultiKueue(v)
			for d, x := range e.mirrors() {
				if x.mirror.DeletedAt == nil {
					reportOldName(v, d, x.mirror, x.Origin)
				}
			}
			for d, s := range e.withoutOrigin(e.strays()) {
				// A mirror that is younger than the new name was created by
				// another management cluster.
				if s.job.CreationTimestamp.Time.Before(d.names[d.names.Current()].First) {
					reportOldName(v, d, s.job)
				}
			}
		},
	}
}

// reportOldName reports a mirror with an older name than its management
// cluster uses at present.
func reportOldName(v *view.View, d *dispatcher, mirror *inspect.Job, origins ...*inspect.Job) {
	old, now := mirror.Marks.MultiKueueOrigin, d.names.Current()
	if old == now || d.names[old].Last.IsZero() || !d.names[old].Last.Before(d.names[now].First) {
		return
	}
	v.Report(view.Sighting{
		Object: view.Of(mirror), Since: view.Latest(d.names[now].First, view.TimeOf(mirror.FinishedTime)), Jobs: append(origins, mirror),
		Cause:   "renamed " + d.Context + " " + old + " " + mirror.Kind,
		Message: fmt.Sprintf("multiKueue.origin of %s is now %s: MultiKueue ignores mirrors labeled %s", d.Context, now, old),
		Evidence: []string{
			fmt.Sprintf("%s: label %s of %s is %s since %s", mirror.Context, delegation.MultiKueueOriginLabel, view.Of(mirror).String(), old, quote.Time(mirror.CreationTimestamp)),
			fmt.Sprintf("%s: the mirrors that it created since %s are labeled %s", d.Context, quote.MaybeTime(d.names[now].First), now),
		},
		// Do not delete by label: another cluster may use the old name, and be
		// the reason for the new one.
		Remedy: command.Say("set multiKueue.origin in the configuration of Kueue on %s to %s again until they have finished; or delete the mirror on %s: %s; check -o wide lists the other %s",
			d.Context, old, mirror.Context, deleteBoth(mirror, mirror.Prebuilt()), quote.Plural(mirror)),
	})
}

func sharedOrigin() view.Rule {
	return view.Rule{
		Code: "JM060", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			e := newMultiKueue(v)
			for i, a := range e.dispatchers {
				for _, b := range e.dispatchers[i+1:] {
					e.reportShared(a, b)
				}
			}
		},
	}
}

// reportShared reports two management clusters that share a worker and use
// the same name.
func (e *multiKueue) reportShared(a, b *dispatcher) {
	name := a.names.Current()
	if name == "" || name != b.names.Current() || a.Context == b.Context {
		return
	}
	for _, f := range e.Clusters() {
		there, alsoThere := a.at(f.Context), b.at(f.Context)
		if len(there) == 0 || len(alsoThere) == 0 {
			continue
		}
		s := view.Sighting{
			Object:  view.OfKueue(b.Facts, "MultiKueueCluster", "", alsoThere[0]),
			Message: fmt.Sprintf("%s and %s both dispatch to %s as %s, and delete each other's Workloads there", a.Context, b.Context, f.Context, name),
			Evidence: []string{
				fmt.Sprintf("%s: MultiKueueCluster %s points to %s", a.Context, there[0], f.Context),
				fmt.Sprintf("%s: MultiKueueCluster %s points to %s", b.Context, alsoThere[0], f.Context),
				fmt.Sprintf("%s: label %s of its mirrors is %s", a.Context, delegation.MultiKueueOriginLabel, name),
				fmt.Sprintf("%s: label %s of its mirrors is %s", b.Context, delegation.MultiKueueOriginLabel, name),
			},
			Remedy: command.Say("set multiKueue.origin in Kueue's configuration on %s to a name of its own: %s", b.Context, advice.ReconfigureKueue(e.View, b.Context)),
		}
		if c, _ := e.MultiKueueCluster(b.Facts, alsoThere[0]); c != nil {
			s.Since = view.Latest(c.CreationTimestamp.Time, a.names[name].First, b.names[name].First)
		}
		for _, p := range e.Pairs() {
			isOfThem := p.Origin.Context == a.Context || p.Origin.Context == b.Context
			if isOfThem && view.IsMultiKueues(p) && !p.Origin.Status.IsFinished() {
				s.Jobs = append(s.Jobs, p.Origin)
			}
		}
		e.Report(s)
	}
}
