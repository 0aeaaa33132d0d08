package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Reasons of a Workload's Finished condition, and what MultiKueue says of a
// worker that gave the first of them (kueue: apis/kueue/v1beta2/workload_types.go,
// pkg/controller/admissionchecks/multikueue/workload.go).
const (
	finishedOutOfSync = "OutOfSync"
	finishedOwnerless = "OwnerNotFound"
	retriedOutOfSync  = "is out of sync with its user job"
)

func outOfSync() Rule {
	return Rule{
		Code: "JM036", Title: "the worker changed the mirror", Severity: inspect.Error,
		Holds: "workers leave their mirrors unchanged",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `A mirror has to ask for what its Workload was admitted with. Something on the worker, mostly an admission
policy that changes pod templates, made it differ, so Kueue there ends the Workload as OutOfSync. MultiKueue then takes
the Job back and offers it again, which goes on forever, or until a worker without that policy gets it. Compared are the
numbers of pods and what their templates ask for; newer versions, Kueue 0.20 at the latest, also compare resources of
whole pods and the requested topology. These versions may take a mirror for changed that nobody has changed, where the
Kueue of the management cluster is older and its Workload lacks them (kueue pull requests 14436 and 14585). Before Kueue
0.17.8, 0.18.4 and 0.19 it ended the origin's Workload instead, with the Job unsuspended and nothing running.`,
		Shows: `The copy of the Workload on a worker is Finished with reason OutOfSync, or the check on the management
cluster was retried for it: its message, or that of the Evicted condition, says that the remote Workload is out of
sync with its user job. In older versions the origin's own Workload is Finished with reason OutOfSync. While the mirror
is there, the evidence says whether it is the number of pods that differs, and trace shows which fields of the pod
template do. Where the two are the same, it is the topology (annotations of the pod template, which Kueue adds to, are
not compared), or the versions of Kueue. Who made the change is written down nowhere.`,
		Remedy: `Exempt Jobs with the label kueue.x-k8s.io/multikueue-origin from policies that change Jobs on the
workers (with Kyverno, the rules that it generates for Jobs from those for pods too), or apply the same policy on the
management cluster, so that the origin asks for the same. Then remove what is left of the mirror (JM037), or create
the Job again.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/13046",
		// What is left of the change is part of it.
		Covers: []string{"JM037", "JM045", "JM046"},
		Detect: func(v *View) {
			for s := range underWay(v) {
				switch c := finishedFor(s.Workload, finishedOutOfSync); {
				case c != nil && onlyFinished(v, s):
					j := s.Job()
					v.Report(Sighting{
						Object: Of(j), Since: c.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
						Message:  fmt.Sprintf("it will never run: a worker changed its mirror, and Kueue gave the %s up", j.Kind),
						Evidence: []string{conditionOf(s.Manager, s.Workload, c)},
						Remedy:   command.Say("exempt %s with the label %s from mutating policies on the workers, and then %s", plural(j), delegation.MultiKueueOriginLabel, startAgain(j)),
					})
				case !s.IsFinished():
					reportOutOfSync(v, s)
				}
			}
		},
	}
}

// onlyFinished is whether all Workloads of a Job have finished: one that changes
// its size has several.
func onlyFinished(v *View, s Submission) bool {
	workloads, ok := v.WorkloadsOf(s.Pair, s.Manager)
	for _, w := range workloads {
		ok = ok && w.Is(kueue.Finished)
	}
	return ok
}

// outOfSyncCopies are the copies of a Job that ended because the mirror was
// changed, on the worker that it was given to, or on any while it waits for one.
func outOfSyncCopies(v *View, s Submission) []Copy {
	var copies, found []Copy
	switch chosen := s.Chosen(); {
	case chosen != "":
		if c, _ := v.CopyOn(s, chosen); c.Workload != nil {
			copies = []Copy{c}
		}
	case s.Check != nil:
		copies = v.Copies(s)
	}
	for _, c := range copies {
		if finishedFor(c.Workload, finishedOutOfSync) != nil {
			found = append(found, c)
		}
	}
	return found
}

func reportOutOfSync(v *View, s Submission) {
	j := s.Job()
	copies := outOfSyncCopies(v, s)
	retried := !hasState(s, kueue.CheckReady) && strings.Contains(lastRetry(s), retriedOutOfSync)
	again := s.Check != nil && s.Check.RetryCount != nil && *s.Check.RetryCount > 1
	if len(copies) == 0 && (!retried || !again && !hasState(s, kueue.CheckRetry)) {
		// Once it was taken back, and waits like any other Job.
		return
	}
	sighting := Sighting{
		Object: Of(j), Jobs: []*inspect.Job{j}, Cause: "out of sync " + s.Manager.Context,
		Message: "a worker changed its mirror; MultiKueue took it back and offers it again",
		Remedy: command.Say("exempt %s with the label %s from mutating policies on the workers, or apply these policies on %s too",
			plural(j), delegation.MultiKueueOriginLabel, s.Manager.Context),
	}
	for _, c := range copies {
		finished := finishedFor(c.Workload, finishedOutOfSync)
		sighting.Cause = "out of sync " + c.Worker.Context
		sighting.Since = v.On(j.Context, c.Worker.Context, finished.LastTransitionTime.Time)
		sighting.Message = fmt.Sprintf("something on %s (%s) changed its mirror; Kueue there gave it up", c.Cluster, c.Worker.Context)
		sighting.Remedy = command.Say("exempt %s with the label %s from the mutating webhooks and policies of %s; these list them: %s, and %s",
			plural(j), delegation.MultiKueueOriginLabel, c.Worker.Context,
			command.Kubectl(c.Worker.Context, "", "get", "mutatingwebhookconfigurations"), command.Kubectl(c.Worker.Context, "", "get", "mutatingadmissionpolicies"))
		sighting.Evidence = append(append(sighting.Evidence, conditionOf(c.Worker, c.Workload, finished)), v.changedThere(s.Pair, c.Worker)...)
		tellEditors(&sighting, s.Pair, c)
		if again := v.unblocked(s, c); again != "" {
			sighting.Remedy = command.Join([]command.Prose{sighting.Remedy, again}, then(sighting.Remedy))
		}
	}
	if retried {
		sighting.Evidence = append(append(sighting.Evidence, checkOf(s)), evictionOf(s)...)
		if cluster, _ := retriedBy(v, s); len(copies) == 0 {
			sighting.Since, sighting.Severity = retriedAt(s), inspect.Warning
			sighting.Message = fmt.Sprintf("something on MultiKueueCluster %s changed its mirror; MultiKueue offers it again", cluster)
		}
		if again {
			// It goes in a circle, which dates its stations anew each time.
			sighting.Since = s.Workload.CreationTimestamp.Time
		}
	}
	v.Report(sighting)
}

// then joins a remedy and the step that follows it.
func then(first command.Prose) string {
	if first == "" {
		return ""
	}
	return "; then "
}

// tellEditors says who edited the mirror under a copy, if its managed fields name anybody
// but Kueue and the built-in controllers. A webhook leaves no name.
func tellEditors(s *Sighting, p inspect.Pair, c Copy) {
	for _, m := range p.Mirrors {
		if m.Job.Context != c.Worker.Context || m.Job.Prebuilt() != c.Workload.Name {
			continue
		}
		editors := slices.DeleteFunc(slices.Clone(m.Job.SpecWriters), func(name string) bool {
			return strings.HasPrefix(name, "kueue") || name == builtIn
		})
		if len(editors) == 0 {
			return
		}
		s.Message = fmt.Sprintf("%s edited its mirror on %s (%s), so Kueue there ended its Workload", strings.Join(editors, ", "), c.Cluster, c.Worker.Context)
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: managedFields of %s name %s, last at %s",
			m.Job.Context, named(Of(m.Job)), strings.Join(editors, ", "), day(timeOf(m.Job.SpecWrittenAt))))
		s.Remedy, s.Cause = "", ""
	}
}

// unblocked returns how to have MultiKueue offer a Job again whose copy ended as OutOfSync,
// "" if it does so by itself.
func (v *View) unblocked(s Submission, c Copy) command.Prose {
	switch {
	case isEvicted(s) && s.Workload.Is(kueue.QuotaReserved) && s.Job().Active > 0 && !hasPodsLeft(v, s):
		return command.Say("set the status of the origin to no active Pods, so that Kueue releases its quota and offers it again: %s", noneActive(s.Job()))
	case s.WaitsForWorkers():
		return command.Say("delete what is left of the mirror, so that MultiKueue offers the %s again: %s", s.Job().Kind, deleteLeft(s, c))
	}
	return ""
}

// changedThere tells, of what a worker may have changed in a mirror, what shows in it.
func (v *View) changedThere(p inspect.Pair, worker *inspect.Facts) (evidence []string) {
	for _, m := range p.Mirrors {
		if m.Job.Context != worker.Context || !m.Current || !p.Origin.Row().IsJob() {
			continue
		}
		for _, d := range v.Differences(p, m) {
			if d.Field == "spec.parallelism" || d.Field == "spec.completions" {
				evidence = append(evidence, fmt.Sprintf("%s of %s is %s on %s, and %s on %s: the number of pods was changed",
					d.Field, named(Of(m.Job)), d.Mirror, m.Job.Context, d.Origin, p.Origin.Context))
			}
		}
		if evidence == nil {
			evidence = append(evidence, fmt.Sprintf("%s: %s wants as many pods as on %s, so that its pod template was changed, or is read in another way",
				m.Job.Context, named(Of(m.Job)), p.Origin.Context))
		}
	}
	return evidence
}

func staleCopy() Rule {
	return Rule{
		Code: "JM037", Title: "remains of a changed mirror block the Job", Severity: inspect.Error,
		Holds: "no remains of a changed mirror block a Job",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `After a worker has changed a mirror (JM036), MultiKueue takes the Job back and has to remove the copy of
its Workload from that worker. If the manager reserves quota for the Job before that is done, the copy stays, and as
long as there is a copy that has finished as OutOfSync, MultiKueue neither offers the Job anew nor gives it up (kueue
issue 14736).`,
		Shows: `The management cluster has reserved quota and the check is Pending, no cluster is nominated, and on a
worker there is a copy of the Workload that is Finished with reason OutOfSync.`,
		Remedy: `First see to what changed the mirror (JM036), then delete the copy, and the mirror that owns it, on
the worker; MultiKueue then offers the Job anew.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/14736",
		Detect: func(v *View) {
			for s := range underWay(v) {
				if !s.WaitsForWorkers() {
					continue
				}
				for _, c := range outOfSyncCopies(v, s) {
					v.Report(stale(v, s, c))
				}
			}
		},
	}
}

// deleteLeft deletes a copy, and the mirror that it belongs to.
func deleteLeft(s Submission, c Copy) command.Command {
	left := []string{"workloads.kueue.x-k8s.io/" + c.Workload.Name}
	for _, m := range s.Pair.Mirrors {
		// One that another Workload owns is not what was left, and may run.
		if m.Job.Context == c.Worker.Context && m.Job.Prebuilt() == c.Workload.Name {
			left = append([]string{m.Job.Row().Resource.GroupResource().String() + "/" + m.Job.Name}, left...)
		}
	}
	return command.Kubectl(c.Worker.Context, s.Job().Namespace, "delete", "--ignore-not-found").With(left...)
}

func stale(v *View, s Submission, c Copy) Sighting {
	j := s.Job()
	finished := finishedFor(c.Workload, finishedOutOfSync)
	since := newest(s.Check.LastTransitionTime.Time, v.On(j.Context, c.Worker.Context, finished.LastTransitionTime.Time))
	return Sighting{
		Object: Of(j), Jobs: []*inspect.Job{j}, Since: since,
		Awaits: v.awaitsKueue(s.Manager, s.Workload, inspect.DutyRemove, c.Worker.Context, j.Context, since),
		Message: fmt.Sprintf("its Workload copy that ended on %s (%s) as OutOfSync keeps MultiKueue from offering it",
			c.Cluster, c.Worker.Context),
		Evidence: []string{
			checkOf(s), conditionNamed(s.Manager, s.Workload, kueue.QuotaReserved), conditionOf(c.Worker, c.Workload, finished),
		},
		Remedy: command.Say("once nothing on %s changes %s any more: %s",
			c.Worker.Context, plural(j), deleteLeft(s, c)),
	}
}

func ownerNotFound() Rule {
	return Rule{
		Code: "JM038", Title: "the Workload ended as if the Job were deleted", Severity: inspect.Error,
		Holds: "no Workload of an existing Job was ended",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks},
		Why: `On the worker somebody deleted the mirror, and Kueue there ended its Workload with reason OwnerNotFound.
Some versions of MultiKueue take that for the end of the Job and copy it to the origin's Workload, although the origin
is still there (kueue issue 14935). A Workload that has finished is never offered again.`,
		Shows: `The origin exists and has not finished, and its Workload on the management cluster is Finished with
reason OwnerNotFound.`,
		Remedy: `Delete the Job and create it again. Kueue 0.18.8, 0.19.4 and 0.20 do better.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/14935",
		Detect: func(v *View) {
			for s := range underWay(v) {
				finished := finishedFor(s.Workload, finishedOwnerless)
				if finished == nil || !onlyFinished(v, s) {
					continue
				}
				j := s.Job()
				v.Report(Sighting{
					Object: Of(j), Since: finished.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
					Message: fmt.Sprintf("it will never run: its Workload finished with OwnerNotFound, although the %s exists", j.Kind),
					Evidence: []string{
						conditionOf(s.Manager, s.Workload, finished),
						fmt.Sprintf("%s: %s, uid %s, is there and has not finished", j.Context, named(Of(j)), j.UID),
					},
					Remedy: startAgain(j),
				})
			}
		},
	}
}
