package waiting

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

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
		if g := closedGates(v, w); len(g.contexts) > 0 {
			v.Report(g.sighting(v, w))
		}
	}
}

// gates are the closed preemption gates of a waiter.
type gates struct {
	// contexts are those of the workers with a closed gate, and evidence says that they need it open.
	contexts, evidence []string
	// since is when the last worker needed its gate, and due is when MultiKueue must open the next one, both by the
	// manager's clock.
	since, due time.Time
}

// closedGates returns the gates that keep the copies of a waiter from preempting others. MultiKueue opens the first gate
// as soon as a worker needs it, and each further one five minutes after the one before (kueue:
// pkg/controller/admissionchecks/multikueue/workload.go, workloadToOpenPreemptionGate).
func closedGates(v *view.View, w *waiter) gates {
	g := gates{since: w.since}
	var opened time.Time
	for _, o := range w.copies {
		for _, gate := range o.Workload.Status.Gates {
			if gate.IsOpen() {
				opened = view.Latest(opened, gate.LastTransitionTime.Add(round))
			}
		}
		gated := o.Workload.Condition(kueue.BlockedOnPreemptionGates)
		if !view.IsTrue(gated) || o.Workload.HasOpenGate() {
			continue
		}
		g.contexts = append(g.contexts, o.Worker.Context)
		g.evidence = append(g.evidence, quote.WorkloadCondition(o.Worker, o.Workload, gated))
		needed := v.On(w.Manager.Context, o.Worker.Context, gated.LastTransitionTime.Time)
		g.since = view.Latest(g.since, needed)
		if g.due.IsZero() || needed.Before(g.due) {
			g.due = needed
		}
	}
	g.due = view.Latest(g.due, opened, w.since)
	return g
}

// sighting describes closed gates. MultiKueue opens them in time, unless one is overdue for as long as a round takes.
func (g *gates) sighting(v *view.View, w *waiter) view.Sighting {
	j, manager := w.Job(), w.Manager.Context
	s := view.Sighting{
		Object: view.Of(j), Since: g.since, Evidence: g.evidence, Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("%s must preempt others for it, but may not yet", inspect.And(g.contexts)),
		Remedy: command.Say("wait up to five minutes per worker for MultiKueue to open the gate; if it does not, check that Kueue runs: %s",
			kueue.ShowPods(manager)),
	}
	if v.Age(manager, g.due) < round || len(v.UnreadWorkersOf(w.Submission)) > 0 {
		// MultiKueue may have opened a gate on a worker that was not read, and then the next one is not due.
		return s
	}
	s.Since, s.Severity, s.Cause = g.due, inspect.Error, "gates "+manager
	what := "gate"
	if len(g.contexts) > 1 {
		what = "gates"
	}
	s.Message = fmt.Sprintf("MultiKueue on %s keeps its preemption %s closed on %s", manager, what, inspect.And(g.contexts))
	if len(g.contexts) < len(w.copies) {
		// Another worker may still admit it without a preemption.
		s.Severity = inspect.Warning
	}
	s.Awaits = v.AwaitsReach(w.Manager, w.Workload, liveness.DutyGate, g.contexts[0], manager, g.due)
	s.Remedy = advice.CheckKueue(v, manager, s.Awaits)
	return s
}
