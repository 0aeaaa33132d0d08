package rules

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// waiting are the reasons why no cluster admits a Job (JM019 to JM033).
func waiting() []Rule {
	return []Rule{
		heldOnManager(), otherCheckPending(), nobodyNominates(), admissionNotRecorded(), nominatedUnreachable(),
		namespaceMissing(), copyRefused(), localQueueMissing(), clusterQueueUnusable(), namespaceExcluded(),
		noQuotaOnWorkers(), workersCheckPending(), kueueDownOnWorker(), nominatedInPart(), preemptionGated(),
	}
}

// checkText quotes how an AdmissionCheck stands for a Workload.
func checkText(workload Object, state kueue.CheckState) string {
	text := fmt.Sprintf("%s: status.admissionChecks[%s] of %s is %s since %s",
		workload.Context, state.Name, named(workload), state.State, stamp(state.LastTransitionTime))
	if state.Message != "" {
		text += ": " + state.Message
	}
	return text
}

func noQuotaOnWorkers() Rule {
	return Rule{
		Code: "JM029", Title: "no worker has quota for it", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
			inspect.PartQueues, inspect.PartEvents,
		},
		Why: `The management cluster has reserved quota and offers the Job to its workers, and none of them has room.
To wait for room is what a queue is for, and is told for information. ExceedsMaxQuota and NoMatchingFlavor on every
worker mean that none of them ever will have any: the quota on the management cluster is held all the while, and
MultiKueue does not give up (kueue issue 8602). TopologyPlacementFailed means that its pods have no place as near to
each other as they ask for, whoever else ends, until nodes change. Some of that is no matter of quota: a flavor has a taint that the pods do
not tolerate, or lacks the labels that they ask for. What waits again since another one took its room is told with that.`,
		Shows: `The Workload's copies on all nominated workers have QuotaReserved=False with reason WaitingForQuota,
ExceedsMaxQuota, NoMatchingFlavor or TopologyPlacementFailed (before Kueue 0.19 Pending, and only the message tells). Nothing on the
management cluster says so.`,
		Remedy: `Raise the quota of the ClusterQueues on a worker, or recreate the Job: request less, tolerate a taint, or
request other labels or a wider topology.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/8602",
		// That the manager gives quota to what no worker can take comes after that none has it.
		Covers: []string{"JM133"},
		Detect: detectNoQuota,
	}
}

// detectNoQuota reports a submission if every worker that it can be offered to
// has refused it for quota.
func detectNoQuota(v *View) {
	all := reserved{}
	waiters := v.waiters()
	for i := range waiters {
		w := &waiters[i]
		if len(w.offers) == 0 || len(w.offers) < len(w.Nominated()) {
			continue
		}
		if _, rest, known := v.notOffered(w); !known || len(rest) > 0 {
			// Others may have room: JM032.
			continue
		}
		j := w.Job()
		s := Sighting{Object: Of(j), Since: w.since, Jobs: []*inspect.Job{j}}
		switch quotaOn(w.offers) {
		case heldForRoom:
			v.waitsForRoomThere(&s, w, all)
		case heldByTopology:
			v.tellQuota(&s, w)
			noPlace(&s, lacksOn(w.offers), "the workers")
		case heldForGood:
			v.tellQuota(&s, w)
			neverFits(&s, w)
		default:
			continue
		}
		v.Report(s)
	}
}

// quotaOn is how offers are held for quota, by the one that has most to hope for: for good
// if all of them are, and heldNot if one is not held for quota.
func quotaOn(offers []Copy) (held hold) {
	held = heldForGood
	for _, o := range offers {
		if o.Workload == nil {
			return heldNot
		}
		copyHeld, _ := holdOf(o.Workload)
		switch {
		case copyHeld == heldForRoom, copyHeld == heldByTopology && held == heldForGood:
			held = copyHeld
		case copyHeld != heldForGood && copyHeld != heldByTopology:
			return heldNot
		}
	}
	return held
}

// tellQuota tells how the copies of a submission are held for quota, and what helps.
func (v *View) tellQuota(s *Sighting, w *waiter) {
	for _, o := range w.offers {
		_, c := holdOf(o.Workload)
		s.Evidence = append(s.Evidence, conditionOf(o.Worker, o.Workload, c))
	}
	s.Remedy = command.Say("%s, or request less", v.raiseQuotaThere(w))
}
