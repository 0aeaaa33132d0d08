package running

import (
	"regexp"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// findNode returns how a Pod that the scheduler cannot place gets a node.
func (b *obstacle) findNode(v *view.View, mirror *inspect.Job) command.Prose {
	change := command.Say("change the selector or the requests of the Pods, or add a matching node to %s: %s", mirror.Context,
		command.Kubectl(mirror.Context, mirror.Namespace, "describe", "pod", b.pod))
	if len(b.claims) > 0 && isAboutVolumes(b.message) {
		change = command.Say("check its PersistentVolumeClaims: %s; or %s", describeClaims(mirror, b.claims...), change)
	}
	cordoned, all := cordonedIn(b.message)
	switch cordoned {
	case "":
		return change
	case all:
		return uncordon(v, mirror.Context)
	}
	return command.Say("%s; or %s", uncordon(v, mirror.Context), change)
}

// isAboutVolumes reports whether the scheduler excluded nodes because of PersistentVolumeClaims or their
// volumes (kubernetes: pkg/scheduler/framework/plugins, volumebinding and volumezone).
func isAboutVolumes(message string) bool {
	return regexp.MustCompile(`(?i)persistent ?volume|pvc\(s\)|volume node affinity|no available volume zone`).MatchString(message)
}

// uncordon returns how to make the cordoned nodes of a cluster schedulable again.
func uncordon(v *view.View, context string) command.Prose {
	if names := v.CordonedNodes(context); len(names) > 0 {
		return command.Say("make %s on %s schedulable again: %s", inspect.Count(len(names), "cordoned node"), context, command.Uncordon(context, names...))
	}
	return command.Say("make the cordoned nodes on %s schedulable again: find them with %s, and then %s", context,
		command.Kubectl(context, "", "get", "nodes", "--field-selector", "spec.unschedulable=true"), command.Uncordon(context, "NODE"))
}

// cordonedIn returns how many of all nodes are cordoned according to the scheduler, "" if none is
// (kubernetes: pkg/scheduler/framework/plugins/nodeunschedulable).
func cordonedIn(message string) (cordoned, all string) {
	found := regexp.MustCompile(`^0/(\d+) nodes are available: (?:.*, )?(\d+) node\(s\) were unschedulable`).FindStringSubmatch(message)
	if found == nil {
		return "", ""
	}
	return found[2], found[1]
}
