package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func admissionNotRecorded() Rule {
	return Rule{
		Code: "JM022", Title: "runs on a worker, but the manager does not record it", Severity: inspect.Error,
		Holds: "the management cluster records every Job that a worker runs",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `A worker has admitted the Job and has its mirror, but the management cluster still offers it around. Once
a worker admits, Kueue clears the nominations and writes the cluster's name down. It cannot where somebody else owns
status.nominatedClusterNames: an external dispatcher that writes the field under a field manager of its own, so that
every write of Kueue's is refused as a conflict. It also cannot if a worker has preempted the Job and admitted it again:
the manager then offers the Job anew, and the copy from the offer before already has quota. Kueue nominates no cluster
then, and its webhook refuses the name of one that is not nominated. It looks the same if Kueue stopped at that moment.`,
		Shows: `MultiKueue's check is Pending, while the Workload's copy on a worker has Admitted=True and the mirror
exists. managedFields may name another manager than kueue-admission for status.nominatedClusterNames. Or the copy is older
than the offer, and its cluster is not in status.nominatedClusterNames.`,
		Remedy: `Let the dispatcher write with the field manager kueue-admission, or turn on Kueue's feature gate
WorkloadRequestUseMergePatch. If the cluster is not nominated, delete the copy of the Workload on the worker: MultiKueue
offers the Job again, and its Pods start from scratch. Otherwise see that Kueue runs on the management cluster.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/pull/13749",
		Detect: detectAdmissionNotRecorded,
	}
}

func detectAdmissionNotRecorded(v *View) {
	for _, w := range v.waiters() {
		for _, o := range w.offers {
			if o.Workload == nil || o.Workload.DeletionTimestamp != nil || o.Workload.Is(kueue.Finished) || !o.hasMirror(w.Pair) {
				continue
			}
			if admitted := o.Workload.Condition(kueue.Admitted); isTrue(admitted) {
				reportNotRecorded(v, &w, &o, admitted)
			}
		}
	}
}

func reportNotRecorded(v *View, w *waiter, o *Copy, admitted *metav1.Condition) {
	j, f := w.Job(), w.Manager
	workload := workloadObject(f, w.Workload)
	since := newest(v.On(f.Context, o.Worker.Context, admitted.LastTransitionTime.Time), w.since)
	isRefused := v.isRecordRefused(w, o)
	if isRefused && v.Age(f.Context, since) < inspect.Settling {
		// The copy may just be on its way out.
		return
	}
	awaited := v.awaitsReach(f, w.Workload, inspect.DutyRecord, o.Worker.Context, f.Context, since)
	s := Sighting{
		Object: Of(j), Since: since, Jobs: []*inspect.Job{j}, Awaits: awaited, Remedy: seeKueue(f.Context, awaited),
		Message: fmt.Sprintf("it runs on %s, but Kueue on %s has not recorded that", o.Worker.Context, f.Context),
		Evidence: []string{
			conditionOf(o.Worker, o.Workload, admitted), checkText(workload, *w.Check),
			fmt.Sprintf("%s: status.nominatedClusterNames of %s is [%s]", f.Context, named(workload), strings.Join(w.Nominated(), ", ")),
		},
	}
	others := nominators(w.Workload)
	for _, manager := range others {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: status.nominatedClusterNames of %s is owned by field manager %s", f.Context, named(workload), manager))
	}
	switch {
	case isRefused:
		s.Awaits = nil
		s.Message = fmt.Sprintf("it runs on %s, but Kueue on %s can never record that: %s is not nominated", o.Worker.Context, f.Context, o.Cluster)
		s.Remedy = restartOn(o)
	case len(others) > 0:
		s.Remedy = command.Say("let the dispatcher on %s write status.nominatedClusterNames with field manager kueue-admission, "+
			"or start Kueue there with --feature-gates=WorkloadRequestUseMergePatch=true", f.Context)
	case v.isLeftover(w, o) && awaited.State == inspect.PassedOver:
		s.Remedy = command.Say("%s; or %s", restartOn(o), s.Remedy)
	}
	if isRefused || v.isLeftover(w, o) {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %s was created at %s, before %s was offered again at %s",
			o.Worker.Context, named(workloadObject(o.Worker, o.Workload)), stamp(o.Workload.CreationTimestamp), named(workload), day(w.since)))
	}
	v.Report(s)
}

// isRecordRefused returns whether the API server of the manager refuses the name of the
// cluster that has admitted a copy: it has to be one of the nominated ones (kueue:
// pkg/webhooks/workload_webhook.go). MultiKueue does not nominate while a copy of an earlier
// offer still has quota, so it repeats that write for good.
func (v *View) isRecordRefused(w *waiter, o *Copy) bool {
	isNominated := slices.Contains(w.Nominated(), o.Cluster)
	return w.Manager.Kueue.TellsNominations() && !isNominated && v.isLeftover(w, o)
}

// isLeftover returns whether the copy of a Workload is older than the offer that it is in:
// the worker kept or admitted it again after the manager had evicted the Workload.
func (v *View) isLeftover(w *waiter, o *Copy) bool {
	const tolerance = 2 * time.Second
	created := v.On(w.Manager.Context, o.Worker.Context, o.Workload.CreationTimestamp.Time)
	return created.Add(tolerance).Before(w.since)
}

// restartOn returns how to have MultiKueue offer a Workload anew.
func restartOn(o *Copy) command.Prose {
	return command.Say("delete the copy of its Workload on %s, so that MultiKueue offers it again; its Pods start from scratch: %s",
		o.Worker.Context, kubectlOn(workloadObject(o.Worker, o.Workload), "delete"))
}

// hasMirror says whether the same MultiKueue that made the copy has made a mirror
// beside it. Another manager's is in the way, which JM034 tells.
func (o *Copy) hasMirror(p inspect.Pair) bool {
	return slices.ContainsFunc(p.Mirrors, func(m inspect.Mirror) bool {
		return m.Is(inspect.ByMultiKueue) && m.Job.Context == o.Worker.Context &&
			m.Job.Marks.MultiKueueOrigin == o.Workload.Labels[delegation.MultiKueueOriginLabel]
	})
}

// nominators are the field managers other than Kueue's own that own the
// nominations.
func nominators(w *kueue.Workload) []string {
	var managers []string
	for i := range w.ManagedFields {
		f := &w.ManagedFields[i]
		if f.Manager != "kueue-admission" && inspect.Nominates(f) {
			managers = append(managers, f.Manager)
		}
	}
	return managers
}
