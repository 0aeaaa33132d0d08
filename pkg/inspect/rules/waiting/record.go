package waiting

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func admissionNotRecorded() view.Rule {
	return view.Rule{
		Code: "JM022", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: detectAdmissionNotRecorded,
	}
}

func detectAdmissionNotRecorded(v *view.View) {
	for _, w := range waiters(v) {
		for _, o := range w.offers {
			if o.Workload == nil || o.Workload.DeletionTimestamp != nil || o.Workload.Is(kueue.Finished) || !hasMirror(&o, w.Pair) {
				continue
			}
			if admitted := o.Workload.Condition(kueue.Admitted); view.IsTrue(admitted) {
				reportNotRecorded(v, &w, &o, admitted)
			}
		}
	}
}

func reportNotRecorded(v *view.View, w *waiter, o *view.Copy, admitted *metav1.Condition) {
	j, f := w.Job(), w.Manager
	workload := view.OfWorkload(f, w.Workload)
	since := view.Latest(v.On(f.Context, o.Worker.Context, admitted.LastTransitionTime.Time), w.since)
	isRefused := isRecordRefused(v, w, o, v.Age(f.Context, since))
	if isRefused && v.Age(f.Context, since) < inspect.Settling {
		// The copy may be about to be deleted.
		return
	}
	awaited := v.AwaitsReach(f, w.Workload, liveness.DutyRecord, o.Worker.Context, f.Context, since)
	s := view.Sighting{
		Object: view.Of(j), Since: since, Jobs: []*inspect.Job{j}, Awaits: awaited, Remedy: advice.CheckKueue(v, f.Context, awaited),
		Message: fmt.Sprintf("it runs on %s, but Kueue on %s has not recorded that", o.Worker.Context, f.Context),
		Evidence: []string{
			quote.WorkloadCondition(o.Worker, o.Workload, admitted), quote.CheckState(workload, *w.Check),
			fmt.Sprintf("%s: status.nominatedClusterNames of %s is [%s]", f.Context, workload.String(), strings.Join(w.Nominated(), ", ")),
		},
	}
	others := nominators(w.Workload)
	for _, manager := range others {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: status.nominatedClusterNames of %s is owned by field manager %s", f.Context, workload.String(), manager))
	}
	switch {
	case isRefused:
		s.Awaits = nil
		s.Message = fmt.Sprintf("it runs on %s, but Kueue on %s can never record that: %s is not nominated", o.Worker.Context, f.Context, o.Cluster)
		s.Remedy = restartOn(o)
	case len(others) > 0:
		s.Remedy = command.Say("have MultiKueue's dispatcher on %s write status.nominatedClusterNames with field manager kueue-admission, "+
			"or start Kueue there with --feature-gates=WorkloadRequestUseMergePatch=true", f.Context)
	case isLeftover(v, w, o) && awaited.State == liveness.Skipping:
		s.Remedy = command.Say("%s; or %s", restartOn(o), s.Remedy)
	}
	if isLeftover(v, w, o) {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %s was created at %s, before %s was offered again at %s",
			o.Worker.Context, view.OfWorkload(o.Worker, o.Workload).String(), quote.Time(o.Workload.CreationTimestamp), workload.String(), quote.MaybeTime(w.since)))
	}
	v.Report(s)
}

// isRecordRefused reports whether the manager's API server refuses the name
// of the cluster that has admitted a copy. The name must be one of the
// nominated ones (kueue: pkg/webhooks/workload_webhook.go). MultiKueue does
// not nominate while a copy of an earlier offer still has quota, so it
// repeats that write forever. age is for how long the worker has run it: a
// copy without any nomination may be about to be deleted.
func isRecordRefused(v *view.View, w *waiter, o *view.Copy, age time.Duration) bool {
	isNominated := slices.Contains(w.Nominated(), o.Cluster)
	isUnoffered := len(w.Nominated()) == 0 && age >= unofferedFor
	return w.Manager.Kueue.RecordsNominations() && !isNominated && (isLeftover(v, w, o) || isUnoffered)
}

// unofferedFor is for how long a worker may run a Workload that is nominated nowhere before that counts
// as lasting. MultiKueue nominates within seconds.
const unofferedFor = 2 * time.Minute

// isLeftover reports whether the copy of a Workload is older than its offer:
// the worker kept it, or admitted it again, after the manager had evicted the
// Workload.
func isLeftover(v *view.View, w *waiter, o *view.Copy) bool {
	const tolerance = 2 * time.Second
	created := v.On(w.Manager.Context, o.Worker.Context, o.Workload.CreationTimestamp.Time)
	return created.Add(tolerance).Before(w.since)
}

// restartOn returns how to make MultiKueue offer a Workload again.
func restartOn(o *view.Copy) command.Prose {
	return command.Say("delete the copy of its Workload on %s, so that MultiKueue offers it again; its Pods start from scratch: %s",
		o.Worker.Context, advice.KubectlObject(view.OfWorkload(o.Worker, o.Workload), "delete"))
}

// hasMirror reports whether the MultiKueue that made a copy also made a
// mirror there. A mirror of another manager is in the way, which JM034
// reports.
func hasMirror(o *view.Copy, p inspect.Pair) bool {
	return slices.ContainsFunc(p.Mirrors, func(m inspect.Mirror) bool {
		return m.Is(inspect.ByMultiKueue) && m.Job.Context == o.Worker.Context &&
			m.Job.Marks.MultiKueueOrigin == o.Workload.Labels[delegation.MultiKueueOriginLabel]
	})
}

// nominators returns the field managers other than Kueue's own that own the
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
