package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// setup are the ways in which a fleet is set up so that Jobs will not run (JM401 to JM418). They
// read what only doctor asks for.
func setup() []Rule {
	found := []Rule{
		namespaceLacking(), localQueueLacking(), queueClosed(), namespaceSelectedOut(), credentialsExpire(), quotaBeyondWorkers(),
		priorityClassesDiffer(), integrationLacking(), workerKueueOlder(), managedByDropped(), originShared(),
		leftoversKept(), finishedDeletedEarly(), gateOff(), kueueDown(), managerDenied(), nothingDispatched(), workerClockOff(),
	}
	for i := range found {
		found[i].Setup = true
	}
	return found
}

// multiKueuePage is the page about the concept.
const multiKueuePage = "https://kueue.sigs.k8s.io/docs/concepts/multikueue/"

func namespaceLacking() Rule {
	return Rule{
		Code: "JM401", Title: "a worker lacks a namespace of MultiKueue's queues", Severity: inspect.Error,
		Holds: "every worker has the namespaces of MultiKueue's queues",
		Reads: readsOfLinks(inspect.PartQueues, inspect.PartNamespaces),
		Why: `A mirror has the namespace of its origin. MultiKueue creates no namespaces: where one is missing on a
worker, the manager cannot create the copy of the Workload there, and no Job of that namespace runs on that worker.`,
		Shows: `A LocalQueue of the manager leads to MultiKueue, and the worker has no Namespace of that name. The only
other trace is an error in the log of the manager's Kueue.`,
		Remedy: `Create the namespace on the worker, with the labels that its ClusterQueues select by.`,
		Link:   multiKueuePage,
		Detect: func(v *View) {
			for _, l := range v.links() {
				reportNamespaces(v, l)
			}
		},
	}
}

func reportNamespaces(v *View, l link) {
	var missing []string
	var steps []command.Prose
	queues := v.dispatchedQueues(l)
	for _, q := range queues {
		name := q.Local.Namespace
		found, ok := v.Namespace(l.worker, name)
		if !ok || found != nil || slices.Contains(missing, name) {
			continue
		}
		missing = append(missing, name)
		steps = append(steps, command.Kubectl(l.worker.Context, "", "create", "namespace", name).Prose())
	}
	if len(missing) == 0 {
		return
	}
	v.Report(Sighting{
		Object:  l.object(),
		Message: fmt.Sprintf("%s %s missing on %s", listed("namespace", missing), areOrIs(missing), l.name()),
		Evidence: []string{
			fmt.Sprintf("%s: LocalQueues that lead to MultiKueue are in %s", l.manager.Context, strings.Join(missing, ", ")),
			fmt.Sprintf("%s: there is no such Namespace", l.worker.Context),
		},
		Remedy: command.Join(steps, ", and then "),
	})
}

// listed names things by the noun for one of them.
func listed(noun string, names []string) string {
	if len(names) > 1 {
		noun += "s"
	}
	return noun + " " + inspect.Some(names)
}

func areOrIs(names []string) string {
	if len(names) > 1 {
		return "are"
	}
	return "is"
}

func localQueueLacking() Rule {
	return Rule{
		Code: "JM402", Title: "a worker lacks a LocalQueue of the manager", Severity: inspect.Error,
		Holds: "every worker has the LocalQueues that lead to MultiKueue",
		Reads: readsOfLinks(inspect.PartQueues, inspect.PartNamespaces),
		Why: `A mirror keeps the queue label of its origin. Where the worker has no LocalQueue of that name in that
namespace, the worker's Kueue calls the copy of the Workload misconfigured and never admits it.`,
		Shows: `A LocalQueue of the manager leads to MultiKueue, and the worker has the namespace, but no LocalQueue of
that name in it.`,
		Remedy: `Create a LocalQueue of the same namespace and name on the worker.`,
		Link:   setupPage,
		Detect: func(v *View) {
			for _, l := range v.links() {
				reportLocalQueues(v, l)
			}
		},
	}
}

func reportLocalQueues(v *View, l link) {
	var missing []string
	var items []any
	queues := v.dispatchedQueues(l)
	for _, q := range queues {
		at, name := q.Local.Namespace, q.Local.Name
		namespace, isKnown := v.Namespace(l.worker, at)
		if isKnown && namespace == nil {
			continue // JM401
		}
		if there, ok := v.LocalQueue(l.worker, at, name); !ok || there != nil {
			continue
		}
		missing = append(missing, at+"/"+name)
		items = append(items, map[string]any{
			"apiVersion": "kueue.x-k8s.io/" + l.worker.Kueue.Version, "kind": "LocalQueue",
			"metadata": map[string]any{"namespace": at, "name": name},
			"spec":     map[string]any{"clusterQueue": clusterQueueFor(v, l, q.Cluster.Name)},
		})
	}
	if len(missing) == 0 {
		return
	}
	v.Report(Sighting{
		Object:  l.object(),
		Message: fmt.Sprintf("%s %s missing on %s", listed("LocalQueue", missing), areOrIs(missing), l.name()),
		Evidence: []string{
			fmt.Sprintf("%s: %s lead to MultiKueue", l.manager.Context, strings.Join(missing, ", ")),
			fmt.Sprintf("%s: there is no LocalQueue %s", l.worker.Context, strings.Join(missing, ", ")),
		},
		Remedy: command.Kubectl(l.worker.Context, "", "create", "-f", "-").Fed(command.JSON(listOf(items))).Prose(),
	})
}

// listOf is a list of objects as kubectl takes it; one object is its own list.
func listOf(items []any) any {
	if len(items) == 1 {
		return items[0]
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
}

// someClusterQueue stands for a ClusterQueue that the reader has to choose.
const someClusterQueue = "CLUSTERQUEUE"

// clusterQueueFor is the ClusterQueue of a worker that stands for one of the manager: that of
// its name, or the only one.
func clusterQueueFor(v *View, l link, name string) string {
	queues, _ := v.ClusterQueues(l.worker)
	switch {
	case slices.ContainsFunc(queues, func(q *kueue.ClusterQueue) bool { return q.Name == name }):
		return name
	case len(queues) == 1:
		return queues[0].Name
	}
	return someClusterQueue
}
