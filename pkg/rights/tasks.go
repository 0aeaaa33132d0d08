package rights

import "k8s.io/apimachinery/pkg/runtime/schema"

// The tasks.
const (
	Look           = "look"
	LookSecrets    = "look-secrets"
	History        = "history"
	TraceFile      = "trace-file"
	Doctor         = "doctor"
	Probe          = "probe"
	Snapshot       = "snapshot"
	Logs           = "logs"
	Exec           = "exec"
	PortForward    = "port-forward"
	DispatchOrigin = "dispatch-origin"
	DispatchMirror = "dispatch-mirror"
	DispatchCopy   = "dispatch-copy"
	Recreate       = "recreate"
)

// Tasks returns all tasks.
func Tasks() []Task {
	return []Task{look(), lookSecrets(), history(), traceFile(), doctor(), probe(), snapshot(), logs(), exec(), portForward(), dispatchOrigin(), dispatchMirror(), dispatchCopy(), dispatchSource(), recreate()}
}

// noReference is the consequence of not reading the objects to which Pod templates refer.
const noReference = "dispatch does not check first whether what the Pods refer to exists"

// noNeed is the consequence of not reading what the Pods of a file refer to.
const noNeed = "`trace -f` does not check whether what the Pods need exists"

// noPlacement is the consequence of not reading capacity.
const noPlacement = "placements are less certain"

// noClassName is the consequence of not reading the priority class of a Job without a Workload.
const noClassName = "whether the priority class of a Job exists is not checked"

// noClass is the consequence of not reading the classes that a Job names.
const noClass = "the verdict for a Job with such a class may be `unknown`"

// noRecordedClass is the consequence of a snapshot without classes.
const noRecordedClass = "`trace -f --from` does not know the classes of a Job, nor the default priority"

// noCleanup is the consequence of not finding copies without an owner.
const noCleanup = "`cancel` does not delete copies of a dispatch that was killed between two requests"

// identity returns the right to identify a cluster.
func identity() Right {
	return Right{Scope: InCluster, Resource: core("namespaces"), Verbs: []string{"get"}, Names: []string{"kube-system"}, Without: "two contexts of one cluster may count as two clusters", IsOptional: true}
}

func look() Task {
	return Task{
		Name: Look, Title: "Read Jobs and queues: `ls`, `trace`, `wait`, `check`, `queues`, `history`, `kinds`, `mcp`, and `--watch`", Where: "every cluster that is read",
		// Without the right to watch, lists are repeated every two seconds with --watch.
		Rights: []Right{
			{Resource: batch("jobs"), Verbs: []string{"get", "list", "watch"}, Without: "no Jobs are listed"},
			{Resource: core("pods"), Verbs: []string{"list", "watch"}, Without: "the state of Pods is not shown", IsOptional: true},
			{Resource: core("events"), Verbs: []string{"list", "watch"}, Without: "events are not shown", IsOptional: true},
			{Resource: core("limitranges"), Verbs: []string{"list", "watch"}, Without: noPlacement, IsOptional: true},
			{Resource: core("resourcequotas"), Verbs: []string{"list", "watch"}, Without: "`trace` and `check` do not check whether a ResourceQuota allows the Job", IsOptional: true},
			{Resource: core("namespaces"), Verbs: []string{"get"}, Without: noPlacement, IsOptional: true},
			{Resource: leases(), Verbs: []string{"list", "watch"}, Without: "who dispatches a Job is not shown", IsOptional: true},
			{Resource: kueue("workloads"), Verbs: []string{"get", "list", "watch"}, Without: "the steps of a Job in Kueue are not shown", IsOptional: true},
			{Resource: kueue("localqueues"), Verbs: []string{"get", "list", "watch"}, Without: "queues are not checked", IsOptional: true},
			{Resource: pending("localqueues"), Verbs: []string{"get"}, Without: "the place in the queue is computed", IsOptional: true},
			identity(),
			{Scope: InCluster, Resource: core("namespaces"), Verbs: []string{"list", "watch"}, Without: "whether workers have the namespaces of Jobs is not checked", IsOptional: true},
			{Scope: InCluster, Resource: core("nodes"), Verbs: []string{"list", "watch"}, Without: "`trace` does not show how many nodes could take the Pods", IsOptional: true},
			{Scope: InCluster, Resource: kueue("clusterqueues"), Verbs: []string{"get", "list", "watch"}, Without: "queues are not checked", IsOptional: true},
			{Scope: InCluster, Resource: pending("clusterqueues"), Verbs: []string{"get"}, Without: "the place in the queue is computed, if Jobs of other namespaces are ahead", IsOptional: true},
			{Scope: InCluster, Resource: kueue("cohorts"), Verbs: []string{"list", "watch"}, Without: noPlacement, IsOptional: true},
			{Scope: InCluster, Resource: kueue("resourceflavors"), Verbs: []string{"list", "watch"}, Without: noPlacement, IsOptional: true},
			{Scope: InCluster, Resource: kueue("topologies"), Verbs: []string{"list", "watch"}, Without: "the fix for a flavor without a topology names no topology", IsOptional: true},
			{Scope: InCluster, Resource: kueue("workloadpriorityclasses"), Verbs: []string{"get"}, Without: noClassName, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}, Verbs: []string{"get"}, Without: noClassName, IsOptional: true},
			{Scope: InCluster, Resource: kueue("admissionchecks"), Verbs: []string{"list", "watch"}, Without: "MultiKueue's configuration is not checked", IsOptional: true},
			{Scope: InCluster, Resource: kueue("multikueueconfigs"), Verbs: []string{"list", "watch"}, Without: "MultiKueue's configuration is not checked", IsOptional: true},
			{Scope: InCluster, Resource: kueue("multikueueclusters"), Verbs: []string{"list", "watch"}, Without: "the context of a worker is not shown", IsOptional: true},
		},
	}
}

func lookSecrets() Task {
	return Task{
		Name: LookSecrets, Title: "Match MultiKueueClusters with contexts", Where: "managers", Needs: []string{Look},
		Rights: []Right{
			{Scope: InKueue, Resource: core("secrets"), Verbs: []string{"get"}, Without: "the context of a MultiKueueCluster is found by its Workloads only", IsOptional: true},
			{Scope: InKueue, Resource: schema.GroupResource{Group: "multicluster.x-k8s.io", Resource: "clusterprofiles"}, Verbs: []string{"get"}, Without: "the context of a MultiKueueCluster with a ClusterProfile is found by its Workloads only", IsOptional: true},
		},
	}
}

func history() Task {
	return Task{
		Name: History, Title: "See what ran: `history`", Where: "managers", Needs: []string{Look},
		Rights: []Right{
			{Scope: InKueue, Resource: core("configmaps"), Verbs: []string{"get"}, Names: []string{"kueue-manager-config"}, Without: "how long Kueue keeps finished Workloads is unknown", IsOptional: true},
		},
	}
}

// traceFile includes create, because a server treats a dry run like any other creation.
func traceFile() Task {
	return Task{
		Name: TraceFile, Title: "Say where a Job could run, before its submission: `trace -f`", Where: "every cluster to which people submit Jobs",
		Needs: []string{Look},
		Rights: []Right{
			{Resource: batch("jobs"), Verbs: []string{"create"}, Without: "`trace -f` evaluates the manifest without defaults and changes of webhooks", IsOptional: true},
			{Resource: core("configmaps"), Verbs: []string{"get"}, Without: noNeed, IsOptional: true},
			{Resource: core("serviceaccounts"), Verbs: []string{"get"}, Without: noNeed, IsOptional: true},
			{Resource: core("persistentvolumeclaims"), Verbs: []string{"get"}, Without: noNeed, IsOptional: true},
			{Scope: InCluster, Resource: kueue("workloadpriorityclasses"), Verbs: []string{"get"}, Without: noClass, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}, Verbs: []string{"get", "list"}, Without: noClass, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "node.k8s.io", Resource: "runtimeclasses"}, Verbs: []string{"get"}, Without: noClass, IsOptional: true},
		},
	}
}

// noInstallation is the consequence of not reading the installation of Kueue.
const noInstallation = "the version and configuration of Kueue are not checked"

func doctor() Task {
	return Task{
		Name: Doctor, Title: "Check how MultiKueue is set up: `doctor`", Where: "managers and workers", Needs: []string{LookSecrets},
		Rights: []Right{
			{Scope: InCluster, Resource: schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}, Verbs: []string{"list"}, Without: noInstallation, IsOptional: true},
			{Scope: InKueue, Resource: core("services"), Verbs: []string{"get"}, Without: noInstallation, IsOptional: true},
			{Scope: InKueue, Resource: schema.GroupResource{Group: "apps", Resource: "deployments"}, Verbs: []string{"list"}, Without: noInstallation, IsOptional: true},
			{Scope: InKueue, Resource: core("configmaps"), Verbs: []string{"get"}, Without: "the configuration of Kueue is not checked", IsOptional: true},
			{Scope: InKueue, Resource: core("serviceaccounts"), Verbs: []string{"get"}, Without: "whether the ServiceAccounts of managers exist on workers is not checked", IsOptional: true},
			{Scope: InCluster, Resource: kueue("workloadpriorityclasses"), Verbs: []string{"list"}, Without: "priority classes are not compared", IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}, Verbs: []string{"create"}, Without: "the rights of managers on workers are not checked", IsOptional: true},
		},
	}
}

// probe has the rights for a Job that is submitted and removed. A dry run needs the same.
func probe() Task {
	return Task{
		Name: Probe, Title: "Submit a Job as a probe: `doctor --probe`", Where: "the manager; for optional rights, also the workers", Needs: []string{LookSecrets},
		Rights: []Right{
			{Resource: batch("jobs"), Verbs: []string{"create", "delete", "get"}, Without: "there is no probe; nothing is created"},
			{Resource: batch("jobs"), Verbs: []string{"list"}, Without: "what killed probes left behind is not removed", IsOptional: true},
			{Resource: core("namespaces"), Verbs: []string{"get"}, Without: "if kube-system is not readable either, it is not proven that the probe left nothing", IsOptional: true},
			{Resource: core("pods"), Verbs: []string{"create"}, Without: "`--all-workers` does not check whether workers accept the Pod; none is created in any case", IsOptional: true},
		},
	}
}

func snapshot() Task {
	return Task{
		Name: Snapshot, Title: "Record a fleet: `snapshot`", Where: "every cluster that is recorded", Needs: []string{Look, LookSecrets},
		Rights: []Right{
			{Resource: batch("cronjobs"), Verbs: []string{"list"}, Without: "CronJobs are not recorded", IsOptional: true},
			{Resource: schema.GroupResource{Group: "apps", Resource: "statefulsets"}, Verbs: []string{"list"}, Without: "objects of that kind are not recorded", IsOptional: true},
			{Scope: InCluster, Resource: kueue("workloadpriorityclasses"), Verbs: []string{"list"}, Without: noRecordedClass, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}, Verbs: []string{"list"}, Without: noRecordedClass, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "node.k8s.io", Resource: "runtimeclasses"}, Verbs: []string{"list"}, Without: noRecordedClass, IsOptional: true},
		},
	}
}

func logs() Task {
	return Task{
		Name: Logs, Title: "Read logs: `logs`", Where: "every cluster that runs Pods", Needs: []string{Look},
		Rights: []Right{
			{Resource: core("pods"), Verbs: []string{"watch"}, IsOptional: true, Without: "`-f` does not work"},
			{Resource: core("pods/log"), Verbs: []string{"get"}, Without: "there are no logs"},
		},
	}
}

// podRights returns the rights that a command in Pods needs, besides those for finding the Pods.
// For a WebSocket, API servers require get, and since 1.35 always create
// (AuthorizePodWebsocketUpgradeCreatePermission).
func podRights(subresource, without string) []Right {
	return []Right{
		{Resource: core("pods"), Verbs: []string{"get"}, Without: without},
		{Resource: core("pods/" + subresource), Verbs: []string{"get", "create"}, Without: without},
	}
}

func exec() Task {
	return Task{
		Name: Exec, Title: "Run commands in Pods: `exec`", Where: "every cluster that runs Pods", Needs: []string{Look},
		Rights: podRights("exec", "no command is run"),
	}
}

func portForward() Task {
	return Task{
		Name: PortForward, Title: "Forward ports of Pods: `port-forward`", Where: "every cluster that runs Pods", Needs: []string{Look},
		Rights: podRights("portforward", "no port is forwarded"),
	}
}

func dispatchOrigin() Task {
	return Task{
		Name: DispatchOrigin, Title: "Dispatch Jobs of a cluster, and cancel them: `dispatch`, `cancel`", Where: "the cluster of the origins",
		Rights: []Right{
			{Resource: batch("jobs"), Verbs: []string{"get", "list", "watch", "patch"}, Without: "the Job cannot be followed"},
			{Resource: batch("jobs"), Verbs: []string{"create"}, Without: "`-f` cannot create the Job", IsOptional: true},
			{Resource: batch("jobs/status"), Verbs: []string{"patch"}, Without: "the status cannot be written back"},
			{Resource: leases(), Verbs: []string{"get", "create", "update", "delete"}, Without: "two dispatchers could take the same Job"},
			{Resource: core("namespaces"), Verbs: []string{"get"}, Without: "dispatch does not check first whether origin and mirror would be the same object", IsOptional: true},
			identity(),
		},
	}
}

func dispatchMirror() Task {
	return Task{
		Name: DispatchMirror, Title: "Run mirrors on a cluster: `dispatch --to`, `cancel`", Where: "the cluster of the mirrors",
		Rights: []Right{
			{Resource: batch("jobs"), Verbs: []string{"create", "get", "list", "watch", "patch", "delete"}, Without: "no mirror can be created"},
			{Scope: InCluster, Resource: batch("jobs"), Verbs: []string{"list"}, Without: "mirrors are found only in the Job's namespace and in the namespaces that its annotations name", IsOptional: true},
			{Resource: core("pods"), Verbs: []string{"list"}, Without: "its Pods cannot be read"},
			{Resource: core("pods"), Verbs: []string{"create"}, Without: "dispatch does not test first whether the cluster accepts its Pods (it creates none)", IsOptional: true},
			{Resource: core("pods/log"), Verbs: []string{"get"}, Without: "the logs of its Pods cannot be read", IsOptional: true},
			{Resource: core("namespaces"), Verbs: []string{"get"}, Without: "dispatch does not check first whether the namespace exists", IsOptional: true},
			{Resource: core("configmaps"), Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Resource: core("serviceaccounts"), Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Resource: core("services"), Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Resource: core("persistentvolumeclaims"), Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Scope: InCluster, Resource: core("nodes"), Verbs: []string{"list"}, Without: "dispatch does not check first whether its Pods fit on a node", IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}, Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "node.k8s.io", Resource: "runtimeclasses"}, Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			{Scope: InCluster, Resource: schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}, Verbs: []string{"get"}, Without: noReference, IsOptional: true},
			identity(),
		},
	}
}

func dispatchCopy() Task {
	return Task{
		Name: DispatchCopy, Title: "Copy ConfigMaps and Secrets: `dispatch --with-dependencies` and `--with-secret`", Where: "the cluster of the mirrors; on that of the origins, grant `dispatch-source`",
		Needs: []string{DispatchMirror},
		Rights: []Right{
			{Resource: core("configmaps"), Verbs: []string{"get", "create", "patch"}, Without: "they cannot be copied"},
			{Resource: core("secrets"), Verbs: []string{"get", "create", "patch"}, Without: "they cannot be copied"},
			{Resource: core("configmaps"), Verbs: []string{"list", "delete"}, Without: noCleanup, IsOptional: true},
			{Resource: core("secrets"), Verbs: []string{"list", "delete"}, Without: noCleanup, IsOptional: true},
		},
	}
}

// dispatchSource is for the cluster from which dispatchCopy copies.
func dispatchSource() Task {
	return Task{
		Name: "dispatch-source", Title: "Read ConfigMaps and Secrets to copy: `dispatch --with-dependencies` and `--with-secret`", Where: "the cluster of the origins",
		Needs: []string{DispatchOrigin},
		Rights: []Right{
			{Resource: core("configmaps"), Verbs: []string{"get"}, Without: "they cannot be copied"},
			{Resource: core("secrets"), Verbs: []string{"get"}, Without: "they cannot be copied"},
		},
	}
}

func recreate() Task {
	return Task{
		Name: Recreate, Title: "Give a Job another owner: `recreate`", Where: "the Job's cluster",
		Rights: []Right{
			{Resource: batch("jobs"), Verbs: []string{"get", "list", "watch", "delete", "create"}, Without: "the Job cannot be created again"},
			{Resource: leases(), Verbs: []string{"get"}, Without: "whether a dispatcher serves the Job is unknown", IsOptional: true},
			{Resource: kueue("localqueues"), Verbs: []string{"get"}, Without: "recreate does not check whether the queue exists", IsOptional: true},
			{Resource: kueue("workloads"), Verbs: []string{"list"}, Without: "whether a worker runs the Job, and what Kueue changed in it, is unknown", IsOptional: true},
			{Resource: core("namespaces"), Verbs: []string{"get"}, Without: "if kube-system is not readable either, recreate does not notice that the context now reaches another cluster", IsOptional: true},
			identity(),
		},
	}
}
