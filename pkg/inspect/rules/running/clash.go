package running

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func nameConflict() view.Rule {
	return view.Rule{
		Code: "JM034", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM022"},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				for _, c := range ownerless(v, s) {
					j := v.JobNamed(c.Worker, s.Job(), s.Job().Namespace, s.Job().Name)
					if j != nil && !isOf(j, c.Workload) {
						v.Report(clash(v, s, c, j))
						break
					}
				}
			}
		},
	}
}

// ownerless returns the admitted copies that have no mirror, of a Job that
// waits for workers.
func ownerless(v *view.View, s view.Submission) []view.Copy {
	if !s.WaitsForWorkers() {
		return nil
	}
	var found []view.Copy
	for _, c := range v.Copies(s) {
		if c.Workload.Is(kueue.Admitted) && !c.Workload.Is(kueue.Finished) && !view.IsOwned(c.Workload) {
			found = append(found, c)
		}
	}
	return found
}

// isOf reports whether a Job comes from the management cluster that created a
// copy.
func isOf(j *inspect.Job, w *kueue.Workload) bool {
	return j.MultiKueueOrigin() != "" && j.Marks.MultiKueueOrigin == w.Labels[delegation.MultiKueueOriginLabel]
}

// admittedAt returns when a worker admitted a copy, by the manager's clock.
func admittedAt(v *view.View, s view.Submission, c view.Copy) time.Time {
	admitted := c.Workload.Condition(kueue.Admitted)
	return v.On(s.Manager.Context, c.Worker.Context, admitted.LastTransitionTime.Time)
}

func clash(v *view.View, s view.Submission, c view.Copy, other *inspect.Job) view.Sighting {
	j := s.Job()
	mark := "has no label " + delegation.MultiKueueOriginLabel
	if other.MultiKueueOrigin() != "" {
		mark = fmt.Sprintf("has the label %s=%s", delegation.MultiKueueOriginLabel, other.Marks.MultiKueueOrigin)
	}
	evidence := []string{
		conditionNamed(c.Worker, c.Workload, kueue.Admitted) + "; it has no ownerReferences",
		fmt.Sprintf("%s: %s, created %s, %s", other.Context, view.Of(other).String(), quote.Time(other.CreationTimestamp), mark),
		quote.MultiKueueCheck(s),
	}
	for _, n := range s.Pair.Namesakes {
		if n != other {
			evidence = append(evidence, fmt.Sprintf("%s: there is also another %s", n.Context, view.Of(n).String()))
		}
	}
	return view.Sighting{
		Object: view.Of(j), Since: admittedAt(v, s, c), Jobs: []*inspect.Job{j}, Evidence: evidence,
		Message: fmt.Sprintf("%s (%s) admitted it, but another %s there has its name", c.Cluster, c.Worker.Context, j.Kind),
		Remedy: command.Say("submit the %s under another name, then delete %s on %s: %s; or delete the other %s on %s, if its result is not needed: %s",
			j.Kind, view.Of(j).String(), j.Context, advice.DeleteJob(j), j.Kind, other.Context, advice.DeleteJob(other)),
	}
}

func mirrorRefused() view.Rule {
	return view.Rule{
		Code: "JM035", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			workloads := map[*inspect.Job]string{}
			for s := range unfinished(v) {
				copies := ownerless(v, s)
				if s.Job().ManualSelector && s.WaitsForWorkers() && len(copies) == 0 {
					v.Report(describeOwnSelector(s))
					continue
				}
				refused := len(copies) > 0
				for _, c := range copies {
					refused = refused && v.IsMissing(c.Worker, s.Job(), s.Job().Namespace, s.Job().Name)
				}
				if refused {
					workloads[s.Job()] = s.Workload.Name
					v.Report(describeRefusedMirror(v, s, copies[0], workloads))
				}
			}
		},
	}
}

// describeRefusedMirror describes a Job whose mirror a worker refuses. workloads has the names of the Workloads of all such
// Jobs.
func describeRefusedMirror(v *view.View, s view.Submission, c view.Copy, workloads map[*inspect.Job]string) view.Sighting {
	j := s.Job()
	quotas := command.Kubectl(c.Worker.Context, j.Namespace, "get", "resourcequotas")
	sighting := view.Sighting{
		Object: view.Of(j), Since: admittedAt(v, s, c), Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("%s (%s) admitted it, but MultiKueue created no mirror there", c.Cluster, c.Worker.Context),
		Evidence: []string{
			conditionNamed(c.Worker, c.Workload, kueue.Admitted) + "; it has no ownerReferences",
			fmt.Sprintf("%s: there is no %s", c.Worker.Context, view.Of(j).String()),
			quote.MultiKueueCheck(s),
		},
		Remedy: command.Say("check that no webhook or policy on %s rejects Jobs: %s; "+advice.LookAtQuotas+": %s", c.Worker.Context,
			command.Kubectl(c.Worker.Context, j.Namespace, "create", "job", j.Name, "--image=busybox", "--dry-run=server", "--", "true"), quotas),
		Cause:  "refused " + c.Worker.Context + "/" + j.Namespace,
		Awaits: v.AwaitsReach(s.Manager, s.Workload, liveness.DutyMirror, c.Worker.Context, j.Context, admittedAt(v, s, c)),
	}
	if !j.Row().IsJob() {
		sighting.Cause += " " + j.Kind
		sighting.Remedy = command.Say("check that no webhook or policy on %s rejects the %s, with its manifest in FILE: %s; "+advice.LookAtQuotas+": %s", c.Worker.Context, j.Kind,
			command.Kubectl(c.Worker.Context, j.Namespace, "create", "--dry-run=server", "-f", "FILE"), quotas)
	}
	if sighting.Awaits.IsAtWork() {
		// Kueue tries again by itself, but after up to 17 minutes (controller-runtime: pkg/ratelimiter).
		steps := sighting.Remedy
		retry := func(change command.Prose) command.Prose {
			return steps + command.Say("; once nothing rejects it, %s", change)
		}
		sighting.Remedy = retry(advice.TriggerReconcile(s.Manager, j.Namespace, s.Workload.Name))
		sighting.Group = func(first *view.Sighting, all []view.Sighting) {
			first.Remedy = retry(advice.TriggerReconciles(s.Manager, j.Namespace, all, workloads))
		}
	} else {
		sighting.Remedy += command.Say("; %s", advice.CheckKueue(v, j.Context, sighting.Awaits))
	}
	if j.ManualSelector {
		own := describeOwnSelector(s)
		own.Message = fmt.Sprintf("%s (%s) admitted it, but its API server rejects the mirror: spec.manualSelector is set", c.Cluster, c.Worker.Context)
		own.Since, own.Evidence = sighting.Since, append(sighting.Evidence, own.Evidence[1:]...)
		return own
	}
	return sighting
}

// describeOwnSelector describes a Job that no worker can run, whatever it has read and admitted: MultiKueue removes
// spec.selector from the mirror, and leaves spec.manualSelector (kueue: pkg/controller/jobs/job/job_multikueue_adapter.go).
// Waiting does not help here.
func describeOwnSelector(s view.Submission) view.Sighting {
	j := s.Job()
	return view.Sighting{
		Object: view.Of(j), Since: s.Check.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Message: "no worker can run it: each rejects the mirror, because spec.manualSelector is set",
		Evidence: []string{
			quote.MultiKueueCheck(s), fmt.Sprintf("%s: spec.manualSelector of %s is true", j.Context, view.Of(j).String()),
		},
		Remedy: advice.CreateAgainWith(j, "without spec.manualSelector and spec.selector"),
		Covers: []string{"JM135"},
	}
}
