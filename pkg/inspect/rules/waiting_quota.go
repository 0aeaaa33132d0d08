package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// quotaAutomation is the condition of a ClusterQueue whose quota MultiKueue writes (kueue:
// pkg/controller/admissionchecks/multikueue/clusterqueue.go, from 0.20 on).
const quotaAutomation = "MultiKueueManagerQuotaAutomation"

// raiseQuota is how more quota comes into a ClusterQueue. What something else writes is
// written over again, and what stands above the spec makes it mean nothing.
func (v *View) raiseQuota(f *inspect.Facts, queue string) command.Prose {
	q, _ := v.ClusterQueue(f, queue)
	switch {
	case q != nil && meta.IsStatusConditionTrue(q.Status.Conditions, quotaAutomation):
		return command.Say("raise the quota of a worker, since MultiKueue makes that of ClusterQueue %s on %s of what its connected workers have: %s",
			queue, f.Context, command.Kubectl(f.Context, "", "get", "multikueueclusters.kueue.x-k8s.io"))
	case q != nil && q.Status.EffectiveQuotas != nil:
		return command.Say("raise the quota where %s sets it: status.effectiveQuotas of ClusterQueue %s on %s stands above its spec",
			orchestrator(q), queue, f.Context)
	}
	return command.Say("raise the quota: %s", kubectlOn(OfKueue(f, "ClusterQueue", "", queue), "edit"))
}

// orchestrator is what sets the effective quotas of a ClusterQueue, in words.
func orchestrator(q *kueue.ClusterQueue) string {
	if ref := q.Status.EffectiveQuotas.OrchestratorRef; ref != nil && ref.Name != "" {
		return strings.TrimSpace(ref.Kind + " " + ref.Name)
	}
	return "whatever orchestrates it"
}

// raiseQuotaThere is how more quota comes into the ClusterQueue of a submission on one of
// the workers that it waits for.
func (v *View) raiseQuotaThere(w *waiter) command.Prose {
	text := command.Say("raise the quota of the ClusterQueue behind LocalQueue %s/%s on one of the workers", w.Job().Namespace, w.Workload.Spec.QueueName)
	var set []string
	for _, o := range w.copies {
		if q := v.queueBehind(o.Worker, o.Workload.Namespace, o.Workload.Spec.QueueName); q != nil && q.Status.EffectiveQuotas != nil {
			set = append(set, fmt.Sprintf("that of ClusterQueue %s on %s is set by %s, above its spec", q.Name, o.Worker.Context, orchestrator(q)))
		}
	}
	slices.Sort(set)
	if len(set) > 0 {
		text = command.Say("%s (%s)", text, strings.Join(set, "; "))
	}
	return text
}

// repairQueue is what to do about a ClusterQueue that is not active, by its reason.
func repairQueue(f *inspect.Facts, name, reason string, otherwise command.Prose) command.Prose {
	if reason == "CohortCycleDetected" {
		// From Kueue 0.19.7 on; nothing in the ClusterQueue is wrong.
		return command.Say("break the circle of cohorts that ClusterQueue %s is in, by the spec.parentName of one of them: %s",
			name, command.Kubectl(f.Context, "", "get", "cohorts.kueue.x-k8s.io", "-o", "custom-columns=NAME:.metadata.name,PARENT:.spec.parentName"))
	}
	return otherwise
}
