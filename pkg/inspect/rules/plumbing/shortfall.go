package plumbing

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// readsOfShortfall returns the parts that reportShortfalls reads.
func readsOfShortfall() []inspect.Part {
	return []inspect.Part{
		inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
	}
}

func managerQuotaTooLarge() view.Rule {
	return view.Rule{
		Code: "JM133", Severity: inspect.Info,
		Reads:  readsOfShortfall(),
		Detect: func(v *view.View) { reportShortfalls(v, false) },
	}
}

func resourceUncovered() view.Rule {
	return view.Rule{
		Code: "JM134", Severity: inspect.Warning,
		Reads:  readsOfShortfall(),
		Detect: func(v *view.View) { reportShortfalls(v, true) },
	}
}

// reportShortfalls reports quota of managers that no worker can provide. With
// uncovered, it reports resources that no worker has, otherwise resources of
// which no worker has as much.
func reportShortfalls(v *view.View, uncovered bool) {
	for _, f := range v.Clusters() {
		v.CanRead(f, readsOfShortfall()...)
	}
	type queue struct {
		manager         *inspect.Facts
		namespace, name string
	}
	finder, known := v.Quotas(), map[queue][]queues.Shortfall{}
	got := sizesTaken(v)
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
			given := capacity.AmountOf(s.Resource, w.Status.Admission.Given()[corev1.ResourceName(s.Resource)])
			// A worker that has taken as much counts this resource differently
			// than its quota shows.
			if s.IsUncovered == uncovered && given > s.Most && got[view.QuotaKey(submission.Manager, s.Queue.Name, s.Resource)] <= s.Most {
				reportShortfall(v, submission, s, given)
			}
		}
	}
}

// sizesTaken returns the largest amount that a Job taken by a worker got in
// a manager's queue, by view.QuotaKey.
func sizesTaken(v *view.View) map[string]capacity.Amount {
	most := map[string]capacity.Amount{}
	for _, s := range v.Submissions() {
		if s.Workload == nil || s.Workload.Status.Admission == nil || s.Chosen() == "" {
			continue
		}
		a := s.Workload.Status.Admission
		for name, quantity := range a.Given() {
			key := view.QuotaKey(s.Manager, a.ClusterQueue, string(name))
			most[key] = max(most[key], capacity.AmountOf(string(name), quantity))
		}
	}
	return most
}

func reportShortfall(v *view.View, submission view.Submission, s *queues.Shortfall, given capacity.Amount) {
	manager, job := submission.Manager, submission.Job()
	sighting := view.Sighting{
		Object: view.OfKueue(manager, "ClusterQueue", "", s.Queue.Name), Jobs: []*inspect.Job{job},
		Cause:    view.QuotaKey(manager, s.Queue.Name, s.Resource),
		Complete: func(sighting *view.Sighting) { describeShortfall(sighting, s, manager, job, given) },
	}
	if quota := submission.Workload.Condition(kueue.QuotaReserved); quota != nil {
		sighting.Since = quota.LastTransitionTime.Time
	}
	v.Report(sighting)
}

func describeShortfall(sighting *view.Sighting, s *queues.Shortfall, manager *inspect.Facts, job *inspect.Job, given capacity.Amount) {
	amount, most := given.Text(s.Resource)+" "+s.Resource, s.Most.Text(s.Resource)
	sighting.Evidence = []string{
		fmt.Sprintf("%s: ClusterQueue %s has a quota of %s %s, and has given %s of it to %s", manager.Context, s.Queue.Name, s.Nominal.Text(s.Resource), s.Resource, given.Text(s.Resource), view.Of(job).String()),
		fmt.Sprintf("the largest of the queues behind it (%s) has %s", strings.Join(s.Behind, ", "), most),
	}
	edit := command.Kubectl(manager.Context, "", "edit", kueue.Resource("ClusterQueue"), s.Queue.Name)
	if s.IsUncovered {
		sighting.Message = fmt.Sprintf("ClusterQueue %s of %s grants %s, but no worker has any %s: %s", s.Queue.Name, manager.Context, amount, s.Resource, strings.Join(s.Clusters, ", "))
		sighting.Remedy = command.Say("add %s to %s, or remove it from the manager's: %s", s.Resource, strings.Join(s.Behind, " or "), edit)
	} else {
		sighting.Message = fmt.Sprintf("ClusterQueue %s of %s grants %s to %s, but no worker has more than %s", s.Queue.Name, manager.Context, amount, view.Of(job).String(), most)
		sighting.Remedy = command.Say("raise the quota of %s on a worker to %s; or lower that of %s to what its workers have: %s", s.Resource, given.Text(s.Resource), manager.Context, edit)
	}
}
