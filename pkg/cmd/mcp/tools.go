package mcp

// tool is a command that is offered as a tool of the same name.
type tool struct {
	name, title, description string
	// documents are the kinds of the documents that the command prints with -o json.
	documents  []string
	parameters []parameter
	// parts are the lists that are shortened in a document that is too large.
	parts []cutPart
	// isLocal is set if the answer has nothing from a cluster.
	isLocal bool
}

// Parameters that several tools have.
func inNamespace() parameter {
	return parameter{name: "namespace", flag: "namespace", description: "Namespace to read. Without it, and without all_namespaces, the namespace of the current context."}
}

func inAllNamespaces() parameter {
	return parameter{name: "all_namespaces", flag: "all-namespaces", description: "Read all namespaces."}
}

func inContexts() parameter {
	return parameter{name: contextsParameter, isList: true, description: "Contexts to read, of those that this server may read: names, globs, /regular expressions/, or ^ in front to leave some out. Without it, all of them. Answers about pairs and placements need all."}
}

func ofKinds() parameter {
	return parameter{name: "kinds", flag: "kinds", description: "Kinds to read instead of Jobs, such as jobset or pytorchjob, or all."}
}

func bySelector() parameter {
	return parameter{name: "selector", flag: "selector", description: "Label selector, as kubectl get -l takes it."}
}

func ofNames() parameter {
	return parameter{name: "names", isList: true, description: "Names of Jobs, or KIND/NAME, in the namespace. Without it, all Jobs."}
}

func suppressed() parameter {
	return parameter{name: "suppress", flag: "suppress", description: "Findings to leave out: CODE, or CODE=NAMESPACE/NAME with * as wildcard; CODE=/NAME for an object without a namespace."}
}

// tools returns all tools of the server. Each of them only reads.
func tools() []tool {
	return []tool{lsTool(), traceTool(), checkTool(), explainTool(), doctorTool(), queuesTool(), historyTool()}
}

func lsTool() tool {
	return tool{
		name: "ls", title: "List Jobs by owner",
		description: "List Jobs across all clusters by owner (.spec.managedBy), with their actual status, the cluster that runs them and the codes of their findings. Start here if you do not know the name of a Job.",
		documents:   []string{"OwnerList"},
		parameters: []parameter{
			ofNames(), inNamespace(), inAllNamespaces(), inContexts(), ofKinds(), bySelector(),
			{name: "delegated", flag: "delegated"},
			{name: "managed_by", flag: "managed-by"},
			{name: "status", flag: "status", description: "Only Jobs with these statuses: Terminating, Complete, Failed, Unclaimed, Suspended, Running, Pending, Unknown."},
			{name: "finding", flag: "finding", description: "Only Jobs of which check finds one of these codes, such as JM101."},
			{name: "reason", flag: "reason", description: "Say for each Job why it has its status. Takes more requests."},
			{name: "mirrors", flag: "mirrors"},
			{name: "summary", flag: "summary"},
		},
		parts: []cutPart{{path: []string{"items", "*", "jobs"}}, {path: []string{"items"}}},
	}
}

func traceTool() tool {
	return tool{
		name: "trace", title: "Trace one Job",
		description: "Say where one Job runs, and if it does not run, why, where it could run, and how to fix it: its origin, queue, Workload, checks, mirror and Pods across all clusters. Without name, list all pairs of origins and mirrors.",
		documents:   []string{"Trace", "TraceList"},
		parameters: []parameter{
			{name: "name", description: "Name of the Job, or KIND/NAME: that of the origin or of the mirror."},
			inNamespace(), inAllNamespaces(), inContexts(),
			{name: "kinds", flag: "kinds", description: "Without name: kinds to list instead of Jobs, such as jobset or pytorchjob, or all."},
			{name: "selector", flag: "selector", description: "Without name: label selector for origins or mirrors."},
			{name: "orphans", flag: "orphans", description: "Without name: only mirrors whose origin was not found."},
		},
		parts: []cutPart{
			{path: []string{"timeline"}, fromStart: true},
			{path: []string{"items", "*", "timeline"}, fromStart: true},
			{path: []string{"items"}},
			{path: []string{"differences"}},
			{path: []string{"placements"}},
			{path: []string{"findings"}},
			{path: []string{"mirrors"}},
			{path: []string{"hops"}},
		},
	}
}

func checkTool() tool {
	return tool{
		name: "check", title: "Find stuck Jobs",
		description: "Find delegated Jobs that are stuck, orphaned or run twice, across all clusters, the worst first, each with evidence and a fix. Read unchecked in the document before you report that all is well.",
		documents:   []string{"FindingList"},
		parameters: []parameter{
			ofNames(), inNamespace(), inAllNamespaces(), inContexts(), ofKinds(), bySelector(),
			{name: "grace", flag: "grace", description: "How long a problem may last before it counts, such as 0s or 5m, which is the default."},
			suppressed(),
		},
		parts: []cutPart{{path: []string{"items"}}},
	}
}

func explainTool() tool {
	return tool{
		name: "explain", title: "Explain a finding's code",
		description: "Say what a code of a finding, such as JM034, means, why it happens, how it shows and what to do. Without code, list all codes. Reads no cluster.",
		documents:   []string{"CodeList"},
		parameters:  []parameter{{name: "code", description: "The code, such as JM034."}},
		parts:       []cutPart{{path: []string{"items"}}},
		isLocal:     true,
	}
}

func doctorTool() tool {
	return tool{
		name: "doctor", title: "Check how MultiKueue is set up",
		description: "Check how MultiKueue is set up on managers and workers: connections, configuration, queues, quotas, kinds, versions, clocks, credentials and rights. Needs no Job and creates none.",
		documents:   []string{"DoctorReport"},
		parameters: []parameter{
			{name: "namespace", flag: "namespace", description: "Check only the queues of this namespace."},
			inContexts(), suppressed(),
		},
		parts: []cutPart{{path: []string{"items"}}, {path: []string{"clusters"}}},
	}
}

func queuesTool() tool {
	return tool{
		name: "queues", title: "Show quota and its use",
		description: "Show quota and usage of Kueue's queues and what pending Jobs request, across all clusters: a row for each ClusterQueue, flavor and resource; with namespace or all_namespaces for each LocalQueue; with summary for each cluster; with pending for each pending Job, in Kueue's order.",
		documents:   []string{"QueueList", "PendingList"},
		parameters: []parameter{
			{name: "names", isList: true, description: "Names of queues, or of cohorts with their members. Without it, all queues."},
			{name: "namespace", flag: "namespace", description: "Show the LocalQueues of this namespace."},
			{name: "all_namespaces", flag: "all-namespaces", description: "Show the LocalQueues of all namespaces."},
			inContexts(),
			{name: "summary", flag: "summary"},
			{name: "pending", flag: "pending"},
		},
		parts: []cutPart{{path: []string{"items"}}},
	}
}

func historyTool() tool {
	return tool{
		name: "history", title: "Show finished Jobs",
		description: "Show the delegated Jobs that finished, the latest first: where each ran, how long it waited and ran, and what it used; or sums of them by owner, queue, namespace, cluster or label. Knows only what was not deleted.",
		documents:   []string{"HistoryList"},
		parameters: []parameter{
			inNamespace(), inAllNamespaces(), inContexts(),
			{name: "kinds", flag: "kinds", description: "Kinds to read, such as jobset or pytorchjob. Without it, all kinds."},
			bySelector(),
			{name: "since", flag: "since"},
			{name: "by", flag: "by"},
			{name: "sort_by", flag: "sort-by"},
		},
		parts: []cutPart{{path: []string{"items"}}, {path: []string{"groups"}}},
	}
}
