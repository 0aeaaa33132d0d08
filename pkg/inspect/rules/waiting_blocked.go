package rules

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

func waitsBehind() Rule {
	return Rule{
		Code: "JM115", Title: "it waits behind another one in a worker's queue", Severity: inspect.Info,
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
	for _, w := range v.waiters() {
		if w.isTaken() {
			continue
		}
		blocked := map[string]*Sighting{}
		var order []string
		for _, o := range w.offers {
			b, _ := v.blockerOf(o)
			if b == nil {
				continue
			}
			other := v.submittedAs(w.Manager, b.Workload)
			s := blocked[other]
			if s == nil {
				s = waitsBehindOn(v, w, o, b, other)
				blocked[other] = s
				order = append(order, other)
			}
			s.Evidence = append(s.Evidence, blockedEvidence(o, b)...)
		}
		for _, other := range order {
			v.Report(*blocked[other])
		}
	}
}

// blockerOf is what the copy of an offer waits for in its queue, nil if there is no
// copy, or nothing that it waits for. It is not known where queues could not be read.
func (v *View) blockerOf(o offer) (b *inspect.Blocker, known bool) {
	if o.copied == nil {
		return nil, true
	}
	known = v.note(o.worker, inspect.PartQueues, inspect.PartWorkloads)
	return o.worker.BlockerOf(o.copied), known
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

func waitsBehindOn(v *View, w waiter, o offer, b *inspect.Blocker, other string) *Sighting {
	j, worker := w.Job(), o.worker.Context
	how := "waits behind " + other + ", which has no room and lets nobody pass (StrictFIFO)"
	if !b.IsHead {
		how = "waits like " + other + ", which it equals, and for which there is no room"
	}
	return &Sighting{
		Object: Of(j), Since: v.On(j.Context, worker, o.copied.CreationTimestamp.Time), Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("%s, in ClusterQueue %s of %s; nothing is wrong with Kueue there", how, b.Queue.Name, worker),
		Remedy: command.Say("wait, or make room for %s by raising the quota of its queue: %s", other,
			command.Kubectl(worker, "", "edit", "clusterqueue", b.Queue.Name)),
		Cause: strings.Join([]string{"behind", w.Manager.Context, worker, b.Queue.Name, other, j.Kind}, " "),
	}
}

func blockedEvidence(o offer, b *inspect.Blocker) []string {
	strategy := b.Queue.Spec.QueueingStrategy
	if strategy == "" {
		strategy = "not set, which is BestEffortFIFO"
	}
	return []string{
		conditionText(workloadObject(o.worker, b.Workload), b.Condition),
		fmt.Sprintf("%s: spec.queueingStrategy of ClusterQueue %s is %s", o.worker.Context, b.Queue.Name, strategy),
		unsaid(o),
	}
}

// unsaid quotes that Kueue has said nothing of the copy of an offer.
func unsaid(o offer) string {
	if c := o.copied.Condition(kueue.QuotaReserved); c != nil {
		return conditionText(workloadObject(o.worker, o.copied), c)
	}
	return fmt.Sprintf("%s: %s has no conditions since its creation at %s", o.worker.Context, named(workloadObject(o.worker, o.copied)), stamp(o.copied.CreationTimestamp))
}
