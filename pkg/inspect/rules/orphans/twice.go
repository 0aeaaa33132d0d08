package orphans

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// misplacedMirror is a mirror on another cluster than its management cluster has
// chosen.
type misplacedMirror struct {
	createdMirror
	manager *dispatcher
	// workload is the Workload on the management cluster. check is the state of
	// MultiKueue's check, nil if it has none.
	workload *kueue.Workload
	check    *kueue.CheckState
	// chosen is the MultiKueueCluster that has the Job, "" if none. here are
	// the MultiKueueClusters that point to the cluster of the mirror.
	chosen string
	here   []string
	// place is the context of the chosen cluster, "" if unknown.
	place string
	// isSeen is whether it is known if the chosen cluster has a mirror. isAlone
	// is whether it certainly has none.
	isSeen, isAlone bool
}

// misplacedMirrors returns the mirrors on another cluster than their management
// cluster has given them to, of those in a state.
func (e *multiKueue) misplacedMirrors(isIn func(*inspect.Job) bool) []misplacedMirror {
	var found []misplacedMirror
	for d, x := range e.mirrors() {
		if x.Origin.DeletedAt != nil || !isIn(x.mirror) {
			continue
		}
		w, _ := e.Workload(d.Facts, x.mirror.Namespace, x.mirror.Prebuilt())
		if w == nil || !d.Kueue.RecordsNominations() {
			// Before 0.13, Kueue does not record what the advice to delete a
			// mirror must rely on.
			continue
		}
		m := misplacedMirror{createdMirror: x, manager: d, workload: w, here: d.at(x.mirror.Context)}
		possible := e.PossibleClusters(e.Submission(x.Pair))
		if own := slices.DeleteFunc(slices.Clone(m.here), func(name string) bool { return !slices.Contains(possible, name) }); len(own) > 0 {
			m.here = own
		}
		if w.Status.ClusterName != nil {
			m.chosen = *w.Status.ClusterName
		}
		if m.chosen != "" && !e.IsElsewhere(d.Facts, m.chosen, x.mirror.Context) {
			// Misplaced mirrors are advised to be deleted, so this must be certain.
			continue
		}
		m.check = e.CheckState(d.Facts, w)
		f, place := e.Worker(d.Facts, m.chosen)
		m.place = place
		isThere := hasOn(x.Pair, place)
		m.isSeen = isThere || e.KnowsAll(f, x.Origin.Row())
		m.isAlone = m.isSeen && !isThere
		found = append(found, m)
	}
	return found
}

// hasOn reports whether a pair has a mirror on a context.
func hasOn(p inspect.Pair, context string) bool {
	return slices.ContainsFunc(p.Mirrors, func(m inspect.Mirror) bool { return m.Current && m.Job.Context == context })
}

// since returns when the management cluster took the Job away from the
// mirror's cluster.
func (x *misplacedMirror) since() time.Time {
	if x.check == nil {
		return x.mirror.CreationTimestamp.Time
	}
	return x.check.LastTransitionTime.Time
}

// isConfigured reports whether the MultiKueueConfig that dispatches the
// Workload has the mirror's cluster. known is false if that is unknown.
func (e *multiKueue) isConfigured(x misplacedMirror) (is bool, config string, known bool) {
	configs, known := e.Configs(x.manager.Facts)
	wanted := ""
	if x.check != nil {
		if check, _ := e.Check(x.manager.Facts, x.check.Name); check != nil && check.Spec.Parameters != nil {
			wanted = check.Spec.Parameters.Name
		}
	}
	for _, c := range configs {
		if wanted != "" && c.Name != wanted {
			continue
		}
		config = c.Name
		if slices.ContainsFunc(c.Spec.Clusters, func(name string) bool { return slices.Contains(x.here, name) }) {
			return true, c.Name, known
		}
	}
	return false, config, known && config != ""
}

// givenTo quotes the cluster that the management cluster has given the Job to.
func (x *misplacedMirror) givenTo() string {
	return fmt.Sprintf("%s since %s", quote.ChosenCluster(x.manager.Context, x.workload), quote.MaybeTime(x.since()))
}

// name names the Job.
func (x *misplacedMirror) name() string { return x.mirror.Namespace + "/" + x.mirror.Name }

// otherPlaces describes where else the Job runs, or waits to run.
func (x *misplacedMirror) otherPlaces() string {
	if x.chosen == "" {
		return "and MultiKueue looks for another cluster to run it"
	}
	return "and MultiKueue gave the " + x.mirror.Kind + " to " + placed(x.chosen, x.place)
}

// placed names a MultiKueueCluster with its context, as commands name it. The context is "" if unknown.
func placed(cluster, context string) string {
	if context == "" {
		return cluster
	}
	return fmt.Sprintf("%s (%s)", cluster, context)
}

// sighting returns the part of a sighting that all misplaced mirrors share.
func (x *misplacedMirror) sighting() view.Sighting {
	return view.Sighting{
		Object: view.OfKueue(x.manager.Facts, "MultiKueueCluster", "", x.here[0]), Since: x.since(),
		Evidence: []string{x.givenTo(), quote.State(x.mirror)},
		Jobs:     x.jobs(),
		Cause:    x.manager.Context + "/" + x.here[0] + " " + x.mirror.Kind,
	}
}

// reportDuplicates reports mirrors that are to be deleted. If a finding is about several Jobs, its fix
// for the first says where the others are.
func reportDuplicates(v *view.View, found []duplicate) {
	jobs := map[string]int{}
	for _, d := range found {
		jobs[d.Cause]++
	}
	for _, d := range found {
		d.Remedy = d.mirror.deletion()
		if jobs[d.Cause] > 1 {
			d.Remedy = command.Say("%s; check -o wide lists the other %s", d.Remedy, quote.Plural(d.mirror.mirror))
		}
		v.Report(d.Sighting)
	}
}

// duplicate is a mirror that is to be deleted, with its sighting.
type duplicate struct {
	view.Sighting
	mirror misplacedMirror
}

// deletion returns the commands that delete the mirror and its Workload, and says which run
// continues.
func (x *misplacedMirror) deletion() command.Prose {
	if x.chosen == "" {
		return command.Say("delete the mirror on %s: %s", x.mirror.Context, deleteBoth(x.mirror, x.mirror.Prebuilt()))
	}
	return command.Say("delete the mirror on %s (that on %s continues): %s", x.mirror.Context, cmp.Or(x.place, x.chosen), deleteBoth(x.mirror, x.mirror.Prebuilt()))
}

// canResume reports whether MultiKueue can continue with the mirror: the origin
// has the mirror's start time, or can still get it. Only the start time of a
// Job cannot be changed.
func (x *misplacedMirror) canResume() bool {
	return !x.Origin.Row().IsJob() || x.Origin.StartTime == nil || x.mirror.StartTime == nil || x.Origin.StartTime.Equal(x.mirror.StartTime)
}

// describeAlone reports that the mirror is the only one, so that users do not
// delete it as a duplicate.
func (x *misplacedMirror) describeAlone(s *view.Sighting) {
	s.Cause += " alone"
	s.Message = fmt.Sprintf("only %s runs the %s, although MultiKueue gave it to %s", x.here[0], x.mirror.Kind, x.chosen)
	s.Evidence = append(s.Evidence, fmt.Sprintf("%s: status.startTime of %s is %s, which keeps the status of the mirror from being copied",
		x.Origin.Context, view.Of(x.Origin).String(), quote.Time(*x.Origin.StartTime)))
	s.Remedy = command.Say("let it finish on %s, because MultiKueue cannot copy its result; save its output, then %s; "+
		"to restart it from scratch now, run these commands at once", x.mirror.Context, deleteBoth(x.mirror, x.mirror.Prebuilt()))
}

func mirrorOnUnconfiguredCluster() view.Rule {
	return view.Rule{
		Code: "JM055", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM107"},
		Detect: func(v *view.View) {
			e := newMultiKueue(v)
			var duplicates []duplicate
			for _, x := range e.misplacedMirrors(view.IsLiveJob) {
				is, config, known := e.isConfigured(x)
				if is || !known || len(x.here) == 0 || slices.Contains(x.here, x.chosen) {
					continue
				}
				s := x.sighting()
				s.Message = fmt.Sprintf("%s is no longer in MultiKueueConfig %s, but still runs a mirror of %s on %s, %s",
					s.Object.String(), config, x.name(), x.mirror.Context, x.otherPlaces())
				s.Clause = fmt.Sprintf("%s is no longer in MultiKueueConfig %s, but still runs a mirror of the Job on %s, %s",
					s.Object.String(), config, x.mirror.Context, x.otherPlaces())
				s.Evidence = append(s.Evidence, fmt.Sprintf("%s: spec.clusters of MultiKueueConfig %s lacks %s", x.manager.Context, config, x.here[0]))
				if x.mayBeOnlyRun() {
					s.Cause += " alone"
					s.Covers = aboutWaiting()
					s.Remedy = command.Say("let it finish on %s: it may be the only run; delete it there only when another cluster runs it; or if %s should stay a worker, add it to spec.clusters again: %s",
						x.mirror.Context, x.here[0], advice.KubectlObject(view.OfKueue(x.manager.Facts, "MultiKueueConfig", "", config), "edit"))
					v.Report(s)
					continue
				}
				duplicates = append(duplicates, duplicate{s, x})
			}
			reportDuplicates(v, duplicates)
		},
	}
}

// aboutWaiting returns codes about a Job that waits for a cluster. Their fixes create the Job again, which ends
// the run that a misplaced mirror has: Kueue deletes a mirror without an origin on every cluster that it reaches
// (kueue: pkg/controller/admissionchecks/multikueue/multikueuecluster.go, runGC).
func aboutWaiting() []string { return []string{"JM019", "JM029", "JM032"} }

// mayBeOnlyRun reports whether no other run of the Job was seen.
func (x *misplacedMirror) mayBeOnlyRun() bool { return x.chosen == "" || !x.isSeen || x.isAlone }

func mirrorOnReturnedWorker() view.Rule {
	return view.Rule{
		Code: "JM056", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM107"},
		Detect: func(v *view.View) {
			e := newMultiKueue(v)
			var duplicates []duplicate
			for _, x := range e.misplacedMirrors(view.IsLiveJob) {
				is, _, known := e.isConfigured(x)
				if !is || !known || x.chosen == "" || slices.Contains(x.here, x.chosen) || !x.isSeen {
					// Never advise to delete what may be the only run.
					continue
				}
				s := x.sighting()
				if active := v.Connection(x.manager.Facts, x.here[0]); active != nil {
					s.Since = view.Latest(s.Since, active.LastTransitionTime.Time)
					s.Evidence = append(s.Evidence, fmt.Sprintf("%s: condition Active of MultiKueueCluster %s is %s since %s",
						x.manager.Context, x.here[0], active.Status, quote.Time(active.LastTransitionTime)))
				}
				if x.isAlone {
					if x.canResume() {
						continue
					}
					x.describeAlone(&s)
					v.Report(s)
					continue
				}
				s.Message = fmt.Sprintf("%s still runs a mirror of %s on %s, %s", s.Object.String(), x.name(), x.mirror.Context, x.otherPlaces())
				s.Clause = fmt.Sprintf("%s still runs a mirror of the Job on %s, %s", s.Object.String(), x.mirror.Context, x.otherPlaces())
				s.Awaits = v.AwaitsKueue(x.manager.Facts, x.workload, liveness.DutyRemove, x.mirror.Context, x.manager.Context, s.Since)
				duplicates = append(duplicates, duplicate{s, x})
			}
			reportDuplicates(v, duplicates)
		},
	}
}
