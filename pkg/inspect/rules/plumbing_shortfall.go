package rules

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// readsOfShortfall are the parts that reportShortfalls reads.
func readsOfShortfall() []inspect.Part {
	return []inspect.Part{
		inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
	}
}

func managerGivesTooMuch() Rule {
	return Rule{
		Code: "JM133", Title: "a manager's queue has quota that no worker can serve", Severity: inspect.Info,
		Holds: "workers can take what the quota of every manager's queue gives",
		Reads: readsOfShortfall(),
		Why: `What is submitted is given quota on the management cluster first, and then waits for quota on a worker. Where
the manager's ClusterQueue has more of a resource than any ClusterQueue of its workers, what asks for more than these
have gets quota there and keeps it, and never runs; without that, its owner would be told at once. Where Kueue on the
workers says already that none has the room, JM029 tells it.`,
		Shows: `A Workload waits for a worker and holds more of a resource in the manager's ClusterQueue than the nominal
quota of the largest ClusterQueue behind it, in all flavors together. Cohorts, whose members may borrow, are not judged.`,
		Remedy: `Give the manager's ClusterQueue no more of the resource than its workers have, or a worker more.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: func(v *View) { reportShortfalls(v, false) },
	}
}

func resourceUncovered() Rule {
	return Rule{
		Code: "JM134", Title: "no worker has quota for a resource of the queue", Severity: inspect.Warning,
		Holds: "a worker has quota of every resource that a manager's queue gives",
		Reads: readsOfShortfall(),
		Why: `The manager's ClusterQueue gives quota of a resource that no ClusterQueue of its workers covers. What asks
for it gets quota on the management cluster, and never on a worker, unless Kueue there is told to leave the resource
out of its reckoning.`,
		Shows: `A Workload waits for a worker and holds the resource in the manager's ClusterQueue, nothing else that holds
it has got to a worker, and no resourceGroup of the workers' ClusterQueues lists it.`,
		Remedy: `Add the resource to the workers' ClusterQueues, or take it out of the manager's, so that what asks for it
is told so at once.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: func(v *View) { reportShortfalls(v, true) },
	}
}

// reportShortfalls reports what managers give that nobody behind them can take: of
// resources that no worker has, or of which none has as much.
func reportShortfalls(v *View, uncovered bool) {
	for _, f := range v.Clusters() {
		v.note(f, readsOfShortfall()...)
	}
	type queue struct {
		manager         *inspect.Facts
		namespace, name string
	}
	finder, known := queues.NewFinder(v.inventory), map[queue][]queues.Shortfall{}
	got := v.sizesTaken()
	for _, submission := range v.Submissions() {
		w := submission.Workload
		if !submission.WaitsForWorkers() || w.Status.Admission == nil {
			continue
		}
		q := queue{submission.Manager, w.Namespace, w.Spec.QueueName}
		shortfalls, ok := known[q]
		if !ok {
			shortfalls = finder.Shortfalls(q.manager, q.namespace, q.name)
			known[q] = shortfalls
		}
		for i := range shortfalls {
			s := &shortfalls[i]
			held := capacity.AmountOf(s.Resource, w.Status.Admission.Given(s.Resource))
			// What as much of got to a worker counts otherwise there than it seems.
			if s.IsUncovered == uncovered && held > s.Most && got[takenOf(submission.Manager, s.Queue.Name, s.Resource)] <= s.Most {
				v.reportShortfall(submission, s, held)
			}
		}
	}
}

func takenOf(manager *inspect.Facts, queue, resource string) string {
	return strings.Join([]string{manager.Context, queue, resource}, " ")
}

// sizesTaken are the most that anything holds of a manager's queue which a worker has taken,
// by takenOf.
func (v *View) sizesTaken() map[string]capacity.Amount {
	most := map[string]capacity.Amount{}
	for _, s := range v.Submissions() {
		if s.Workload == nil || s.Workload.Status.Admission == nil || s.Chosen() == "" {
			continue
		}
		a := s.Workload.Status.Admission
		for _, set := range a.PodSetAssignments {
			for name := range set.ResourceUsage {
				key := takenOf(s.Manager, a.ClusterQueue, string(name))
				most[key] = max(most[key], capacity.AmountOf(string(name), a.Given(string(name))))
			}
		}
	}
	return most
}

func (v *View) reportShortfall(submission Submission, s *queues.Shortfall, held capacity.Amount) {
	manager, job := submission.Manager, submission.Job()
	sighting := Sighting{
		Object: OfKueue(manager, "ClusterQueue", "", s.Queue.Name), Jobs: []*inspect.Job{job},
		Cause: takenOf(manager, s.Queue.Name, s.Resource),
		Tell:  func(sighting *Sighting) { tellShortfall(sighting, s, manager, job, held) },
	}
	if quota := submission.Workload.Condition(kueue.QuotaReserved); quota != nil {
		sighting.Since = quota.LastTransitionTime.Time
	}
	v.Report(sighting)
}

func tellShortfall(sighting *Sighting, s *queues.Shortfall, manager *inspect.Facts, job *inspect.Job, held capacity.Amount) {
	amount, most := held.Text(s.Resource)+" "+s.Resource, s.Most.Text(s.Resource)
	sighting.Evidence = []string{
		fmt.Sprintf("%s: ClusterQueue %s has a quota of %s %s, and has given %s of it to %s", manager.Context, s.Queue.Name, s.Nominal.Text(s.Resource), s.Resource, held.Text(s.Resource), named(Of(job))),
		fmt.Sprintf("the largest of the queues behind it has %s: %s", most, strings.Join(s.Behind, ", ")),
	}
	edit := command.Kubectl(manager.Context, "", "edit", kueue.Resource("ClusterQueue"), s.Queue.Name)
	if s.IsUncovered {
		sighting.Message = fmt.Sprintf("ClusterQueue %s of %s gives %s, but no worker has any %s: %s", s.Queue.Name, manager.Context, amount, s.Resource, strings.Join(s.Clusters, ", "))
		sighting.Remedy = command.Say("add %s to %s, or take it out of the manager's: %s", s.Resource, strings.Join(s.Behind, ", "), edit)
	} else {
		sighting.Message = fmt.Sprintf("ClusterQueue %s of %s gives %s to %s, but no worker has more than %s", s.Queue.Name, manager.Context, amount, named(Of(job)), most)
		sighting.Remedy = command.Say("raise the quota of a worker, or lower nominalQuota of %s there to %s: %s", s.Resource, most, edit)
	}
}
