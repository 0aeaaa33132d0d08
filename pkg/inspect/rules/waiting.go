package rules

import (
	"cmp"
	"fmt"
	"slices"

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
		Code: "JM029", Title: "no worker has enough quota", Severity: inspect.Error,
		Holds: "a worker has quota for every Job",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
			inspect.PartQueues, inspect.PartEvents,
		},
		Why: `The management cluster has reserved quota and offers the Job to its workers, and none of them admits it.
If other Jobs use the quota, the Job only has to wait. If its request exceeds the limit of every worker, or it does not
suit any flavor (a taint, node labels, a missing resource, a missing topology), it waits for good, and holds quota on the
management cluster: MultiKueue does not give up (kueue issue 8602). If no topology domain fits its Pods, it waits until
nodes change. A Job that lost its quota to another one is reported with that.`,
		Shows: `The Workload's copies on all nominated workers have QuotaReserved=False with reason WaitingForQuota,
ExceedsMaxQuota, NoMatchingFlavor or TopologyPlacementFailed (before Kueue 0.19 Pending, and only the message tells). Nothing on the
management cluster says so.`,
		Remedy: `Run fewer Pods at once or request less, raise the quota of a worker, tolerate the taint, match the labels, add
the resource to a flavor, or request a wider topology. One worker that can take the Job is enough. A Job's Pod template
cannot be changed in place: recreate the Job.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/8602",
		// That the manager gives quota to what no worker can take comes after that none has it.
		Covers: []string{"JM133", "JM134"},
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
		held := v.heldThere(w)
		if held == nil {
			continue
		}
		s := Sighting{Object: Of(j), Since: w.since, Jobs: []*inspect.Job{j}}
		// One worker that may have quota later is enough.
		soonest := slices.MinFunc(held, func(a, b heldCopy) int { return cmp.Compare(hopelessness(&a.wait), hopelessness(&b.wait)) })
		best := &soonest.wait
		if best.Reason == kueue.ReasonQuotaInUse {
			v.waitsForRoomThere(&s, w, held, all)
		} else {
			v.tellQuota(&s, held)
			s.Severity, s.Message = cannotTake(held, best)
		}
		v.Report(s)
	}
}

// heldThere returns the copies of a submission with the reasons for which each waits for
// quota, nil if one of them does not.
func (v *View) heldThere(w *waiter) []heldCopy {
	var held []heldCopy
	for _, o := range w.offers {
		if o.Workload == nil {
			return nil
		}
		wait, ok := holdOf(o.Workload)
		if !ok || !wait.IsForQuota() || wait.Reason == kueue.ReasonPreempting {
			return nil
		}
		held = append(held, heldCopy{o, wait})
	}
	return held
}

// hopelessness is 0 for a wait that can pass, 2 for one that ends only by a change.
func hopelessness(w *kueue.Wait) int {
	switch {
	case w.CanPass():
		return 0
	case w.IsForGood():
		return 2
	}
	return 1
}

// cannotTake describes why no worker takes a submission, given the wait that ends soonest.
func cannotTake(held []heldCopy, best *kueue.Wait) (inspect.Severity, string) {
	severity, text := inspect.Error, "fits on no worker"
	if !best.IsForGood() {
		severity, text = inspect.Warning, "no worker takes it"
	}
	isForFlavor := !slices.ContainsFunc(held, func(h heldCopy) bool { return !h.wait.IsForFlavor() })
	switch {
	case isForFlavor:
		text = "no flavor of any worker suits its Pods"
	case best.Reason == kueue.ReasonNoTopologyDomain:
		text = "no topology domain on the workers fits its Pods"
	}
	if why := texts(lacksOn(held)); why != "" {
		return severity, text + ": " + why
	}
	if best.Reason == kueue.ReasonOverLimit {
		text = "needs more than the limit of every worker"
	}
	return severity, text
}

// tellQuota adds how the copies of a submission wait for quota, and what helps.
func (v *View) tellQuota(s *Sighting, held []heldCopy) {
	sites := make([]kueue.SiteWait, len(held))
	for i := range held {
		h := &held[i]
		s.Evidence = append(s.Evidence, conditionOf(h.Worker, h.Workload, h.wait.Condition))
		sites[i] = kueue.SiteWait{Wait: h.wait, Site: v.site(h.Worker, h.Workload, &h.wait, "")}
	}
	s.Remedy = command.Alternatives(kueue.Fixes(sites))
}
