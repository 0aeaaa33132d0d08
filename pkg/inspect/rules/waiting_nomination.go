package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// round is how long MultiKueue's incremental dispatcher waits before it nominates
// further clusters (kueue: incrementaldispatcher.go).
const round = 5 * time.Minute

func nobodyNominates() Rule {
	return Rule{
		Code: "JM021", Title: "no cluster was nominated", Severity: inspect.Error,
		Holds: "every waiting Job has nominated clusters",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `The management cluster has quota for the Job and usable workers, and nobody has said which of them may
have it. Kueue's own dispatchers do that within seconds where they are not behind. If multiKueue.dispatcherName in Kueue's
configuration names another one, that one has to write status.nominatedClusterNames, and may not run; or Kueue itself
has stopped on the management cluster.`,
		Shows: `The Workload has QuotaReserved=True, all other checks are Ready, MultiKueue's is Pending, and
status.nominatedClusterNames is empty, though MultiKueueClusters are Active.`,
		Remedy: `Run the dispatcher that the configuration names, or set one of Kueue's own, and restart Kueue.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: detectNobodyNominates,
	}
}

func detectNobodyNominates(v *View) {
	for _, w := range v.waiters() {
		if !w.Manager.Kueue.TellsNominations() || len(w.Nominated()) > 0 || len(w.offers) > 0 || len(otherChecksOf(w.Submission)) > 0 {
			continue
		}
		config, usable, known := v.notOffered(&w)
		if !known || len(usable) == 0 {
			// Without usable clusters nobody could nominate any: JM008.
			continue
		}
		f := w.Manager
		workload := workloadObject(f, w.Workload)
		awaited := v.awaitsKueue(f, w.Workload, inspect.DutyNominate, "", f.Context, w.since)
		v.Report(Sighting{
			Object: OfKueue(f, "AdmissionCheck", "", w.Check.Name), Since: w.since, Cause: f.Context + " " + w.Check.Name,
			Message: fmt.Sprintf("no clusters are nominated on %s, by Kueue or another dispatcher", f.Context),
			Evidence: []string{
				checkText(workload, *w.Check),
				fmt.Sprintf("%s: status.nominatedClusterNames of %s is empty", f.Context, named(workload)),
				fmt.Sprintf("%s: MultiKueueConfig %s has usable clusters: %s", f.Context, config.Name, strings.Join(usable, ", ")),
			},
			Remedy: command.Say("%s; if multiKueue.dispatcherName in its configuration names another dispatcher, run that, or remove the line: %s",
				seeKueue(f.Context, awaited), reconfigureKueue(f.Context)),
			Jobs: []*inspect.Job{w.Job()}, Awaits: awaited,
		})
	}
}

func nominatedUnreachable() Rule {
	return Rule{
		Code: "JM023", Title: "only unreachable clusters are nominated", Severity: inspect.Error,
		Holds: "every waiting Job is nominated for a reachable cluster",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `Every cluster that the Job was nominated for is one that its management cluster cannot reach, so no copy
of its Workload can be made anywhere. The incremental dispatcher, and others, nominate clusters without asking
whether they are connected.`,
		Shows: `All of status.nominatedClusterNames are MultiKueueClusters with Active=False, and no worker has a copy
of the Workload.`,
		Remedy: `Repair the connection to one of these clusters, or take them out of the MultiKueueConfig so that others
are nominated.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/pull/11668",
		Covers: []string{"JM032"},
		Detect: detectNominatedUnreachable,
	}
}

func detectNominatedUnreachable(v *View) {
	for _, w := range v.waiters() {
		if len(w.offers) == 0 || len(w.offers) < len(w.Nominated()) {
			continue
		}
		f := w.Manager
		var names, evidence []string
		for _, o := range w.offers {
			active := v.activeOf(f, o.Cluster)
			if o.Workload != nil || active == nil || isTrue(active) {
				break
			}
			names = append(names, o.Cluster)
			evidence = append(evidence, conditionText(OfKueue(f, "MultiKueueCluster", "", o.Cluster), active))
		}
		if len(names) < len(w.offers) {
			continue
		}
		workload := workloadObject(f, w.Workload)
		v.Report(Sighting{
			Object: OfKueue(f, "MultiKueueCluster", "", names[0]), Since: w.since, Cause: f.Context + " " + strings.Join(names, " ") + " " + w.Job().Kind,
			Message: fmt.Sprintf("%s were nominated for %s alone, which %s cannot reach", plural(w.Job()), strings.Join(names, ", "), f.Context),
			Evidence: append(evidence, fmt.Sprintf("%s: status.nominatedClusterNames of %s is %s", f.Context, named(workload),
				strings.Join(w.Nominated(), ", "))),
			Remedy: command.Say("see how they are: %s, and reconnect one of them or take it out of the MultiKueueConfig",
				command.Kubectl(f.Context, "", "get", "multikueueclusters.kueue.x-k8s.io").With(names...)),
			Jobs: []*inspect.Job{w.Job()},
		})
	}
}

func nominatedInPart() Rule {
	return Rule{
		Code: "JM032", Title: "offered to some clusters only", Severity: inspect.Info,
		Holds:       "every waiting Job is offered to all clusters",
		GracePeriod: round,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `The Job waits, and has been offered to a part of its clusters only. The incremental dispatcher nominates
a few clusters at a time (three, unless configured otherwise) and further ones after five minutes each; an external
dispatcher nominates those that it chooses. The other clusters may have room.`,
		Shows: `status.nominatedClusterNames holds fewer clusters than the MultiKueueConfig has usable ones, and none of
those has admitted the Workload.`,
		Remedy: `Wait for the next round, raise multiKueue.incrementalDispatcherConfig.stepSize, or put the clusters that
have room first in the MultiKueueConfig.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: detectNominatedInPart,
	}
}

func detectNominatedInPart(v *View) {
	for w := range v.untaken() {
		config, rest, known := v.notOffered(w)
		if len(w.Nominated()) == 0 || len(rest) == 0 || !known {
			continue
		}
		f := w.Manager
		workload := workloadObject(f, w.Workload)
		offered, others := strings.Join(w.Nominated(), ", "), strings.Join(rest, ", ")
		v.Report(Sighting{
			Object: OfKueue(f, "MultiKueueConfig", "", config.Name), Since: w.since,
			Cause:   f.Context + " " + config.Name + " " + offered + " " + others + " " + w.Job().Kind,
			Message: fmt.Sprintf("%s wait for %s; not offered to %s so far", plural(w.Job()), offered, others),
			Evidence: []string{
				fmt.Sprintf("%s: status.nominatedClusterNames of %s is %s", f.Context, named(workload), offered),
				fmt.Sprintf("%s: spec.clusters of MultiKueueConfig %s is %s", f.Context, config.Name, strings.Join(config.Spec.Clusters, ", ")),
			},
			Remedy: command.Say("wait for the next round, five minutes each, or raise multiKueue.incrementalDispatcherConfig.stepSize in Kueue's configuration on %s",
				f.Context),
			Jobs: []*inspect.Job{w.Job()},
		})
	}
}
