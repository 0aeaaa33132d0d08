package running

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

// retriedGone is part of MultiKueue's message about a Job whose mirror no
// longer exists (kueue:
// pkg/controller/admissionchecks/multikueue/workload.go).
const retriedGone = "Admitting remote no longer exists"

func deletedByTTL() view.Rule {
	return view.Rule{
		Code: "JM039", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM112"},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				if !isDeletedByTTL(v, s) {
					continue
				}
				j := s.Job()
				sighting := goneSighting(s)
				sighting.Message = fmt.Sprintf("its mirror was deleted, perhaps by its TTL of %ds: %s", *j.TTL, rerun(s))
				sighting.Evidence = append(sighting.Evidence, quote.TTL(j))
				for _, m := range s.Pair.Mirrors {
					sighting.Jobs = append(sighting.Jobs, m.Job)
				}
				sighting.Remedy = removeTTL(s)
				if time.Duration(*j.TTL)*time.Second > longTTL {
					sighting.Severity = inspect.Warning
				}
				v.Report(sighting)
			}
		},
	}
}

// rerun describes how often a Job whose mirror was deleted may have run.
func rerun(s view.Submission) string {
	j := s.Job()
	switch n := restartsOf(s.Workload); {
	case n > 1:
		return fmt.Sprintf("the %s was evicted %d times, and may have run each time", j.Kind, n)
	case len(s.Pair.Current()) > 0 && s.HasState(kueue.CheckReady):
		return fmt.Sprintf("MultiKueue started the %s again on %s, perhaps after its end", j.Kind, s.Chosen())
	}
	return fmt.Sprintf("the %s may run a second time", j.Kind)
}

// isDeletedByTTL reports whether a Job's mirror no longer exists, and its TTL may have deleted it.
func isDeletedByTTL(v *view.View, s view.Submission) bool {
	return s.Job().TTL != nil && mayBeTTL(s) && vanished(v, s)
}

// removeTTL returns how to remove the TTL of a Job and of its mirrors.
func removeTTL(s view.Submission) command.Prose {
	remedy := command.Say("remove the TTL: %s", advice.RemoveTTL(s.Job()))
	for _, m := range s.Pair.Mirrors {
		remedy += "; " + advice.RemoveTTL(m.Job).Prose()
	}
	return remedy
}

// longTTL is a TTL that expires before the last status is copied only if the
// worker was unreachable for long.
const longTTL = 5 * time.Minute

// mayBeTTL reports whether a Job's mirrors can have finished and outlived its
// TTL each time that the Job was admitted. Kueue adds up these times
// (kueue: pkg/workload, SyncAdmittedCondition), so that only their average is
// known. Without their sum, they are within the age of the Workload.
func mayBeTTL(s view.Submission) bool {
	w := s.Workload
	admitted := retriedAt(s).Sub(w.CreationTimestamp.Time)
	if past := w.Status.PastSeconds; past != nil {
		admitted = time.Duration(*past) * time.Second
	}
	return admitted/time.Duration(max(1, restartsOf(w))) >= time.Duration(*s.Job().TTL)*time.Second
}

// vanished reports whether MultiKueue took a Job back because its mirror no
// longer exists, and that is true. A worker that was removed from the
// MultiKueueConfig looks the same from the manager, but still has the mirror.
func vanished(v *view.View, s view.Submission) bool {
	if s.Check == nil || !strings.Contains(lastRetry(s), retriedGone) {
		// Without a check, MultiKueue restarts nothing, and its last message is of the past.
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

// goneSighting returns the part of a sighting that all causes of a missing
// mirror share.
func goneSighting(s view.Submission) view.Sighting {
	j := s.Job()
	// MultiKueue offers the Job to the workers again, until one is chosen.
	sighting := view.Sighting{Object: view.Of(j), Since: retriedAt(s), Jobs: []*inspect.Job{j}, MayPass: !s.HasState(kueue.CheckReady)}
	if s.Check != nil {
		sighting.Evidence = append(sighting.Evidence, quote.MultiKueueCheck(s))
	}
	sighting.Evidence = append(sighting.Evidence, evictionOf(s)...)
	return sighting
}

// vanishedAgain reports whether the Job was started from scratch, and that mirror is gone as well.
// JM105 reports it, or the rule about its worker.
func vanishedAgain(v *view.View, s view.Submission) bool {
	if s.Chosen() == "" || !s.HasState(kueue.CheckReady) {
		return false
	}
	j := s.Job()
	worker, _ := v.Worker(s.Manager, s.Chosen())
	return worker != nil && v.IsMissing(worker, j, j.Namespace, j.Name)
}

func mirrorVanished() view.Rule {
	return view.Rule{
		Code: "JM048", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM114"},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				if !vanished(v, s) || s.Job().TTL != nil && mayBeTTL(s) || vanishedAgain(v, s) {
					continue
				}
				j := s.Job()
				sighting := goneSighting(s)
				sighting.Cause = strings.TrimSpace("vanished " + j.Context + "/" + j.Namespace + " " + s.Chosen())
				sighting.Message = fmt.Sprintf("its mirror was deleted on the worker; the %s restarts from scratch", j.Kind)
				sighting.Remedy = command.Say("wait: MultiKueue offers the %[1]s to the workers again; or to end the %[1]s: %[2]s", j.Kind, advice.DeleteJob(j))
				if s.HasState(kueue.CheckReady) {
					sighting.Severity = inspect.Info
					sighting.Message = fmt.Sprintf("its mirror was deleted on the worker; the %s restarted from scratch on MultiKueueCluster %s", j.Kind, s.Chosen())
					sighting.Remedy = "nothing to do"
				}
				v.Report(sighting)
			}
		},
	}
}
