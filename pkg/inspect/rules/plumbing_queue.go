package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func chainBroken() Rule {
	return Rule{
		Code: "JM008", Title: "a queue leads to no worker", Severity: inspect.Error,
		Holds: "every MultiKueue queue leads to a worker",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters,
		},
		Why: `A ClusterQueue dispatches through an AdmissionCheck, which names a MultiKueueConfig, which names
MultiKueueClusters. One of these does not exist, is named wrongly, no controller goes by the name that the check gives,
or none of the clusters is usable. Kueue then takes
the whole ClusterQueue out of service, and nothing that is submitted to it is admitted. Where all workers are merely out
of reach, JM004 tells of it instead.`,
		Shows: `The AdmissionCheck's condition Active is False with reason BadConfig or NoUsableClusters, and the
ClusterQueue's with AdmissionCheckInactive or AdmissionCheckNotFound; or what one of them names is not there, though its
status says otherwise; or nobody ever wrote the status of the AdmissionCheck or of a MultiKueueCluster.
Workloads wait with "ClusterQueue is inactive".`,
		Remedy: `Correct the name at which the chain breaks, or create what it names. parameters of the AdmissionCheck must
have apiGroup kueue.x-k8s.io, kind MultiKueueConfig and the name of one.`,
		Link: setupPage,
		Detect: func(v *View) {
			for _, f := range v.Clusters() {
				checks, ok := v.Checks(f)
				for _, c := range checks {
					reportInactiveCheck(v, f, c)
				}
				if ok && isManager(v, f) {
					reportUnserved(v, f, checks)
					reportUnservedClusters(v, f)
					reportChecksOfQueues(v, f)
					reportMissing(v, f, checks)
				}
			}
		},
	}
}

// isManager is whether anything on a cluster is there for MultiKueue.
func isManager(v *View, f *inspect.Facts) bool {
	configs, _ := v.Configs(f)
	clusters, _ := v.MultiKueueClusters(f)
	return v.Dispatches(f) || len(configs)+len(clusters) > 0
}

func reportInactiveCheck(v *View, f *inspect.Facts, c *kueue.AdmissionCheck) {
	active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
	if !c.IsMultiKueue() || !isFalse(active) || c.DeletionTimestamp != nil {
		return
	}
	u, known := unusableOf(v, f, c)
	if known && len(u.names()) > 0 && u.areLost() {
		return
	}
	o := OfKueue(f, "AdmissionCheck", "", c.Name)
	s := Sighting{
		Object: o, Since: active.LastTransitionTime.Time,
		Message:  fmt.Sprintf("AdmissionCheck %s dispatches to no worker: %s", c.Name, cmp.Or(active.Message, active.Reason)),
		Evidence: []string{conditionText(o, active)}, Remedy: seeChecks(f, c.Name),
		Jobs: v.undispatched(f, c),
	}
	switch {
	case known && len(u.names()) > 0:
		s.Evidence = append(s.Evidence, u.evidence(f)...)
		s.Remedy = u.repair(f)
	case active.Reason == "BadConfig":
		s.Remedy = repairParameters(v, f, c)
	}
	queues, ok := v.ClusterQueues(f)
	if ok && !slices.ContainsFunc(queues, names(c)) {
		s.Severity = inspect.Warning
		s.Evidence = append(s.Evidence, f.Context+": no ClusterQueue names it")
	}
	v.Report(s)
}

// repairParameters is what to do where a check names no MultiKueueConfig.
func repairParameters(v *View, f *inspect.Facts, c *kueue.AdmissionCheck) command.Prose {
	p := c.Spec.Parameters
	if p != nil && p.APIGroup == kueue.Group && p.Kind == "MultiKueueConfig" && p.Name != "" {
		return command.Say("create MultiKueueConfig %s on %s, or name another one: %s", p.Name, f.Context, kubectlOn(OfKueue(f, "AdmissionCheck", "", c.Name), "edit"))
	}
	name := "MULTIKUEUECONFIG"
	if configs, _ := v.Configs(f); len(configs) == 1 {
		name = configs[0].Name
	}
	return patchOn(OfKueue(f, "AdmissionCheck", "", c.Name), map[string]any{"apiGroup": kueue.Group, "kind": "MultiKueueConfig", "name": name}, "spec", "parameters").Prose()
}

// seeChecks is what to do about AdmissionChecks that are not active.
func seeChecks(f *inspect.Facts, names ...string) command.Prose {
	return command.Say("see what it lacks: %s", command.Kubectl(f.Context, "", "describe", "admissionchecks.kueue.x-k8s.io").With(names...))
}

// reportChecksOfQueues reports the ClusterQueues of a manager that are out of
// service because of an AdmissionCheck which is not MultiKueue's, or not there.
func reportChecksOfQueues(v *View, f *inspect.Facts) {
	queues, _ := v.ClusterQueues(f)
	for _, q := range queues {
		active := meta.FindStatusCondition(q.Status.Conditions, kueue.Active)
		if !isFalse(active) || q.DeletionTimestamp != nil {
			continue
		}
		s := outOfService(v, f, q, active)
		missing, inactive := brokenChecks(v, f, q)
		// Of those that nobody serves, it is told once for all queues.
		inactive = slices.DeleteFunc(inactive, func(name string) bool {
			c, _ := v.Check(f, name)
			return c != nil && !isServed(c)
		})
		is, _ := v.dispatches(f, q)
		switch {
		case active.Reason == "AdmissionCheckNotFound" && len(missing) > 0:
			s.Message, s.Remedy = namesMissing(s.Object, missing)
		case active.Reason == "AdmissionCheckInactive" && len(inactive) > 0 && is:
			list := strings.Join(inactive, " and ")
			s.Message = fmt.Sprintf("ClusterQueue %s is inactive: AdmissionCheck %s is not active", q.Name, list)
			s.Remedy = seeChecks(f, inactive...)
		default:
			continue
		}
		v.Report(s)
	}
}

// outOfService begins to tell of a ClusterQueue that is not active, with what it holds.
func outOfService(v *View, f *inspect.Facts, q *kueue.ClusterQueue, active *metav1.Condition) Sighting {
	o := OfKueue(f, "ClusterQueue", "", q.Name)
	return Sighting{Object: o, Since: active.LastTransitionTime.Time, Evidence: []string{conditionText(o, active)}, Jobs: v.heldIn(f, q)}
}

// namesMissing tells of a ClusterQueue that names AdmissionChecks which do not exist.
func namesMissing(queue Object, missing []string) (message string, remedy command.Prose) {
	list := strings.Join(missing, " and ")
	return fmt.Sprintf("ClusterQueue %s names AdmissionCheck %s, which does not exist", queue.Name, list),
		command.Say("create AdmissionCheck %s on %s, or name another one: %s", list, queue.Context, kubectlOn(queue, "edit"))
}

// brokenChecks are the AdmissionChecks of a ClusterQueue that do not exist, and
// those of other controllers than MultiKueue's that are not active.
func brokenChecks(v *View, f *inspect.Facts, q *kueue.ClusterQueue) (missing, inactive []string) {
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

func queueShapeRefused() Rule {
	return Rule{
		Code: "JM009", Title: "Kueue refuses how a ClusterQueue uses MultiKueue", Severity: inspect.Error,
		Holds: "Kueue accepts every ClusterQueue with MultiKueue",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks},
		Why: `A ClusterQueue may have one MultiKueue check, for all of its flavors, and no ProvisioningRequest check beside
it on the management cluster. Kueue takes one that does otherwise out of service.`,
		Shows: `The ClusterQueue's condition Active is False with reason MultipleMultiKueueAdmissionChecks,
MultiKueueAdmissionCheckAppliedPerFlavor or MultiKueueWithProvisioningRequest.`,
		Remedy: `Leave one MultiKueue check in admissionChecksStrategy, without onFlavors, and move the ProvisioningRequest
check to the workers' ClusterQueues.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/8347",
		Detect: func(v *View) {
			for _, f := range v.Clusters() {
				queues, _ := v.ClusterQueues(f)
				for _, q := range queues {
					reportShape(v, f, q)
				}
			}
		},
	}
}

func reportShape(v *View, f *inspect.Facts, q *kueue.ClusterQueue) {
	active := meta.FindStatusCondition(q.Status.Conditions, kueue.Active)
	if !isFalse(active) || q.DeletionTimestamp != nil {
		return
	}
	var what string
	switch active.Reason {
	case "MultipleMultiKueueAdmissionChecks":
		what = "leave one MultiKueue check in spec.admissionChecksStrategy"
	case "MultiKueueAdmissionCheckAppliedPerFlavor":
		what = "remove onFlavors of the MultiKueue check in spec.admissionChecksStrategy"
	case "MultiKueueWithProvisioningRequest":
		what = "remove the ProvisioningRequest check from spec.admissionChecksStrategy; it belongs to the workers"
	default:
		return
	}
	s := outOfService(v, f, q, active)
	s.Message = fmt.Sprintf("ClusterQueue %s is inactive: %s", q.Name, active.Message)
	s.Remedy = command.Say("%s: %s", what, kubectlOn(s.Object, "edit"))
	v.Report(s)
}
