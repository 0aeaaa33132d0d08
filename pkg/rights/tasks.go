package rights

import "k8s.io/apimachinery/pkg/runtime/schema"

// The tasks.
const (
	Look           = "look"
	LookSecrets    = "look-secrets"
	History        = "history"
	TraceFile      = "trace-file"
	Doctor         = "doctor"
	Snapshot       = "snapshot"
	Logs           = "logs"
	Exec           = "exec"
	PortForward    = "port-forward"
	DispatchOrigin = "dispatch-origin"
	DispatchMirror = "dispatch-mirror"
	DispatchCopy   = "dispatch-copy"
	Recreate       = "recreate"
)

// Tasks returns all of them.
func Tasks() []Task {
	return []Task{look(), lookSecrets(), history(), traceFile(), doctor(), snapshot(), logs(), exec(), portForward(), dispatchOrigin(), dispatchMirror(), dispatchCopy(), recreate()}
}

// noReference is what there is not without looking at what pod templates name.
const noReference = "it is not seen first whether what the pods name is there"

// noPlacement is what there is not without looking at what there is room for.
const noPlacement = "where what waits could run is told with less certainty"

// noClass is what there is not without the classes that a Job names.
const noClass = "whether what names such a class fits may be unknown"

// noRecordedClass is what there is not without the classes in a snapshot.
const noRecordedClass = "`trace -f --from` does not know classes that a Job names, nor the default priority"

// noLeft is what there is not without looking for copies that nothing owns.
const noLeft = "`cancel` does not remove copies that a dispatch left which was killed between two requests"

// identity is what tells which cluster it is.
func identity() Right {
	return Right{Scope: InCluster, Resource: core("namespaces"), Verbs: []string{"get"}, Names: []string{"kube-system"}, Without: "contexts of one cluster may not be known as that", IsOptional: true}
}

func look() Task {
	return Task{
		Name: Look, Title: "Look at Jobs and queues: `ls`, `trace`, `check`, `queues`, `history`, and `--watch`", Where: "every cluster that is looked at",
		// Who may not watch what is listed gets it listed again every two seconds with --watch.
		Rights: []Right{
			{Resource: batch("jobs"), Verbs: []string{"get", "list", "watch"}, Without: "no Job is seen"},
			{Resource: core("pods"), Verbs: []string{"list", "watch"}, Without: "what became of pods is not told", IsOptional: true},
			{Resource: core("events"), Verbs: []string{"list", "watch"}, Without: "what events tell is not told", IsOptional: true},
			{Resource: core("limitranges"), Verbs: []string{"list", "watch"}, Without: noPlacement, IsOptional: true},
			{Resource: core("namespaces"), Verbs: []string{"get"}, Without: noPlacement, IsOptional: true},
			{Resource: leases(), Verbs: []string{"list", "watch"}, Without: "it is not told who dispatches a Job", IsOptional: true},
			{Resource: kueue("workloads"), Verbs: []string{"get", "list", "watch"}, Without: "it is not told where in Kueue a Job is", IsOptional: true},
			{Resource: kueue("localqueues"), Verbs: []string{"get", "list", "watch"}, Without: "queues are not judged", IsOptional: true},
			{Resource: pending("localqueues"), Verbs: []string{"get"}, Without: "the place of what waits in its queue is computed", IsOptional: true},
			identity(),
			{Scope: InCluster, Resource: core("namespaces"), Verbs: []string{"list", "watch"}, Without: "it is not judged whether workers have the namespaces of Jobs", IsOptional: true},
			{Scope: InCluster, Resource: core("nodes"), Verbs: []string{"list", "watch"}, Without: "`trace` does not tell how many nodes could take the pods of what waits", IsOptional: true},
			{Scope: InCluster, Resource: kueue("clusterqueues"), Verbs: []string{"get", "list", "watch"}, Without: "queues are not judged", IsOptional: true},
			{Scope: InCluster, Resource: pending("clusterqueues"), Verbs: []string{"get"}, Without: "who is before it in other namespaces is computed", IsOptional: true},
			{Scope: InCluster, Resource: kueue("cohorts"), Verbs: []string{"list", "watch"}, Without: noPlacement, IsOptional: true},
			{Scope: InCluster, Resource: kueue("resourceflavors"), Verbs: []string{"list", "watch"}, Without: noPlacement, IsOptional: true},
			{Scope: InCluster, Resource: kueue("admissionchecks"), Verbs: []string{"list", "watch"}, Without: "MultiKueue's configuration is not judged", IsOptional: true},
			{Scope: InCluster, Resource: kueue("multikueueconfigs"), Verbs: []string{"list", "watch"}, Without: "MultiKueue's configuration is not judged", IsOptional: true},
			{Scope: InCluster, Resource: kueue("multikueueclusters"), Verbs: []string{"list", "watch"}, Without: "it is not told which context a worker is", IsOptional: true},
		},
	}
}

func lookSecrets() Task {
	return Task{
		Name: LookSecrets, Title: "See where MultiKueueClusters lead", Where: "management clusters", Needs: []string{Look},
		Rights: []Right{
			{Scope: InKueue, Resource: core("secrets"), Verbs: []string{"get"}, Without: "where a MultiKueueCluster leads is found by its Workloads only", IsOptional: true},
			{Scope: InKueue, Resource: schema.GroupResource{Group: "multicluster.x-k8s.io", Resource: "clusterprofiles"}, Verbs: []string{"get"}, Without: "where a MultiKueueCluster with a ClusterProfile leads is found by its Workloads only", IsOptional: true},
		},
	}
}

func history() Task {
	return Task{
		Name: History, Title: "See what ran: `history`", Where: "management clusters", Needs: []string{Look},
		Rights: []Right{
			{Scope: InKueue, Resource: core("configmaps"), Verbs: []string{"get"}, Names: []string{"kueue-manager-config"}, Without: "how long Kueue keeps finished Workloads is unknown", IsOptional: true},
		},
	}
}

// traceFile is what a server asks of a dry run, too: it tells it from no other creation.
func traceFile() Task {
	return Task{
		Name: TraceFile, Title: "Judge what is not submitted yet as servers would have it: `trace -f`", Where: "every cluster that Jobs are submitted to, beside the rights to look",
		Needs: []string{Look},
		Rights: []Right{
			{Resource: batch("jobs"), Verbs: []string{"create"}, Without: "`trace -f` judges a Job as it is written, without defaults and what webhooks put in", IsOptional: true},
			{Scope: InCluster, Resource: kueue("workloadpriorityclasses"), Verbs: []string{"get"}, Without: noClass, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}, Verbs: []string{"get", "list"}, Without: noClass, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "node.k8s.io", Resource: "runtimeclasses"}, Verbs: []string{"get"}, Without: noClass, IsOptional: true},
		},
	}
}

// noInstallation is what there is not without looking at how Kueue is installed.
const noInstallation = "the version and configuration of Kueue are not checked"

func doctor() Task {
	return Task{
		Name: Doctor, Title: "Check how MultiKueue is set up: `doctor`", Where: "managers and workers, beside the rights to look", Needs: []string{LookSecrets},
		Rights: []Right{
			{Scope: InCluster, Resource: schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}, Verbs: []string{"list"}, Without: noInstallation, IsOptional: true},
			{Scope: InKueue, Resource: core("services"), Verbs: []string{"get"}, Without: noInstallation, IsOptional: true},
			{Scope: InKueue, Resource: schema.GroupResource{Group: "apps", Resource: "deployments"}, Verbs: []string{"list"}, Without: noInstallation, IsOptional: true},
			{Scope: InKueue, Resource: core("configmaps"), Verbs: []string{"get"}, Without: "the configuration of Kueue is not checked", IsOptional: true},
			{Scope: InCluster, Resource: kueue("workloadpriorityclasses"), Verbs: []string{"list"}, Without: "priority classes are not compared", IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}, Verbs: []string{"create"}, Without: "the rights of managers on workers are not checked", IsOptional: true},
		},
	}
}

func snapshot() Task {
	return Task{
		Name: Snapshot, Title: "Keep what was seen: `snapshot`", Where: "every cluster that is recorded", Needs: []string{Look, LookSecrets},
		Rights: []Right{
			{Resource: batch("cronjobs"), Verbs: []string{"list"}, Without: "what makes Jobs is not recorded", IsOptional: true},
			{Resource: schema.GroupResource{Group: "apps", Resource: "statefulsets"}, Verbs: []string{"list"}, Without: "objects of that kind are not recorded", IsOptional: true},
			{Scope: InCluster, Resource: kueue("workloadpriorityclasses"), Verbs: []string{"list"}, Without: noRecordedClass, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}, Verbs: []string{"list"}, Without: noRecordedClass, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "node.k8s.io", Resource: "runtimeclasses"}, Verbs: []string{"list"}, Without: noRecordedClass, IsOptional: true},
		},
	}
}

func logs() Task {
	return Task{
		Name: Logs, Title: "Read logs: `logs`", Where: "every cluster that pods run on, beside the rights to look", Needs: []string{Look},
		Rights: []Right{
			{Resource: core("pods"), Verbs: []string{"watch"}, Without: "`-f` does not see pods that begin later"},
			{Resource: core("pods/log"), Verbs: []string{"get"}, Without: "there are no logs"},
		},
	}
}

// into is what a command into pods asks for, besides where they are. API servers have it
// as get where a connection begins as a web socket, and as create in any case from 1.35 on
// (AuthorizePodWebsocketUpgradeCreatePermission).
func into(subresource, without string) []Right {
	return []Right{
		{Resource: core("pods"), Verbs: []string{"get"}, Without: without},
		{Resource: core("pods/" + subresource), Verbs: []string{"get", "create"}, Without: without},
	}
}

func exec() Task {
	return Task{
		Name: Exec, Title: "Run commands in pods: `exec`", Where: "every cluster that pods run on, beside the rights to look", Needs: []string{Look},
		Rights: into("exec", "no command is run"),
	}
}

func portForward() Task {
	return Task{
		Name: PortForward, Title: "Reach ports of pods: `port-forward`", Where: "every cluster that pods run on, beside the rights to look", Needs: []string{Look},
		Rights: into("portforward", "no port is reached"),
	}
}

func dispatchOrigin() Task {
	return Task{
		Name: DispatchOrigin, Title: "Dispatch Jobs of a cluster, and cancel that: `dispatch`, `cancel`", Where: "the cluster of the origins",
		Rights: []Right{
			{Resource: batch("jobs"), Verbs: []string{"get", "list", "watch", "patch"}, Without: "the Job cannot be followed"},
			{Resource: batch("jobs"), Verbs: []string{"create"}, Without: "`-f` cannot create the Job", IsOptional: true},
			{Resource: batch("jobs/status"), Verbs: []string{"patch"}, Without: "the status cannot be written back"},
			{Resource: leases(), Verbs: []string{"get", "create", "update", "delete"}, Without: "nobody else could be kept from dispatching the same Job"},
			{Resource: core("namespaces"), Verbs: []string{"get"}, Without: "it is not seen first whether origin and mirror would be in one place", IsOptional: true},
			identity(),
		},
	}
}

func dispatchMirror() Task {
	return Task{
		Name: DispatchMirror, Title: "Run mirrors on a cluster: `dispatch --to`, `cancel`", Where: "the cluster of the mirrors",
		Rights: []Right{
			{Resource: batch("jobs"), Verbs: []string{"create", "get", "list", "watch", "patch", "delete"}, Without: "there can be no mirror"},
			{Scope: InCluster, Resource: batch("jobs"), Verbs: []string{"list"}, Without: "mirrors are searched in the Job's namespace and in those that its record names, not in others", IsOptional: true},
			{Resource: core("pods"), Verbs: []string{"list"}, Without: "its pods cannot be looked at"},
			{Resource: core("pods"), Verbs: []string{"create"}, Without: "it is not tried first whether its pods are let in; none is made in any case", IsOptional: true},
			{Resource: core("pods/log"), Verbs: []string{"get"}, Without: "its pods' logs cannot be read", IsOptional: true},
			{Resource: core("namespaces"), Verbs: []string{"get"}, Without: "it is not seen first whether the namespace is there", IsOptional: true},
			{Resource: core("configmaps"), Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Resource: core("serviceaccounts"), Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Resource: core("services"), Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Resource: core("persistentvolumeclaims"), Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Scope: InCluster, Resource: core("nodes"), Verbs: []string{"list"}, Without: "it is not seen first whether there are nodes that its pods fit on", IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}, Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "node.k8s.io", Resource: "runtimeclasses"}, Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}, Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			identity(),
		},
	}
}

func dispatchCopy() Task {
	return Task{
		Name: DispatchCopy, Title: "Copy what pods need: `dispatch --with-dependencies` and `--with-secret`", Where: "the cluster of the mirrors; `get` also on that of the origins",
		Needs: []string{DispatchMirror},
		Rights: []Right{
			{Resource: core("configmaps"), Verbs: []string{"get", "create", "patch"}, Without: "what the pods need cannot be copied"},
			{Resource: core("secrets"), Verbs: []string{"get", "create", "patch"}, Without: "what the pods need cannot be copied"},
			{Resource: core("configmaps"), Verbs: []string{"list", "delete"}, Without: noLeft, IsOptional: true},
			{Resource: core("secrets"), Verbs: []string{"list", "delete"}, Without: noLeft, IsOptional: true},
		},
	}
}

func recreate() Task {
	return Task{
		Name: Recreate, Title: "Give a Job another owner: `recreate`", Where: "the Job's cluster",
		Rights: []Right{
			{Resource: batch("jobs"), Verbs: []string{"get", "list", "watch", "delete", "create"}, Without: "the Job cannot be made anew"},
			{Resource: kueue("localqueues"), Verbs: []string{"get"}, Without: "it is not known whether there is such a queue", IsOptional: true},
			{Resource: kueue("workloads"), Verbs: []string{"get", "list"}, Without: "it is not known whether a worker runs the Job, nor what Kueue has changed in it", IsOptional: true},
			identity(),
		},
	}
}
