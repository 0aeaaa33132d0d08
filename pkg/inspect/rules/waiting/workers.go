package waiting

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func workersCheckPending() view.Rule {
	return view.Rule{
		Code: "JM030", Severity: inspect.Warning,
		GracePeriod: 15 * time.Minute,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: detectWorkersCheckPending,
	}
}

func detectWorkersCheckPending(v *view.View) {
	for w := range unadmitted(v) {
		for _, o := range w.copies {
			for _, state := range o.Workload.Status.AdmissionChecks {
				isRejected := state.State == kueue.CheckRejected
				if isRejected || state.State != kueue.CheckReady && o.Workload.Is(kueue.QuotaReserved) {
					v.Report(workersCheck(v, w, o, state))
				}
			}
		}
	}
}

func workersCheck(v *view.View, w *waiter, o view.Copy, state kueue.CheckState) view.Sighting {
	check := view.OfKueue(o.Worker, "AdmissionCheck", "", state.Name)
	s := view.Sighting{
		Object: check, Since: state.LastTransitionTime.Time, Severity: inspect.Warning,
		Message:  fmt.Sprintf("%s have quota on %s, but AdmissionCheck %s has not passed", quote.Plural(w.Job()), o.Worker.Context, state.Name),
		Evidence: []string{quote.CheckState(view.OfWorkload(o.Worker, o.Workload), state)},
		Remedy: command.Say("read the message of the check: %s, and %s",
			advice.KubectlObject(check, "describe"), advice.KubectlObject(view.OfWorkload(o.Worker, o.Workload), "describe")),
		Jobs: []*inspect.Job{w.Job()}, Cause: o.Worker.Context + " " + state.Name + " " + kueue.CheckPending + " " + w.Job().Kind,
	}
	if quota := o.Workload.Condition(kueue.QuotaReserved); view.IsTrue(quota) {
		s.Since = view.Latest(state.LastTransitionTime.Time, quota.LastTransitionTime.Time)
		s.Evidence = append(s.Evidence, quote.WorkloadCondition(o.Worker, o.Workload, quota))
	}
	if state.State == kueue.CheckRejected {
		s.Message = fmt.Sprintf("AdmissionCheck %s of %s rejected %s: they never run there", state.Name, o.Worker.Context, quote.Plural(w.Job()))
		s.Cause = o.Worker.Context + " " + state.Name + " " + state.State + " " + w.Job().Kind
		if len(w.offers) == 1 && w.wasOfferedToAll(v) {
			s.Severity = inspect.Error
		}
	}
	return s
}

func kueueDownOnWorker() view.Rule {
	return view.Rule{
		Code: "JM031", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Detect: detectKueueDown,
	}
}

func detectKueueDown(v *view.View) {
	for w := range unadmitted(v) {
		for _, o := range w.copies {
			if len(o.Workload.Status.Conditions) > 0 {
				continue
			}
			// Without knowing the queue, there may be another explanation.
			if b, known := blockerOf(v, o); b == nil && known {
				reportKueueDown(v, w, o)
			}
		}
	}
}

func reportKueueDown(v *view.View, w *waiter, o view.Copy) {
	worker, created := o.Worker.Context, o.Workload.CreationTimestamp
	awaited := v.AwaitsKueue(o.Worker, o.Workload, liveness.DutyQuota, "", worker, created.Time)
	s := view.Sighting{
		Object:  view.OfKueue(w.Manager, "MultiKueueCluster", "", o.Cluster),
		Since:   v.On(w.Manager.Context, worker, created.Time),
		Message: fmt.Sprintf("no Kueue controller processes Workloads on %s", worker),
		Evidence: []string{fmt.Sprintf("%s: %s has had no conditions since its creation at %s", worker, view.OfWorkload(o.Worker, o.Workload).String(),
			quote.Time(created))},
		Remedy: command.Say("start Kueue there; see its Deployment and its Pods: %s",
			kueue.ShowPods(worker)),
		Jobs: []*inspect.Job{w.Job()}, Cause: w.Manager.Context + " " + o.Cluster, Awaits: awaited,
	}
	if awaited.IsAtWork() {
		s.Message = fmt.Sprintf("Kueue on %s processed later Workloads, but not these", worker)
		s.Remedy = advice.CheckKueue(v, worker, awaited)
		s.Cause, s.Severity = s.Cause+" at work", inspect.Warning
	}
	v.Report(s)
}

func preemptionGated() view.Rule {
	return view.Rule{
		Code: "JM033", Severity: inspect.Info,
		GracePeriod: round,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: detectPreemptionGated,
	}
}

func detectPreemptionGated(v *view.View) {
	for w := range unadmitted(v) {
		var contexts, evidence []string
		since := w.since
		for _, o := range w.copies {
			if gated := o.Workload.Condition(kueue.BlockedOnPreemptionGates); view.IsTrue(gated) {
				contexts = append(contexts, o.Worker.Context)
				evidence = append(evidence, quote.WorkloadCondition(o.Worker, o.Workload, gated))
				since = view.Latest(gated.LastTransitionTime.Time, since)
			}
		}
		if len(contexts) == 0 {
			continue
		}
		v.Report(view.Sighting{
			Object: view.Of(w.Job()), Since: since, Evidence: evidence, Jobs: []*inspect.Job{w.Job()},
			Message: fmt.Sprintf("%s must preempt others for it, but may not yet", strings.Join(contexts, ", ")),
			Remedy: command.Say("wait up to five minutes per worker for MultiKueue to open the gate; if it does not, check that Kueue runs: %s",
				kueue.ShowPods(w.Manager.Context)),
		})
	}
}
