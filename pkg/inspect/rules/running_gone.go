package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// retriedGone is what MultiKueue says of a Job whose mirror it did not find any
// more (kueue: pkg/controller/admissionchecks/multikueue/workload.go).
const retriedGone = "Admitting remote no longer exists"

func deletedByTTL() Rule {
	return Rule{
		Code: "JM039", Title: "a worker's TTL deleted the mirror, and the Job runs again", Severity: inspect.Error,
		Holds: "no TTL of a worker deletes a mirror too early",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `MultiKueue copies spec.ttlSecondsAfterFinished to the mirror. If the mirror finishes, and its TTL runs out
before MultiKueue has copied the last status, for the worker was cut off or the manager was slow, the worker deletes
it. MultiKueue finds it gone, takes that for a loss, and has the whole Job run again on some worker.`,
		Shows: `The check was retried because "Admitting remote no longer exists", and the Job has a
ttlSecondsAfterFinished that is no longer than it had been admitted before that. That the TTL did it is likely; it
cannot be proved, because the mirror is gone.`,
		Remedy: `Create Jobs that are delegated without ttlSecondsAfterFinished, or with a long one; MultiKueue deletes
the mirrors itself. Kueue 0.20 does not copy the TTL of Jobs if its feature gate
MultiKueueBatchJobClearingTTLSecondsAfterFinishedOnWorkerCluster is on, which it is not by default.`,
		Link: "https://github.com/kubernetes-sigs/kueue/pull/14734",
		Detect: func(v *View) {
			for s := range underWay(v) {
				if s.Job().TTL == nil || !mayBeTTL(s) || !vanished(v, s) {
					continue
				}
				j := s.Job()
				sighting := goneSighting(s)
				sighting.Message = fmt.Sprintf("its mirror vanished, perhaps by its TTL of %ds: the %s may run a second time", *j.TTL, j.Kind)
				sighting.Evidence = append(sighting.Evidence, ttlOf(j))
				sighting.Remedy = withoutTTL(j).Prose()
				for _, m := range s.Pair.Mirrors {
					sighting.Remedy += "; " + withoutTTL(m.Job).Prose()
				}
				if time.Duration(*j.TTL)*time.Second > longTTL {
					sighting.Severity = inspect.Warning
				}
				v.Report(sighting)
			}
		},
	}
}

// longTTL is a TTL that runs out before the last status is copied only if the
// worker was cut off for long.
const longTTL = 5 * time.Minute

// mayBeTTL says whether a Job's mirror can have finished and outlived its TTL in
// the time for which it was admitted.
func mayBeTTL(s Submission) bool {
	past := s.Workload.Status.PastSeconds
	return past == nil || *past >= *s.Job().TTL
}

// vanished is whether MultiKueue took a Job back because its mirror was gone, and
// it is truly gone: a worker that was taken out of the MultiKueueConfig looks the
// same from the manager, but still has it.
func vanished(v *View, s Submission) bool {
	if !strings.Contains(lastRetry(s), retriedGone) {
		return false
	}
	if !allWorkersRead(v, s) {
		return false
	}
	current := ""
	if chosen := s.Chosen(); chosen != "" {
		current = v.ContextOf(s.Manager, chosen)
	}
	for _, m := range s.Pair.Mirrors {
		if m.Job.Context != current {
			return false
		}
	}
	return true
}

// goneSighting is what is common to the ways for a mirror to vanish.
func goneSighting(s Submission) Sighting {
	j := s.Job()
	sighting := Sighting{Object: Of(j), Since: retriedAt(s), Jobs: []*inspect.Job{j}}
	if s.Check != nil {
		sighting.Evidence = append(sighting.Evidence, checkOf(s))
	}
	sighting.Evidence = append(sighting.Evidence, evictionOf(s)...)
	return sighting
}

func mirrorVanished() Rule {
	return Rule{
		Code: "JM048", Title: "the mirror was deleted, and the Job restarts from scratch", Severity: inspect.Warning,
		Holds: "no mirror was deleted on its worker",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `Somebody, or something, deleted the mirror or the copy of its Workload on the worker. MultiKueue does not
take that for the end of the Job: it gives the Job to a worker again, and all that was done is lost.`,
		Shows: `The check was retried because "Admitting remote no longer exists", and no worker has a mirror but the
one that the Job was given to since. Where it runs again already, this is for information.`,
		Remedy: `Nothing has to be done for the Job itself. To end a delegated Job, delete the origin and not the
mirror; and see who deletes Jobs on the workers.`,
		Link: "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: func(v *View) {
			for s := range underWay(v) {
				if !vanished(v, s) || s.Job().TTL != nil && mayBeTTL(s) {
					continue
				}
				j := s.Job()
				sighting := goneSighting(s)
				sighting.Cause = "vanished " + j.Context + "/" + j.Namespace
				sighting.Message = "its mirror was deleted on the worker; it starts from scratch"
				sighting.Remedy = command.Say("to end the %s: %s; else it is offered to the workers again by itself", j.Kind, deleteJob(j))
				if hasState(s, kueue.CheckReady) {
					sighting.Severity = inspect.Info
					sighting.Message = fmt.Sprintf("its mirror was deleted on the worker; it was started from scratch on MultiKueueCluster %s", s.Chosen())
					sighting.Remedy = command.Say("nothing to do; to end the %s: %s", j.Kind, deleteJob(j))
				}
				v.Report(sighting)
			}
		},
	}
}
