package waiting

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func waitsBehind() view.Rule {
	return view.Rule{
		Code: view.BehindOthers, Severity: inspect.Info,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Detect: detectWaitsBehind,
	}
}

func detectWaitsBehind(v *view.View) {
	for w := range unadmitted(v) {
		var waits []blockedBehind
		for _, o := range w.copies {
			if b, _ := blockerOf(v, o); b != nil {
				waits = append(waits, blockedBehind{o, b, quote.SubmittedName(v, w.Manager, b.Workload)})
			}
		}
		if len(waits) == 0 {
			continue
		}
		s := waitsBehindOn(v, w, waits[0])
		for _, x := range waits {
			s.Evidence = append(s.Evidence, x.evidence()...)
		}
		v.Report(s)
	}
}

// blockedBehind is a copy that waits behind another Workload.
type blockedBehind struct {
	view.Copy
	*inspect.Blocker
	// other names the object that the blocking Workload was submitted as.
	other string
}

// blockerOf returns what the copy of an offer waits for in its queue, nil if
// it waits for nothing there. known is false if queues or Workloads could not
// be read.
func blockerOf(v *view.View, o view.Copy) (b *inspect.Blocker, known bool) {
	known = v.CanRead(o.Worker, inspect.PartQueues, inspect.PartWorkloads) && o.Worker.KnowsBlockers()
	return o.Worker.BlockerOf(o.Workload), known
}

func waitsBehindOn(v *view.View, w *waiter, x blockedBehind) view.Sighting {
	j, worker := w.Job(), x.Worker.Context
	how := "waits behind " + x.other + ", which does not fit (StrictFIFO)"
	remedy := command.Say("wait, or raise the quota of its queue so that %s fits: %s", x.other,
		command.Kubectl(worker, "", "edit", "clusterqueue", x.Queue.Name))
	switch wait := x.Blocker.Workload.Waiting(); {
	case !x.IsHead:
		how = "waits with " + x.other + ": same requests, and not enough free quota"
	case wait.Reason == kueue.ReasonMisconfigured:
		how = "waits behind " + x.other + ", whose resources are invalid (StrictFIFO)"
		remedy = correctHead(x)
	case wait.IsPermanentIn(x.Queue):
		how = "waits behind " + x.other + ", which can never fit there (StrictFIFO)"
		remedy = command.Say("raise the quota of its queue so that %s fits: %s", x.other, command.Kubectl(worker, "", "edit", "clusterqueue", x.Queue.Name))
	}
	return view.Sighting{
		Object: view.Of(j), Since: v.On(j.Context, worker, x.Copy.Workload.CreationTimestamp.Time), Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("%s, in ClusterQueue %s of %s; Kueue runs there", how, x.Queue.Name, worker),
		Remedy:  remedy,
		// One line of waiting Jobs is one cause, whichever Job is first on each
		// worker.
		Cause: strings.Join([]string{"behind", w.Manager.Context, w.Workload.Namespace, w.Workload.Spec.QueueName, j.Kind}, " "),
	}
}

// correctHead returns the fix of a first Workload whose requests are invalid, like JM116 about the same Workload.
func correctHead(x blockedBehind) command.Prose {
	w, job := x.Blocker.Workload, x.other
	if strings.HasPrefix(job, "Workload ") {
		job = "its Job"
	}
	describe := kueue.Kubectl(x.Worker.Context, "describe", "Workload", w.Namespace, w.Name)
	return command.Fix{Text: "correct the resources of " + x.other, Command: describe.Words()}.Again(job, "").Prose()
}

func (x *blockedBehind) evidence() []string {
	strategy := x.Queue.Spec.QueueingStrategy
	if strategy == "" {
		strategy = "not set, which is BestEffortFIFO"
	}
	return []string{
		quote.WorkloadCondition(x.Worker, x.Blocker.Workload, x.Condition),
		fmt.Sprintf("%s: spec.queueingStrategy of ClusterQueue %s is %s", x.Worker.Context, x.Queue.Name, strategy),
		quoteSilence(x.Copy),
	}
}

// quoteSilence quotes that Kueue has not reported anything about the copy of an
// offer.
func quoteSilence(o view.Copy) string {
	if c := o.Workload.Condition(kueue.QuotaReserved); c != nil {
		return quote.WorkloadCondition(o.Worker, o.Workload, c)
	}
	return fmt.Sprintf("%s: %s has had no conditions since its creation at %s", o.Worker.Context, view.OfWorkload(o.Worker, o.Workload).String(), quote.Time(o.Workload.CreationTimestamp))
}
