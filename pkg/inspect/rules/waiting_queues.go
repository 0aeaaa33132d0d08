package rules

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func localQueueMissing() Rule {
	return Rule{
		Code: "JM026", Title: "the LocalQueue is missing on workers", Severity: inspect.Error,
		Holds: "the LocalQueue of every Job exists on the workers",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Why: `MultiKueue copies a Workload to the workers as it is, with the name of its queue. A worker that has no
LocalQueue of that name in that namespace can never admit it. Nothing creates queues on workers but you. The quota
on the management cluster is held all the while.`,
		Shows: `The Workload's copy on the worker has QuotaReserved=False, reason Misconfigured (before Kueue 0.19
Inadmissible), "LocalQueue … doesn't exist". Nothing on the management cluster says so.`,
		Remedy: `Create a LocalQueue of the same name in the same namespace on each worker; it may lead to any
ClusterQueue there.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: func(v *View) { reportHeld(v, kueue.ReasonLocalQueueMissing) },
	}
}

func clusterQueueUnusable() Rule {
	return Rule{
		Code: "JM027", Title: "the queue on workers is stopped or has no ClusterQueue", Severity: inspect.Error,
		Holds: "the queues of every Job are active on the workers",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Why: `On a worker, the LocalQueue that the Job's copy waits in leads to a ClusterQueue that does not exist, that
somebody has stopped, or that lacks a flavor or a check of its own, or stands in a circle of cohorts, and is not active. Whoever stops a queue on one
worker means to move the load to others; stopped on all of them, the Job waits for ever and holds its quota on the
management cluster.`,
		Shows: `The Workload's copy on the worker has QuotaReserved=False with reason Suspended, "… is inactive", or
Misconfigured, "ClusterQueue … doesn't exist" (before Kueue 0.19 both Inadmissible). spec.stopPolicy or the
condition Active of the queue there tells why.`,
		Remedy: `Create the ClusterQueue, set stopPolicy to None, or give it what its condition says that it lacks.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#stoppolicy",
		Detect: func(v *View) {
			reportHeld(v, kueue.ReasonClusterQueueMissing, kueue.ReasonClusterQueueInactive, kueue.ReasonLocalQueueStopped)
		},
	}
}

func namespaceExcluded() Rule {
	return Rule{
		Code: "JM028", Title: "the ClusterQueue on workers excludes the namespace", Severity: inspect.Error,
		Holds: "the ClusterQueues on the workers accept the namespace of every Job",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
			inspect.PartNamespaces,
		},
		Why: `A ClusterQueue admits Workloads of those namespaces only that its namespaceSelector matches, and without a
selector of none. Labels of namespaces and selectors are each cluster's own: what matches on the management cluster
need not match on a worker.`,
		Shows: `The Workload's copy on the worker has QuotaReserved=False, "Workload namespace doesn't match ClusterQueue
selector".`,
		Remedy: `Label the namespace on the worker so that it matches, or widen the selector; {} matches every namespace.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#namespace-selector",
		Detect: func(v *View) { reportHeld(v, kueue.ReasonNamespaceExcluded) },
	}
}
