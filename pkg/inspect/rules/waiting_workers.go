package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func workersCheckPending() Rule {
	return Rule{
		Code: "JM030", Title: "a worker's own AdmissionCheck keeps it waiting", Severity: inspect.Warning,
		Holds: "the admission checks of workers keep no Job waiting",
		// A ProvisioningRequest has to bring up nodes.
		GracePeriod: 15 * time.Minute,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `A worker has quota for the Job, and its ClusterQueue has an AdmissionCheck of its own, such as a
ProvisioningRequest for nodes, that is not Ready. MultiKueue takes a worker for chosen only when it has admitted the
Workload, all its checks included. A check that rejects a copy takes that worker out for good; MultiKueue does not
say so on the management cluster.`,
		Shows: `The Workload's copy on the worker has QuotaReserved=True and Admitted=False, and one of its
status.admissionChecks is Pending, Retry or Rejected.`,
		Remedy: `Look at that check on the worker, and at what its controller says.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/8585",
		Detect: detectWorkersCheckPending,
	}
}

func detectWorkersCheckPending(v *View) {
	var sightings []Sighting
	for w := range v.untaken() {
		for _, o := range w.copies {
			for _, state := range o.Workload.Status.AdmissionChecks {
				isRejected := state.State == kueue.CheckRejected
				if isRejected || state.State != kueue.CheckReady && o.Workload.Is(kueue.QuotaReserved) {
					sightings = append(sightings, workersCheck(w, o, state))
				}
			}
		}
	}
	reportWorstFirst(v, sightings)
}

func workersCheck(w *waiter, o Copy, state kueue.CheckState) Sighting {
	check := OfKueue(o.Worker, "AdmissionCheck", "", state.Name)
	s := Sighting{
		Object: check, Since: state.LastTransitionTime.Time, Severity: inspect.Warning,
		Message:  fmt.Sprintf("AdmissionCheck %s of %s keeps %s waiting that have quota there", state.Name, o.Worker.Context, plural(w.Job())),
		Evidence: []string{checkText(workloadObject(o.Worker, o.Workload), state)},
		Remedy: command.Say("see why: %s, and %s",
			kubectlOn(check, "describe"), kubectlOn(workloadObject(o.Worker, o.Workload), "describe")),
		Jobs: []*inspect.Job{w.Job()}, Cause: o.Worker.Context + " " + state.Name + " " + kueue.CheckPending + " " + w.Job().Kind,
	}
	if quota := o.Workload.Condition(kueue.QuotaReserved); isTrue(quota) {
		s.Since = newest(state.LastTransitionTime.Time, quota.LastTransitionTime.Time)
		s.Evidence = append(s.Evidence, conditionOf(o.Worker, o.Workload, quota))
	}
	if state.State == kueue.CheckRejected {
		s.Message = fmt.Sprintf("AdmissionCheck %s of %s rejected %s: they never run there", state.Name, o.Worker.Context, plural(w.Job()))
		s.Cause = o.Worker.Context + " " + state.Name + " " + state.State + " " + w.Job().Kind
		if len(w.offers) == 1 {
			s.Severity = inspect.Error
		}
	}
	return s
}

func kueueDownOnWorker() Rule {
	return Rule{
		Code: "JM031", Title: "Kueue on a worker ignores the Workload", Severity: inspect.Error,
		Holds: "Kueue on the workers reconciles every Workload",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Why: `MultiKueue talks to the API server of a worker, not to the Kueue on it. Where that does not run, copies of
Workloads are created and nobody ever looks at them. MultiKueueClusters stay Active, and the quota on the management
cluster is held.`,
		Shows: `The Workload's copy on the worker has no condition at all since it was created, nothing in its queue
explains that (JM115), and no other Workload there has changed since; or others have that came much later.`,
		Remedy: `See whether Kueue's controller runs on the worker. Start it if it does not; else see what it logs.`,
		Link:   "https://kueue.sigs.k8s.io/docs/tasks/manage/setup_multikueue/",
		Detect: detectKueueDown,
	}
}

func detectKueueDown(v *View) {
	for w := range v.untaken() {
		for _, o := range w.copies {
			if len(o.Workload.Status.Conditions) > 0 {
				continue
			}
			// What is not known of a queue may explain it.
			if b, known := v.blockerOf(o); b == nil && known {
				reportKueueDown(v, w, o)
			}
		}
	}
}

func reportKueueDown(v *View, w *waiter, o Copy) {
	worker, created := o.Worker.Context, o.Workload.CreationTimestamp
	awaited := v.awaitsKueue(o.Worker, o.Workload, inspect.DutyQuota, "", worker, created.Time)
	s := Sighting{
		Object:  OfKueue(w.Manager, "MultiKueueCluster", "", o.Cluster),
		Since:   v.On(w.Manager.Context, worker, created.Time),
		Message: fmt.Sprintf("no Kueue controller processes Workloads on %s", worker),
		Evidence: []string{fmt.Sprintf("%s: %s has no conditions since its creation at %s", worker, named(workloadObject(o.Worker, o.Workload)),
			stamp(created))},
		Remedy: command.Say("start it: %s; if it does not run then, see why: %s",
			command.Kubectl(worker, kueue.Namespace, "scale", "deployment", controller, "--replicas=1"), podsOfKueue(worker)),
		Jobs: []*inspect.Job{w.Job()}, Cause: w.Manager.Context + " " + o.Cluster, Awaits: awaited,
	}
	if awaited.isAtWork() {
		s.Message = fmt.Sprintf("Kueue on %s processed later Workloads, but not these", worker)
		s.Remedy = seeKueue(worker, awaited)
		s.Cause, s.Severity = s.Cause+" at work", inspect.Warning
	}
	v.Report(s)
}

func preemptionGated() Rule {
	return Rule{
		Code: "JM033", Title: "a worker may not preempt for it yet", Severity: inspect.Info,
		Holds:       "workers may preempt for every Job",
		GracePeriod: round,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `From Kueue 0.20 on, and before with the feature gate MultiKueueOrchestratedPreemption, copies of a Workload must
not preempt on all workers at once. Each has a gate, and MultiKueue opens one of them every five minutes. A worker that
would have to preempt waits until then. That is meant to be so.`,
		Shows:  `The Workload's copy on the worker has BlockedOnPreemptionGates=True.`,
		Remedy: `Wait: five minutes a worker. If no gate opens, see whether Kueue runs on the management cluster.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/blob/main/keps/8303-multikueue-orchestrated-preemption/README.md",
		Detect: detectPreemptionGated,
	}
}

func detectPreemptionGated(v *View) {
	for w := range v.untaken() {
		var contexts, evidence []string
		since := w.since
		for _, o := range w.copies {
			if gated := o.Workload.Condition(kueue.BlockedOnPreemptionGates); isTrue(gated) {
				contexts = append(contexts, o.Worker.Context)
				evidence = append(evidence, conditionOf(o.Worker, o.Workload, gated))
				since = newest(gated.LastTransitionTime.Time, since)
			}
		}
		if len(contexts) == 0 {
			continue
		}
		v.Report(Sighting{
			Object: Of(w.Job()), Since: since, Evidence: evidence, Jobs: []*inspect.Job{w.Job()},
			Message: fmt.Sprintf("%s must preempt others for it, but may not yet", strings.Join(contexts, ", ")),
			Remedy: command.Say("wait for MultiKueue to open the gate; if that takes longer than five minutes a worker, see whether Kueue runs: %s",
				podsOfKueue(w.Manager.Context)),
		})
	}
}
