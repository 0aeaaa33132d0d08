package rules

import (
	"fmt"
	"slices"
	"strings"

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
every write of Kueue's is refused as a conflict. It looks the same if Kueue stopped at that very moment; which of them
it is, the field managers tell.`,
		Shows: `status.nominatedClusterNames is not empty and MultiKueue's check is Pending, while the Workload's copy on
a nominated worker has Admitted=True and the mirror exists. managedFields may name another manager than
kueue-admission for status.nominatedClusterNames.`,
		Remedy: `Let the dispatcher write with the field manager kueue-admission, or turn on Kueue's feature gate
WorkloadRequestUseMergePatch; and see that Kueue runs on the management cluster.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/pull/13749",
		Detect: detectAdmissionNotRecorded,
	}
}

func detectAdmissionNotRecorded(v *View) {
	for _, w := range v.waiters() {
		for _, o := range w.offers {
			if len(w.Nominated()) == 0 || o.Workload == nil || o.Workload.Is(kueue.Finished) || !o.hasMirror(w.Pair) {
				continue
			}
			if admitted := o.Workload.Condition(kueue.Admitted); isTrue(admitted) {
				j, f := w.Job(), w.Manager
				workload := workloadObject(f, w.Workload)
				evidence := []string{
					conditionOf(o.Worker, o.Workload, admitted), checkText(workload, *w.Check),
					fmt.Sprintf("%s: status.nominatedClusterNames of %s is %s", f.Context, named(workload), strings.Join(w.Nominated(), ", ")),
				}
				since := newest(v.On(f.Context, o.Worker.Context, admitted.LastTransitionTime.Time), w.since)
				awaited := v.awaitsKueue(f, w.Workload, inspect.DutyRecord, "", f.Context, since)
				others := nominators(w.Workload)
				remedy := seeKueue(f.Context, awaited)
				if len(others) > 0 {
					remedy = command.Say("let the dispatcher on %s write status.nominatedClusterNames with field manager kueue-admission, "+
						"or start Kueue there with --feature-gates=WorkloadRequestUseMergePatch=true", f.Context)
				}
				for _, manager := range others {
					evidence = append(evidence, fmt.Sprintf("%s: status.nominatedClusterNames of %s is owned by field manager %s", f.Context, named(workload), manager))
				}
				v.Report(Sighting{
					Object: Of(j), Since: since, Evidence: evidence, Jobs: []*inspect.Job{j}, Awaits: awaited, Remedy: remedy,
					Message: fmt.Sprintf("%s has admitted it and has its mirror, and %s has not written that down", o.Cluster, f.Context),
				})
			}
		}
	}
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
