// Package setup has the rules about the setup of a fleet. Only doctor runs
// them.
package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Rules returns JM401 to JM419. They read what only doctor requests.
func Rules() []view.Rule {
	found := []view.Rule{
		namespaceLacking(), localQueueLacking(), queueClosed(), namespaceSelectedOut(), credentialsExpire(), quotaBeyondWorkers(),
		priorityClassesDiffer(), integrationLacking(), workerKueueOlder(), managedByDropped(), originShared(),
		leftoversKept(), finishedDeletedEarly(), gateOff(), kueueDown(), managerDenied(), nothingDispatched(), workerClockOff(),
		clusterUnused(),
	}
	for i := range found {
		found[i].Setup = true
	}
	return found
}

func namespaceLacking() view.Rule {
	return view.Rule{
		Code: "JM401", Severity: inspect.Error,
		Reads: view.ReadsOfLinks(inspect.PartQueues, inspect.PartNamespaces),
		Detect: func(v *view.View) {
			for _, l := range v.Links() {
				reportNamespaces(v, l)
			}
		},
	}
}

func reportNamespaces(v *view.View, l view.Link) {
	var missing, ending, locals []string
	var steps []command.Prose
	var items []any
	for _, q := range v.DispatchedQueues(l) {
		name := q.Local.Namespace
		found, ok := v.Namespace(l.Worker, name)
		if !ok || found != nil && !found.IsTerminating {
			continue
		}
		if !slices.Contains(missing, name) {
			missing = append(missing, name)
			if found != nil {
				ending = append(ending, name)
				steps = append(steps, command.Say("wait until namespace %s is deleted: %s", name, command.Kubectl(l.Worker.Context, "", "wait", "--for=delete", "namespace", name)))
			}
			steps = append(steps, advice.CreateNamespace(l.Worker.Context, name))
		}
		if v.CanRead(l.Worker, inspect.PartQueues) && l.Worker.Kueue != nil {
			locals, items = append(locals, name+"/"+q.Local.Name), append(items, localQueueFor(v, l, q))
		}
	}
	if len(missing) == 0 {
		return
	}
	s := view.Sighting{
		Object:  l.Object(),
		Message: fmt.Sprintf("%s %s missing on %s", withNames("namespace", missing), areOrIs(missing), l.Name()),
		Evidence: []string{
			fmt.Sprintf("%s: LocalQueues that use MultiKueue are in %s", l.Manager.Context, strings.Join(missing, ", ")),
			fmt.Sprintf("%s: there is no such Namespace", l.Worker.Context),
		},
	}
	if len(ending) > 0 {
		s.Evidence[1] = fmt.Sprintf("%s: status.phase of Namespace %s is Terminating; the others do not exist", l.Worker.Context, strings.Join(ending, ", "))
	}
	if len(ending) == len(missing) {
		s.Message = fmt.Sprintf("%s %s being deleted on %s", withNames("namespace", missing), areOrIs(missing), l.Name())
		s.Evidence[1] = fmt.Sprintf("%s: status.phase is Terminating", l.Worker.Context)
	}
	if len(items) > 0 {
		s.Message += ", with " + withNames("LocalQueue", locals)
		steps = append(steps, createAll(l, items))
	}
	s.Remedy = command.Join(steps, ", and then ")
	v.Report(s)
}

// createAll returns how to create LocalQueues on a worker.
func createAll(l view.Link, items []any) command.Prose {
	what := "the LocalQueue"
	if len(items) > 1 {
		what += "s"
	}
	return command.Say("create %s on %s: %s", what, l.Worker.Context, command.Kubectl(l.Worker.Context, "", "create", "-f", "-").Fed(command.JSON(listOf(items))))
}

// localQueueFor returns the LocalQueue that a worker lacks.
func localQueueFor(v *view.View, l view.Link, q inspect.QueueOf) any {
	return map[string]any{
		"apiVersion": "kueue.x-k8s.io/" + l.Worker.Kueue.Version, "kind": "LocalQueue",
		"metadata": map[string]any{"namespace": q.Local.Namespace, "name": q.Local.Name},
		"spec":     map[string]any{"clusterQueue": clusterQueueFor(v, l, q.Cluster.Name)},
	}
}

// withNames names objects, with the noun for one of them in singular or plural.
func withNames(noun string, names []string) string {
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

func localQueueLacking() view.Rule {
	return view.Rule{
		Code: "JM402", Severity: inspect.Error,
		Reads: view.ReadsOfLinks(inspect.PartQueues, inspect.PartNamespaces),
		Detect: func(v *view.View) {
			for _, l := range v.Links() {
				reportLocalQueues(v, l)
			}
		},
	}
}

func reportLocalQueues(v *view.View, l view.Link) {
	if l.Worker.Kueue == nil {
		return // JM007, or the Kueue API could not be read
	}
	var missing []string
	var items []any
	queues := v.DispatchedQueues(l)
	for _, q := range queues {
		at, name := q.Local.Namespace, q.Local.Name
		namespace, isKnown := v.Namespace(l.Worker, at)
		if isKnown && (namespace == nil || namespace.IsTerminating) {
			continue // JM401
		}
		if there, ok := v.LocalQueue(l.Worker, at, name); !ok || there != nil {
			continue
		}
		missing = append(missing, at+"/"+name)
		items = append(items, localQueueFor(v, l, q))
	}
	if len(missing) == 0 {
		return
	}
	v.Report(view.Sighting{
		Object:  l.Object(),
		Message: fmt.Sprintf("%s %s missing on %s", withNames("LocalQueue", missing), areOrIs(missing), l.Name()),
		Evidence: []string{
			fmt.Sprintf("%s: LocalQueues that use MultiKueue: %s", l.Manager.Context, strings.Join(missing, ", ")),
			fmt.Sprintf("%s: there is no LocalQueue %s", l.Worker.Context, strings.Join(missing, ", ")),
		},
		Remedy: createAll(l, items),
	})
}

// listOf returns a list of objects in the form that kubectl takes. A single
// object needs no list.
func listOf(items []any) any {
	if len(items) == 1 {
		return items[0]
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
}

// someClusterQueue is a placeholder for a ClusterQueue that the reader must
// choose.
const someClusterQueue = "CLUSTERQUEUE"

// clusterQueueFor returns the ClusterQueue of a worker that corresponds to
// one of the manager: the one with the same name, or the only one.
func clusterQueueFor(v *view.View, l view.Link, name string) string {
	queues, _ := v.ClusterQueues(l.Worker)
	switch {
	case slices.ContainsFunc(queues, func(q *kueue.ClusterQueue) bool { return q.Name == name }):
		return name
	case len(queues) == 1:
		return queues[0].Name
	}
	return someClusterQueue
}
