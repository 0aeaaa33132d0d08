package rules

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func queueOutOfService() Rule {
	return Rule{
		Code: "JM128", Title: "a queue is out of service", Severity: inspect.Warning, Setup: true,
		Holds: "every queue is in service",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters,
		},
		Why: `Kueue takes a ClusterQueue out of service where something that it names is missing, such as a ResourceFlavor
or a Topology, or while it is being deleted. Nothing that is submitted to it is admitted then, even before anything waits
in it.`,
		Shows: `The condition Active of the ClusterQueue is False, with a reason such as FlavorNotFound. Queues that
somebody has stopped by stopPolicy are not told here, nor those whose AdmissionChecks are the reason (JM008, JM009).`,
		Remedy: `Create what the condition says is missing, or take it out of the ClusterQueue.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/",
		Detect: func(v *View) {
			for _, f := range v.Clusters() {
				if !isManager(v, f) {
					continue
				}
				queues, _ := v.ClusterQueues(f)
				for _, q := range queues {
					reportOutOfService(v, f, q)
				}
			}
		},
	}
}

// reportOutOfService reports a ClusterQueue that leads to MultiKueue, for reasons which
// no other rule tells. Where something waits in it, JM019 tells that.
func reportOutOfService(v *View, f *inspect.Facts, q *kueue.ClusterQueue) {
	active := meta.FindStatusCondition(q.Status.Conditions, kueue.Active)
	if !isFalse(active) || kueue.IsStopped(q.Spec.StopPolicy) || slices.Contains(toldOfQueues(), active.Reason) {
		return
	}
	if is, _ := v.dispatches(f, q); !is {
		return
	}
	s := outOfService(v, f, q, active)
	if len(s.Jobs) > 0 {
		return
	}
	s.Message = fmt.Sprintf("ClusterQueue %s is inactive and admits nothing: %s", q.Name, reasonOf(active))
	s.Remedy = kueue.Site{Context: f.Context, ClusterQueue: q}.ActivateQueue(q.Name).Prose()
	v.Report(s)
}

// toldOfQueues are reasons for a ClusterQueue to be inactive that JM008 and JM009 tell
// of.
func toldOfQueues() []string {
	return []string{
		"AdmissionCheckNotFound", "AdmissionCheckInactive", "MultipleMultiKueueAdmissionChecks",
		"MultiKueueAdmissionCheckAppliedPerFlavor", "MultiKueueWithProvisioningRequest",
	}
}
