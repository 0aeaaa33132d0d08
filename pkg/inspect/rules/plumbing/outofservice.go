package plumbing

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func queueOutOfService() view.Rule {
	return view.Rule{
		Code: "JM128", Severity: inspect.Warning, Setup: true,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters,
		},
		Detect: func(v *view.View) {
			for _, f := range v.Clusters() {
				if !v.IsManager(f) {
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

// reportOutOfService reports a ClusterQueue that uses MultiKueue and is
// inactive for a reason that no other rule reports. If Jobs wait in it, JM019
// reports that.
func reportOutOfService(v *view.View, f *inspect.Facts, q *kueue.ClusterQueue) {
	active := meta.FindStatusCondition(q.Status.Conditions, kueue.Active)
	if !view.IsFalse(active) || kueue.IsStopped(q.Spec.StopPolicy) || slices.Contains(view.ChainReasons(), active.Reason) {
		return
	}
	if is, _ := v.QueueDispatches(f, q); !is {
		return
	}
	s := outOfService(v, f, q, active)
	if len(s.Jobs) > 0 {
		return
	}
	s.Message = fmt.Sprintf("ClusterQueue %s is inactive and admits nothing: %s", q.Name, quote.Reason(active))
	s.Remedy = advice.ActivateQueue(v, f, q)
	v.Report(s)
}
