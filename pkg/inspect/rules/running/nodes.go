package running

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// describeNoNode describes that the scheduler finds no node for the Pods of a mirror.
func (b *obstacle) describeNoNode(v *view.View, s *view.Sighting, origin, mirror *inspect.Job) {
	s.GracePeriod = noNode
	r, isMissing := b.requiredLabels(v, origin, mirror)
	// Pods that need other labels, or by another requirement, have another cause, although the scheduler says the same
	// of them: another change helps them.
	if r == nil {
		what := b.changeable(v, origin, mirror)
		s.Cause += "/" + what
		b.countUnscheduled(s, origin, func(pods, _ string) string {
			return fmt.Sprintf("the scheduler of %s finds no node for %s: %s", mirror.Context, pods, b.message)
		}, func(change command.Prose) command.Prose { return b.findNode(v, mirror, change) }, what)
		return
	}
	s.Cause = strings.Join([]string{s.Cause, r.require, r.text, r.own}, "/")
	label := command.Say("label nodes: %s", command.Kubectl(mirror.Context, "", append([]string{"label", "node", "NODE"}, r.labels...)...))
	if isMissing {
		s.Clause = b.withoutNode(mirror, fmt.Sprintf("%s %s; no node there has %s", r.require, r.text, r.pronoun))
		b.countUnscheduled(s, origin, func(pods, wait string) string {
			return fmt.Sprintf("%s nodes with %s, and no node of %s has %s: %s %s", r.require, r.text, mirror.Context, r.pronoun, pods, wait)
		}, func(change command.Prose) command.Prose { return r.alternatives(label, change) }, r.own)
		return
	}
	affinity := ""
	if hasNodeAffinity(origin, mirror) {
		affinity = ", and the Job has a node affinity"
		s.Cause += "/affinity"
	}
	s.Clause = b.withoutNode(mirror, r.require+" "+r.text+affinity)
	check := command.Say("check which nodes have %s, which %s: %s", r.text, r.require,
		command.Kubectl(mirror.Context, "", "get", "nodes", "-l", strings.Join(r.labels, ",")))
	b.countUnscheduled(s, origin, func(pods, _ string) string {
		return fmt.Sprintf("the scheduler of %s finds no node for %s: %s %s%s", mirror.Context, pods, r.require, r.text, affinity)
	}, func(change command.Prose) command.Prose { return r.alternatives(check, label, change) }, r.own)
}

// withoutNode says why the scheduler finds no node for the Pods of a mirror, for an answer about its Job alone.
func (b *obstacle) withoutNode(mirror *inspect.Job, why string) string {
	find := "find"
	if b.count == 1 {
		find = "finds"
	}
	return fmt.Sprintf("%s on %s %s no node: %s", inspect.Count(b.count, "Pod"), mirror.Context, find, why)
}

// countUnscheduled sets the message and the remedy of a sighting about Pods without a node: say gets these Pods, and
// the verb that they wait; fix gets how their template gets another value of what, "" if nothing in the template
// is a reason. A finding about several Jobs counts the Pods of all, and its remedy holds for all.
func (b *obstacle) countUnscheduled(s *view.Sighting, origin *inspect.Job, say func(pods, wait string) string, fix func(change command.Prose) command.Prose, what string) {
	count := func(n int, of string) string {
		if n == 1 {
			return say(inspect.Count(n, "Pod")+of, "waits")
		}
		return say(inspect.Count(n, "Pod")+of, "wait")
	}
	s.Count, s.Message = b.count, count(b.count, ofMirror(origin))
	remedy := func(change func(what string) command.Prose) command.Prose {
		if what == "" {
			return fix("")
		}
		return fix(change("change " + what + " of the Pods"))
	}
	s.Remedy = remedy(func(change string) command.Prose { return changeTemplate(origin, change) })
	s.Group = func(first *view.Sighting, all []view.Sighting) {
		total := 0
		var jobs []*inspect.Job
		for i := range all {
			total += all[i].Count
			jobs = append(jobs, all[i].Jobs...)
		}
		first.Message = count(total, " of "+inspect.Count(len(all), "Job"))
		first.Remedy = remedy(func(change string) command.Prose { return changeTemplates(jobs, change) })
	}
}

// describeUnconfirmed describes Pods of a mirror of which no node shows that they run.
func (b *obstacle) describeUnconfirmed(s *view.Sighting, origin, mirror *inspect.Job) {
	b.count = len(b.unconfirmed)
	var names, nodes []string
	s.Evidence = nil
	for i, p := range b.unconfirmed {
		names = append(names, p.Name)
		if !slices.Contains(nodes, p.Node) {
			nodes = append(nodes, p.Node)
		}
		if i < few {
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: Pod %s/%s is %s since %s, in phase %s: %s",
				mirror.Context, p.Namespace, p.Name, p.Reason, quote.MaybeTime(cmp.Or(p.DeletedBy, p.Changed).Time), p.Phase, p.Message))
		}
	}
	slices.Sort(nodes)
	which, do, subject := "node", "does", "it is"
	if len(nodes) > 1 {
		which, do, subject = "nodes", "do", "they are"
	}
	whose := "their"
	if b.count == 1 {
		whose = "its"
	}
	what := "report " + whose + " state"
	if b.unconfirmed[0].IsTerminating() {
		what = "confirm " + whose + " end"
	}
	s.Message = fmt.Sprintf("%s%s on %s lost (%s): %s %s %s not %s", inspect.Count(b.count, "Pod"), ofMirror(origin), mirror.Context,
		inspect.Some(names), which, inspect.Some(nodes), do, what)
	s.Remedy = command.Say("check and restart the %s: %s; or, only if %s shut down for good, release the Pods: %s", which,
		command.Kubectl(mirror.Context, "", "get", "node").With(nodes...), subject, command.OutOfService(mirror.Context, nodes...))
}

// requirement is a set of labels that the Pods of a mirror require of their node.
type requirement struct {
	// labels are like "a=b". text and pronoun name them in a sentence.
	labels        []string
	text, pronoun string
	// require says what requires them: flavors, the Pod template, or both.
	require string
	// own is the part of them that the Pod template requires itself, "" for none.
	own string
	// edit is how to change the flavors that require the others, "" for none.
	edit command.Prose
}

// alternatives joins fixes, and how to change the flavors.
func (r *requirement) alternatives(fixes ...command.Prose) command.Prose {
	fixes = slices.DeleteFunc(append(fixes, r.edit), func(p command.Prose) bool { return p == "" })
	return command.Join(fixes, "; or ")
}

// newRequirement returns the requirement of labels that a Job itself has, and of labels that its flavors added.
func newRequirement(v *view.View, mirror *inspect.Job, own, added []string) *requirement {
	r := &requirement{labels: slices.Sorted(slices.Values(slices.Concat(own, added))), pronoun: "it"}
	r.text = "label " + r.labels[0]
	if len(r.labels) > 1 {
		r.text, r.pronoun = "labels "+strings.Join(r.labels, ","), "all of them"
	}
	if len(own) > 0 {
		r.own = "node selector " + strings.Join(own, ",")
	}
	if len(added) == 0 {
		r.require = "the Pod template requires"
		return r
	}
	var flavors string
	flavors, r.edit = flavorsWith(v, mirror, added)
	switch {
	case len(own) > 0:
		r.require = "the Pod template and " + flavors + " require"
	case strings.HasPrefix(flavors, "flavor "):
		r.require = flavors + " requires"
	default:
		r.require = flavors + " require"
	}
	return r
}

// flavorsWith names the flavors of a mirror that require labels, as far as they are known, and says how to change them.
func flavorsWith(v *view.View, mirror *inspect.Job, labels []string) (which string, edit command.Prose) {
	flavors := v.FlavorsOf(mirror)
	i := slices.IndexFunc(flavors, func(f *kueue.ResourceFlavor) bool {
		return !slices.ContainsFunc(labels, func(label string) bool {
			key, value, _ := strings.Cut(label, "=")
			return f.Spec.NodeLabels[key] != value
		})
	})
	if len(flavors) == 1 || i >= 0 {
		name := flavors[max(i, 0)].Name
		return "flavor " + name, command.Say("correct nodeLabels of ResourceFlavor %s: %s", name, kueue.Kubectl(mirror.Context, "edit", "ResourceFlavor", "", name))
	}
	var names []string
	for _, f := range flavors {
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		return "its flavors", command.Say("correct nodeLabels of its ResourceFlavors: %s", command.Kubectl(mirror.Context, "", "get", kueue.Resource("ResourceFlavor"), "-o", "yaml"))
	}
	return "flavors " + inspect.And(names), command.Say("correct nodeLabels of its ResourceFlavors: %s", command.Kubectl(mirror.Context, "", "edit", kueue.Resource("ResourceFlavor")).With(names...))
}

// affinityMismatch matches how many nodes do not match the selector of a Pod, in a message of the scheduler.
var affinityMismatch = regexp.MustCompile(`^0/(\d+) nodes are available: (\d+) node\(s\) didn't match Pod's node affinity/selector`)

// requiredLabels returns the labels that the Pods of a mirror require of their node, if the lack of them may be
// why the scheduler finds no node: nil if a node has them, or if nothing shows who requires them. isMissing is
// whether the lack is the only reason: the nodes were read, and the Job has no node affinity.
func (b *obstacle) requiredLabels(v *view.View, origin, mirror *inspect.Job) (r *requirement, isMissing bool) {
	found := affinityMismatch.FindStringSubmatch(b.message)
	if len(found) == 0 || found[1] != found[2] || mirror.NodeSelector == "" {
		return nil, false
	}
	own, added, known := v.Selectors(origin, mirror)
	if !known {
		return nil, false
	}
	has, areNodesKnown := v.HasNodeWith(mirror.Context, slices.Concat(own, added))
	if has {
		return nil, false
	}
	return newRequirement(v, mirror, own, added), areNodesKnown && !hasNodeAffinity(origin, mirror)
}

// hasNodeAffinity reports whether a Job has a required node affinity. origin is nil if it is unknown.
func hasNodeAffinity(origin, mirror *inspect.Job) bool {
	return mirror.HasNodeAffinity || origin != nil && origin.HasNodeAffinity
}

// changeable names the parts of the Pod template of a Job that may be why the scheduler finds no node.
func (b *obstacle) changeable(v *view.View, origin, mirror *inspect.Job) string {
	var parts []string
	switch own, _, known := v.Selectors(origin, mirror); {
	case len(own) > 0:
		parts = append(parts, "the node selector")
	case !known:
		parts = append(parts, "the node selector (unless a flavor adds it)")
	}
	if hasNodeAffinity(origin, mirror) {
		parts = append(parts, "the node affinity")
	}
	if strings.Contains(b.message, "untolerated taint") {
		parts = append(parts, "the tolerations")
	}
	return inspect.Or(append(parts, "the requests"))
}

// findNode returns how a Pod that the scheduler cannot place gets a node. change is how to change its template.
func (b *obstacle) findNode(v *view.View, mirror *inspect.Job, change command.Prose) command.Prose {
	change = command.Say("see what the Pods need: %s; then add a matching node to %s; or %s",
		command.Kubectl(mirror.Context, mirror.Namespace, "describe", "pod", b.pod), mirror.Context, change)
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

// volumeTrouble matches what the scheduler says about PersistentVolumeClaims and their volumes.
var volumeTrouble = regexp.MustCompile(`(?i)persistent ?volume|pvc\(s\)|volume node affinity|no available volume zone`)

// isAboutVolumes reports whether the scheduler excluded nodes because of PersistentVolumeClaims or their
// volumes (kubernetes: pkg/scheduler/framework/plugins, volumebinding and volumezone).
func isAboutVolumes(message string) bool {
	return volumeTrouble.MatchString(message)
}

// uncordon returns how to make the cordoned nodes of a cluster schedulable again.
func uncordon(v *view.View, context string) command.Prose {
	if names := v.CordonedNodes(context); len(names) > 0 {
		return command.Say("make %s on %s schedulable again: %s", inspect.Count(len(names), "cordoned node"), context, command.Uncordon(context, names...))
	}
	return command.Say("make the cordoned nodes on %s schedulable again: find them with %s, and then %s", context,
		command.Kubectl(context, "", "get", "nodes", "--field-selector", "spec.unschedulable=true"), command.Uncordon(context, "NODE"))
}

// cordonedCount matches how many nodes are cordoned, in a message of the scheduler.
var cordonedCount = regexp.MustCompile(`^0/(\d+) nodes are available: (?:.*, )?(\d+) node\(s\) were unschedulable`)

// cordonedIn returns how many of all nodes are cordoned according to the scheduler, "" if none is
// (kubernetes: pkg/scheduler/framework/plugins/nodeunschedulable).
func cordonedIn(message string) (cordoned, all string) {
	found := cordonedCount.FindStringSubmatch(message)
	if found == nil {
		return "", ""
	}
	return found[2], found[1]
}

// describeGates describes that Pods of a mirror wait for controllers that must remove scheduling gates. Kueue adds
// gates of its own, which it removes (kueue: pkg/controller/tas/topology_ungater.go).
func (b *obstacle) describeGates(v *view.View, s *view.Sighting, origin, mirror *inspect.Job) {
	gates, wait := inspect.GateNames(b.gates), "wait"
	if b.count == 1 {
		wait = "waits"
	}
	s.GracePeriod = noNode
	s.Message = fmt.Sprintf("%s%s on %s %s for the removal of %s", inspect.Count(b.count, "Pod"), ofMirror(origin), mirror.Context, wait, gates)
	if slices.ContainsFunc(b.gates, delegation.IsKueueKey) {
		s.Remedy = advice.CheckKueue(v, mirror.Context, nil)
		return
	}
	// Each Job must be created again.
	s.Cause += "/" + mirror.UID
	where := "the manifest"
	if origin == nil {
		where = "its origin"
	}
	s.Remedy = command.Say("start the controller that removes %[1]s on %[2]s; or, if no controller does, remove %[1]s from %[3]s, %[4]s",
		gates, mirror.Context, where, advice.ThenCreateAgain(origin))
}
