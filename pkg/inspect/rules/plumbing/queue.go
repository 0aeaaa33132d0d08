package plumbing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func chainBroken() view.Rule {
	return view.Rule{
		Code: "JM008", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters,
		},
		Detect: func(v *view.View) {
			for _, f := range v.Clusters() {
				checks, ok := v.Checks(f)
				for _, c := range checks {
					reportInactiveCheck(v, f, c)
				}
				if ok && v.IsManager(f) {
					reportUnserved(v, f, checks)
					reportUnservedClusters(v, f)
					reportChecksOfQueues(v, f)
					reportMissing(v, f, checks)
				}
			}
		},
	}
}

func reportInactiveCheck(v *view.View, f *inspect.Facts, c *kueue.AdmissionCheck) {
	active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
	if !c.IsMultiKueue() || !view.IsFalse(active) || c.DeletionTimestamp != nil {
		return
	}
	u, known := unusableOf(v, f, c)
	if known && len(u.names()) > 0 && (u.areReported() || u.areConnecting(v, f)) {
		// The clusters are reported.
		return
	}
	o := view.OfKueue(f, "AdmissionCheck", "", c.Name)
	s := view.Sighting{
		Object: o, Since: active.LastTransitionTime.Time,
		Message:  fmt.Sprintf("AdmissionCheck %s dispatches to no worker: %s", c.Name, cmp.Or(active.Message, active.Reason)),
		Evidence: []string{quote.Condition(o, active)}, Remedy: showChecks(f, c.Name),
		Jobs: undispatched(v, f, c),
	}
	switch {
	case known && len(u.names()) > 0:
		s.Evidence = append(s.Evidence, u.evidence(f)...)
		s.Remedy = u.repair(v, f)
	case active.Reason == "BadConfig":
		adviseParameters(v, f, c, &s)
	}
	queues, ok := v.ClusterQueues(f)
	if ok && !slices.ContainsFunc(queues, names(c)) {
		s.Severity = inspect.Warning
		s.Evidence = append(s.Evidence, f.Context+": no ClusterQueue names it")
	}
	v.Report(s)
}

// adviseParameters adds the remedy for a check that names no MultiKueueConfig, and the name that it mistypes.
func adviseParameters(v *view.View, f *inspect.Facts, c *kueue.AdmissionCheck, s *view.Sighting) {
	object, p, name := view.OfKueue(f, "AdmissionCheck", "", c.Name), c.Spec.Parameters, "MULTIKUEUECONFIG"
	configs, _ := v.Configs(f)
	known := make([]string, len(configs))
	for i := range configs {
		known[i] = configs[i].Name
	}
	if len(known) == 1 {
		name = known[0]
	}
	set := func(name string) command.Prose {
		return command.Say("set spec.parameters of AdmissionCheck %s to MultiKueueConfig %s: %s", c.Name, name,
			advice.PatchObject(object, map[string]any{"apiGroup": kueue.Group, "kind": "MultiKueueConfig", "name": name}, "spec", "parameters"))
	}
	if p == nil || p.APIGroup != kueue.Group || p.Kind != "MultiKueueConfig" || p.Name == "" {
		s.Remedy = set(name)
		return
	}
	if slices.Contains(known, p.Name) {
		// Kueue judges the check again once its MultiKueueConfig is created (kueue: multikueue/admissioncheck.go, mkConfigHandler).
		s.Remedy = command.Say("MultiKueueConfig %s exists by now: %s", p.Name, advice.CheckKueue(v, f.Context, nil))
		return
	}
	if meant := delegation.NearestName(p.Name, known); meant != "" {
		s.Message += fmt.Sprintf("; did you mean %s?", meant)
		s.Remedy = command.Say("%s; or create MultiKueueConfig %s on %s", set(meant), p.Name, f.Context)
		return
	}
	s.Remedy = command.Say("create MultiKueueConfig %s on %s, or name another one: %s", p.Name, f.Context, advice.KubectlObject(object, "edit"))
}

// showChecks returns the remedy for AdmissionChecks that are not active.
func showChecks(f *inspect.Facts, names ...string) command.Prose {
	return command.Say("check what is missing: %s", command.Kubectl(f.Context, "", "describe", "admissionchecks.kueue.x-k8s.io").With(names...))
}

// reportChecksOfQueues reports the ClusterQueues of a manager that are
// inactive because an AdmissionCheck does not exist, or because one of
// another controller than MultiKueue is inactive.
func reportChecksOfQueues(v *view.View, f *inspect.Facts) {
	queues, _ := v.ClusterQueues(f)
	for _, q := range queues {
		active := meta.FindStatusCondition(q.Status.Conditions, kueue.Active)
		if !view.IsFalse(active) || q.DeletionTimestamp != nil {
			continue
		}
		s := outOfService(v, f, q, active)
		missing, inactive := brokenChecks(v, f, q)
		// reportUnserved reports checks without a controller, once for all
		// queues.
		inactive = slices.DeleteFunc(inactive, func(name string) bool {
			c, _ := v.Check(f, name)
			return c != nil && !c.IsServed()
		})
		is, _ := v.QueueDispatches(f, q)
		switch {
		case active.Reason == "AdmissionCheckNotFound" && len(missing) > 0:
			s.Message, s.Remedy = namesMissing(s.Object, missing)
		case active.Reason == "AdmissionCheckInactive" && len(inactive) > 0 && is:
			list := inspect.And(inactive)
			s.Message = fmt.Sprintf("ClusterQueue %s is inactive: AdmissionCheck %s is not active", q.Name, list)
			s.Remedy = showChecks(f, inactive...)
		default:
			continue
		}
		v.Report(s)
	}
}

// outOfService returns an incomplete sighting of an inactive ClusterQueue,
// with the Jobs that it holds.
func outOfService(v *view.View, f *inspect.Facts, q *kueue.ClusterQueue, active *metav1.Condition) view.Sighting {
	o := view.OfKueue(f, "ClusterQueue", "", q.Name)
	return view.Sighting{Object: o, Since: active.LastTransitionTime.Time, Evidence: []string{quote.Condition(o, active)}, Jobs: heldIn(v, f, q)}
}

// namesMissing describes a ClusterQueue that names AdmissionChecks which do
// not exist.
func namesMissing(queue view.Object, missing []string) (message string, remedy command.Prose) {
	list := inspect.And(missing)
	return fmt.Sprintf("ClusterQueue %s names AdmissionCheck %s, which does not exist", queue.Name, list),
		command.Say("create AdmissionCheck %s on %s, or name another one: %s", list, queue.Context, advice.KubectlObject(queue, "edit"))
}

// brokenChecks returns the AdmissionChecks of a ClusterQueue that do not
// exist, and those of other controllers than MultiKueue that are not active.
func brokenChecks(v *view.View, f *inspect.Facts, q *kueue.ClusterQueue) (missing, inactive []string) {
	for _, name := range q.Checks() {
		c, _ := v.Check(f, name)
		switch {
		case c == nil:
			missing = append(missing, name)
		case !c.IsMultiKueue() && !meta.IsStatusConditionTrue(c.Status.Conditions, kueue.Active):
			inactive = append(inactive, name)
		}
	}
	return missing, inactive
}

func queueShapeRefused() view.Rule {
	return view.Rule{
		Code: "JM009", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks},
		Detect: func(v *view.View) {
			for _, f := range v.Clusters() {
				queues, _ := v.ClusterQueues(f)
				for _, q := range queues {
					reportShape(v, f, q)
				}
			}
		},
	}
}

func reportShape(v *view.View, f *inspect.Facts, q *kueue.ClusterQueue) {
	active := meta.FindStatusCondition(q.Status.Conditions, kueue.Active)
	if !view.IsFalse(active) || q.DeletionTimestamp != nil {
		return
	}
	i := slices.IndexFunc(shapeFaults(), func(known shapeFault) bool { return known.is(active) })
	if i < 0 {
		return
	}
	s := outOfService(v, f, q, active)
	s.Message = fmt.Sprintf("ClusterQueue %s is inactive: %s", q.Name, active.Message)
	s.Remedy = command.Say("%s: %s", shapeFaults()[i].remedy, advice.KubectlObject(s.Object, "edit"))
	v.Report(s)
}

// shapeFault is a combination of AdmissionChecks in one ClusterQueue that Kueue refuses. If a
// ClusterQueue has several faults, the condition has the reason of one, and the messages of all (kueue:
// pkg/cache/scheduler/clusterqueue.go).
type shapeFault struct{ reason, message, remedy string }

// withProvisioning is the fault of a ClusterQueue with a MultiKueue check and a ProvisioningRequest
// check.
func withProvisioning() shapeFault {
	return shapeFault{
		"MultiKueueWithProvisioningRequest", "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks",
		"remove the ProvisioningRequest check from spec.admissionChecksStrategy; it belongs to the workers",
	}
}

func shapeFaults() []shapeFault {
	return []shapeFault{
		{"MultipleMultiKueueAdmissionChecks", "Cannot use multiple MultiKueue AdmissionChecks", "leave one MultiKueue check in spec.admissionChecksStrategy"},
		{"MultiKueueAdmissionCheckAppliedPerFlavor", "Cannot specify MultiKueue AdmissionCheck per flavor", "remove onFlavors of the MultiKueue check in spec.admissionChecksStrategy"},
		withProvisioning(),
	}
}

// is reports whether a ClusterQueue is inactive because of the fault.
func (k shapeFault) is(active *metav1.Condition) bool {
	return view.IsFalse(active) && (active.Reason == k.reason || strings.Contains(active.Message, k.message))
}

// heldIn returns the submissions of a manager that wait in a ClusterQueue,
// without quota so far.
func heldIn(v *view.View, f *inspect.Facts, queue *kueue.ClusterQueue) []*inspect.Job {
	return submitted(v, f, func(q *kueue.ClusterQueue, s *view.Submission) bool { return q == queue && !s.HasQuota() })
}

// undispatched returns the Jobs that wait in the ClusterQueues that name a
// check, and those that have quota there and wait for a worker.
func undispatched(v *view.View, f *inspect.Facts, check *kueue.AdmissionCheck) []*inspect.Job {
	return submitted(v, f, func(q *kueue.ClusterQueue, s *view.Submission) bool {
		return names(check)(q) && (!s.HasQuota() || s.WaitsForWorkers())
	})
}

func submitted(v *view.View, f *inspect.Facts, is func(*kueue.ClusterQueue, *view.Submission) bool) []*inspect.Job {
	var jobs []*inspect.Job
	for _, s := range v.Submissions() {
		if s.Manager != f || s.Workload == nil || !s.Workload.IsActive() || !s.IsLive() {
			continue
		}
		if q := v.QueueBehind(f, s.Job().Namespace, s.Job().Queue()); q != nil && is(q, &s) {
			jobs = append(jobs, s.Job())
		}
	}
	return jobs
}
