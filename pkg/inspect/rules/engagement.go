package rules

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// engagement are the ways in which a delegation never begins (JM012 to JM018).
func engagement() []Rule { return []Rule{nobodyDelegates()} }

func nobodyDelegates() Rule {
	return Rule{
		Code: "JM013", Title: "managed by MultiKueue, and nothing dispatches it", Severity: inspect.Error,
		Families: []Family{FamilyMultiKueue},
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks,
		},
		Why: `The Job's managedBy names MultiKueue, so the built-in controller leaves it alone; but Kueue does not
know of it. Mostly it names no queue: Kueue only looks at Jobs with the label kueue.x-k8s.io/queue-name. Or
Kueue is not installed on that cluster, or its MultiKueue feature gate is off. managedBy cannot be changed.`,
		Shows: `managedBy is kueue.x-k8s.io/multikueue, no Workload has the Job's uid, the status was never written,
and kubectl says Running.`,
		Remedy: `Create the Job again with the label of a LocalQueue whose ClusterQueue has a MultiKueue check, or
without managedBy to run it on this cluster.`,
		Link: "https://kueue.sigs.k8s.io/docs/tasks/run/multikueue/job/",
		Detect: func(v *View) {
			for _, s := range v.Submissions() {
				j := s.Job()
				if j.ManagedBy != delegation.MultiKueue || j.Status != delegation.Unclaimed || s.Workload != nil || !s.WorkloadKnown {
					continue
				}
				evidence := []string{fmt.Sprintf("%s: spec.managedBy of Job %s/%s is %s; its status was never written", j.Context, j.Namespace, j.Name, j.ManagedBy)}
				message := "no Workload was made for it, so MultiKueue will never dispatch it"
				remedy := fmt.Sprintf("kubectl --context %s -n %s delete job %s, and create it again; see whether Kueue runs there and serves its queue %s",
					j.Context, j.Namespace, j.Name, j.Queue())
				has, known := v.HasKueue(s.Manager)
				switch {
				case known && !has:
					message = "Kueue is not installed on " + j.Context + ", so nothing will ever dispatch it"
					evidence = append(evidence, j.Context+": kueue.x-k8s.io is not served")
					remedy = fmt.Sprintf("create the Job again without spec.managedBy to run it on %s, or on a cluster that has Kueue", j.Context)
				case j.Queue() == "":
					message = "it names no queue, so Kueue will never see it"
					evidence = append(evidence, fmt.Sprintf("%s: the Job has no label %s", j.Context, delegation.QueueNameLabel))
					remedy = fmt.Sprintf("kubectl --context %s -n %s delete job %s, and create it again with metadata.labels[%s] set to a LocalQueue of namespace %s",
						j.Context, j.Namespace, j.Name, delegation.QueueNameLabel, j.Namespace)
				}
				v.Report(Sighting{
					Object: Of(j), Since: j.CreationTimestamp.Time, Message: message, Evidence: evidence, Remedy: remedy,
					Jobs: []*inspect.Job{j},
				})
			}
		},
	}
}

func engagementUnseen() []Unseen { return nil }
