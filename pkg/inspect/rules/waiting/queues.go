package waiting

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func localQueueMissing() view.Rule {
	return view.Rule{
		Code: "JM026", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Detect: func(v *view.View) { reportHeld(v, kueue.ReasonLocalQueueMissing) },
	}
}

func clusterQueueUnusable() view.Rule {
	return view.Rule{
		Code: "JM027", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Detect: func(v *view.View) {
			reportHeld(v, kueue.ReasonClusterQueueMissing, kueue.ReasonClusterQueueInactive, kueue.ReasonLocalQueueStopped)
		},
	}
}

func namespaceExcluded() view.Rule {
	return view.Rule{
		Code: "JM028", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
			inspect.PartNamespaces,
		},
		Detect: func(v *view.View) { reportHeld(v, kueue.ReasonNamespaceExcluded) },
	}
}
