package rules

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// quotaAutomation is the condition of a ClusterQueue whose quota MultiKueue writes (kueue:
// pkg/controller/admissionchecks/multikueue/clusterqueue.go, from 0.20 on).
const quotaAutomation = "MultiKueueManagerQuotaAutomation"

// raiseQuota is how more quota comes into a ClusterQueue. What something else writes is
// written over again.
func (v *View) raiseQuota(f *inspect.Facts, queue string) command.Prose {
	if q, _ := v.ClusterQueue(f, queue); q != nil && meta.IsStatusConditionTrue(q.Status.Conditions, quotaAutomation) {
		return command.Say("raise the quota of a worker, since MultiKueue makes that of ClusterQueue %s on %s of what its connected workers have: %s",
			queue, f.Context, command.Kubectl(f.Context, "", "get", "multikueueclusters.kueue.x-k8s.io"))
	}
	return command.Say("raise the quota: %s", command.Kubectl(f.Context, "", "edit", "clusterqueues.kueue.x-k8s.io", queue))
}
