package rules

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// waiting are the reasons why no cluster admits a Job (JM019 to JM033).
func waiting() []Rule { return []Rule{noQuotaOnWorkers()} }

func noQuotaOnWorkers() Rule {
	return Rule{
		Code: "JM029", Title: "no worker has quota for it", Severity: inspect.Error,
		Families: []Family{FamilyMultiKueue},
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `The management cluster has reserved quota and offers the Job to its workers, and none of them has room.
ExceedsMaxQuota means that none of them ever will. The quota on the management cluster is held all the while;
MultiKueue does not give up (kueue issue 8602).`,
		Shows: `The Workload's copies on all nominated workers have QuotaReserved=False with reason WaitingForQuota or
ExceedsMaxQuota. Nothing on the management cluster says so.`,
		Remedy: `Raise the quota of the ClusterQueues on a worker, ask for less, or delete the Job.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/8602",
		Detect: func(v *View) {
			for _, s := range v.Submissions() {
				if s.WaitsForWorkers() {
					reportQuota(v, s)
				}
			}
		},
	}
}

// reportQuota reports a submission if every worker that it was offered to has
// refused it for quota.
func reportQuota(v *View, s Submission) {
	copies := v.Copies(s)
	if len(copies) == 0 || len(copies) < len(s.Nominated()) {
		return
	}
	j := s.Job()
	var evidence []string
	never := true
	for _, c := range copies {
		quota := kueue.Condition(c.Workload.Status.Conditions, kueue.QuotaReserved)
		if quota == nil || quota.Status == "True" || quota.Reason != "WaitingForQuota" && quota.Reason != "ExceedsMaxQuota" {
			return
		}
		never = never && quota.Reason == "ExceedsMaxQuota"
		evidence = append(evidence, fmt.Sprintf("%s: Workload %s/%s has QuotaReserved=False since %s, %s: %s",
			c.Worker.Context, c.Workload.Namespace, c.Workload.Name, stamp(quota.LastTransitionTime), quota.Reason, quota.Message))
	}
	sighting := Sighting{
		Object: Of(j), Since: s.Check.LastTransitionTime.Time, Message: "no worker has quota for it so far",
		Evidence: evidence, Severity: inspect.Warning, Jobs: []*inspect.Job{j},
		Remedy: fmt.Sprintf("raise the quota of the ClusterQueue behind LocalQueue %s/%s on one of the workers, or kubectl --context %s -n %s delete job %s",
			j.Namespace, s.Workload.Spec.QueueName, j.Context, j.Namespace, j.Name),
	}
	if never {
		sighting.Severity, sighting.Message = inspect.Error, "it asks for more than any worker's quota can ever hold"
	}
	v.Report(sighting)
}

func waitingUnseen() []Unseen { return nil }
