package waiting

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// round is how long MultiKueue's incremental dispatcher waits before it
// nominates further clusters (kueue: incrementaldispatcher.go).
const round = 5 * time.Minute

func noNominations() view.Rule {
	return view.Rule{
		Code: "JM021", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: detectNoNominations,
	}
}

func detectNoNominations(v *view.View) {
	for _, w := range waiters(v) {
		if !w.Manager.Kueue.RecordsNominations() || len(w.Nominated()) > 0 || len(w.offers) > 0 || len(otherChecksOf(w.Submission)) > 0 {
			continue
		}
		config, usable, known := notOffered(v, &w)
		if !known || len(usable) == 0 || mayBeTaken(v, &w) {
			// Without usable clusters, no dispatcher can nominate any: JM008. While a worker runs the Job,
			// MultiKueue nominates none: JM022.
			continue
		}
		f := w.Manager
		workload := view.OfWorkload(f, w.Workload)
		awaited := v.AwaitsNomination(f, w.Workload, usable, w.since)
		v.Report(view.Sighting{
			Object: view.OfKueue(f, "AdmissionCheck", "", w.Check.Name), Since: w.since, Cause: f.Context + " " + w.Check.Name,
			Message: fmt.Sprintf("no clusters are nominated on %s, by Kueue or another dispatcher", f.Context),
			Evidence: []string{
				quote.CheckState(workload, *w.Check),
				fmt.Sprintf("%s: status.nominatedClusterNames of %s is empty", f.Context, workload.String()),
				fmt.Sprintf("%s: MultiKueueConfig %s has usable clusters: %s", f.Context, config.Name, strings.Join(usable, ", ")),
			},
			Remedy: command.Say("%s. If the log says Unauthorized or forbidden, run doctor. If multiKueue.dispatcherName names another dispatcher, start it or remove the line: %s",
				advice.CheckKueue(v, f.Context, awaited), advice.ReconfigureKueue(v, f.Context)),
			Jobs: []*inspect.Job{w.Job()}, Awaits: awaited,
		})
	}
}

func nominatedUnreachable() view.Rule {
	return view.Rule{
		Code: "JM023", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: detectNominatedUnreachable,
	}
}

func detectNominatedUnreachable(v *view.View) {
	for _, w := range waiters(v) {
		if len(w.offers) == 0 || len(w.offers) < len(w.used) {
			continue
		}
		f := w.Manager
		var names, evidence []string
		for _, o := range w.offers {
			active := v.Connection(f, o.Cluster)
			if o.Workload != nil || active == nil || view.IsTrue(active) {
				break
			}
			names = append(names, o.Cluster)
			evidence = append(evidence, quote.Condition(view.OfKueue(f, "MultiKueueCluster", "", o.Cluster), active))
		}
		if len(names) < len(w.offers) {
			continue
		}
		workload := view.OfWorkload(f, w.Workload)
		v.Report(view.Sighting{
			Object: view.OfKueue(f, "MultiKueueCluster", "", names[0]), Since: w.since, Cause: f.Context + " " + strings.Join(names, " ") + " " + w.Job().Kind,
			Message: fmt.Sprintf("%s are nominated only for %s, which %s cannot reach", quote.Plural(w.Job()), inspect.And(names), f.Context),
			Evidence: append(evidence, fmt.Sprintf("%s: status.nominatedClusterNames of %s is %s", f.Context, workload.String(),
				strings.Join(w.Nominated(), ", "))),
			Remedy: command.Say("read their conditions: %s; then reconnect one; %s",
				command.Kubectl(f.Context, "", "get", "multikueueclusters.kueue.x-k8s.io").With(names...), advice.DropWorker(f, names[0])),
			Jobs: []*inspect.Job{w.Job()},
		})
	}
}

func nominatedInPart() view.Rule {
	return view.Rule{
		Code: "JM032", Severity: inspect.Info,
		GracePeriod: round,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: detectNominatedInPart,
	}
}

func detectNominatedInPart(v *view.View) {
	workloads := map[*inspect.Job]string{}
	for w := range unadmitted(v) {
		config, rest, known := notOffered(v, w)
		if len(w.used) == 0 || len(rest) == 0 || !known {
			continue
		}
		workloads[w.Job()] = w.Workload.Name
		v.Report(offeredInPart(v, w, config, rest, workloads))
	}
}

// offeredInPart describes a Job that was not offered to the rest of the usable clusters of its config. workloads has the
// names of the Workloads of all such Jobs.
func offeredInPart(v *view.View, w *waiter, config *kueue.MultiKueueConfig, rest []string, workloads map[*inspect.Job]string) view.Sighting {
	f := w.Manager
	workload := view.OfWorkload(f, w.Workload)
	offered, others := strings.Join(w.used, ", "), strings.Join(rest, ", ")
	s := view.Sighting{
		Object: view.OfKueue(f, "MultiKueueConfig", "", config.Name), Since: w.since,
		Cause:   f.Context + " " + config.Name + " " + offered + " " + others + " " + w.Job().Namespace + " " + w.Job().Kind,
		Message: fmt.Sprintf("%s wait for %s; not offered to %s so far", quote.Plural(w.Job()), offered, others),
		Evidence: []string{
			fmt.Sprintf("%s: status.nominatedClusterNames of %s is %s", f.Context, workload.String(), offered),
			fmt.Sprintf("%s: spec.clusters of MultiKueueConfig %s is %s", f.Context, config.Name, strings.Join(config.Spec.Clusters, ", ")),
		},
		Jobs: []*inspect.Job{w.Job()},
	}
	late := connectedLater(v, w, rest)
	s.Evidence = append(s.Evidence, late...)
	otherwise := command.Say("; or wait up to five minutes, if Kueue on %s uses the incremental dispatcher", f.Context)
	limit := round
	if len(late) == 0 {
		// The dispatcher may nominate them at the end of a round.
		limit += time.Minute
	}
	if v.Age(f.Context, lastNominationTrigger(v, w, rest)) > limit {
		is := "is"
		if len(rest) > 1 {
			is = "are"
		}
		s.Severity, otherwise = inspect.Warning, ""
		s.Message = fmt.Sprintf("%s wait for %s; Kueue does not offer them to %s, which %s connected", quote.Plural(w.Job()), offered, others, is)
	}
	s.Remedy = advice.TriggerReconcile(f, w.Workload.Namespace, w.Workload.Name) + otherwise
	s.Group = func(first *view.Sighting, all []view.Sighting) {
		first.Remedy = advice.TriggerReconciles(f, w.Workload.Namespace, all, workloads) + otherwise
	}
	return s
}

// connectedLater quotes which clusters were connected after the nominations were made. Kueue's
// default dispatcher nominates the clusters that are connected, and a connection does not make it
// look again (kueue v0.19.2: multikueue/workload.go, nominateAndSynchronizeWorkers).
func connectedLater(v *view.View, w *waiter, rest []string) []string {
	var late []string
	nominated := inspect.NominatedAt(w.Workload)
	for _, name := range rest {
		active := v.Connection(w.Manager, name)
		if active != nil && !nominated.IsZero() && active.LastTransitionTime.After(nominated) {
			late = append(late, fmt.Sprintf("%s, after the nominations of %s",
				quote.Condition(view.OfKueue(w.Manager, "MultiKueueCluster", "", name), active), quote.Time(nominated)))
		}
	}
	return late
}

// lastNominationTrigger returns when a dispatcher had the last reason to nominate the other clusters.
func lastNominationTrigger(v *view.View, w *waiter, rest []string) time.Time {
	last := view.Latest(w.since, inspect.NominatedAt(w.Workload))
	for _, name := range rest {
		if active := v.Connection(w.Manager, name); active != nil {
			last = view.Latest(last, active.LastTransitionTime.Time)
		}
	}
	return last
}
