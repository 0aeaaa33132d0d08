package rules

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func waitsBehind() Rule {
	return Rule{
		Code: "JM115", Title: "waits behind another Job in a worker's queue", Severity: inspect.Info,
		Holds: "no Job waits behind another one in a worker's queue",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Why: `Kueue says nothing at all of some Workloads that wait, and nothing is wrong with it. In a ClusterQueue with
the strategy StrictFIFO nobody passes the first one, even where that can never fit, and those behind it are not looked
at. With BestEffortFIFO, those that are equal to one for which there is no room are put aside with it.`,
		Shows: `The Workload's copy on a worker has no condition, and in its ClusterQueue there another one that comes
first, or that is equal to it, has QuotaReserved=False for want of quota.`,
		Remedy: `Wait, or make room for the one in front.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#queueing-strategy",
		Detect: detectWaitsBehind,
	}
}

func detectWaitsBehind(v *View) {
	for w := range v.untaken() {
		var waits []behindOther
		for _, o := range w.copies {
			if b, _ := v.blockerOf(o); b != nil {
				waits = append(waits, behindOther{o, b, v.submittedAs(w.Manager, b.Workload)})
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

// behindOther is a copy that waits behind another Workload.
type behindOther struct {
	Copy
	*inspect.Blocker
	// other is what that was submitted as.
	other string
}

// blockerOf is what the copy of an offer waits for in its queue, nil if there is nothing
// that it waits for. It is not known where queues could not be read.
func (v *View) blockerOf(o Copy) (b *inspect.Blocker, known bool) {
	known = v.note(o.Worker, inspect.PartQueues, inspect.PartWorkloads)
	return o.Worker.BlockerOf(o.Workload), known
}

// submittedAs is what a Workload on a worker was submitted as: the object on the
// manager, or else the Workload itself.
func (v *View) submittedAs(manager *inspect.Facts, w *kueue.Workload) string {
	if original, _ := v.Workload(manager, w.Namespace, w.Name); original != nil {
		if owner := metav1.GetControllerOf(original); owner != nil {
			return fmt.Sprintf("%s %s/%s", owner.Kind, w.Namespace, owner.Name)
		}
	}
	return fmt.Sprintf("Workload %s/%s", w.Namespace, w.Name)
}

func waitsBehindOn(v *View, w *waiter, x behindOther) Sighting {
	j, worker := w.Job(), x.Worker.Context
	how := "waits behind " + x.other + ", which has no room and lets nobody pass (StrictFIFO)"
	if !x.IsHead {
		how = "waits like " + x.other + ", which it equals, and for which there is no room"
	}
	return Sighting{
		Object: Of(j), Since: v.On(j.Context, worker, x.Copy.Workload.CreationTimestamp.Time), Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("%s, in ClusterQueue %s of %s; Kueue itself works there", how, x.Queue.Name, worker),
		Remedy: command.Say("wait, or make room for %s by raising the quota of its queue: %s", x.other,
			command.Kubectl(worker, "", "edit", "clusterqueue", x.Queue.Name)),
		// One line of waiting Jobs is one cause, whoever is first on each worker.
		Cause: strings.Join([]string{"behind", w.Manager.Context, w.Workload.Namespace, w.Workload.Spec.QueueName, j.Kind}, " "),
	}
}

func (x *behindOther) evidence() []string {
	strategy := x.Queue.Spec.QueueingStrategy
	if strategy == "" {
		strategy = "not set, which is BestEffortFIFO"
	}
	return []string{
		conditionOf(x.Worker, x.Blocker.Workload, x.Condition),
		fmt.Sprintf("%s: spec.queueingStrategy of ClusterQueue %s is %s", x.Worker.Context, x.Queue.Name, strategy),
		unsaid(x.Copy),
	}
}

// unsaid quotes that Kueue has said nothing of the copy of an offer.
func unsaid(o Copy) string {
	if c := o.Workload.Condition(kueue.QuotaReserved); c != nil {
		return conditionOf(o.Worker, o.Workload, c)
	}
	return fmt.Sprintf("%s: %s has no conditions since its creation at %s", o.Worker.Context, named(workloadObject(o.Worker, o.Workload)), stamp(o.Workload.CreationTimestamp))
}
