package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// onNodes judges the Jobs of a pair that the built-in controller runs and
// whose Pods find no node, each by the nodes of its own cluster.
func (a *Surroundings) onNodes(p inspect.Pair) []inspect.Placement {
	var all []inspect.Placement
	for _, j := range p.Jobs() {
		f := a.inventory.Facts(j.Context)
		if f == nil || f.Err != nil || j.IsDelegated() || j.Status.IsFinished() {
			continue
		}
		for _, pod := range f.PodsOf(j) {
			if pod.IsUnschedulable() {
				all = append(all, *a.forPods(f, j, cmp.Or(p.Origin, j), pod))
				break
			}
		}
	}
	return all
}

// forPods judges the Pods of a Job by the nodes of its cluster. It does not
// consider what runs on the nodes: it quotes the scheduler, which does. origin is the Job that its user would
// change.
func (a *Surroundings) forPods(f *inspect.Facts, j, origin *inspect.Job, pod *inspect.Pod) *inspect.Placement {
	r := Request{Namespace: j.Namespace, PodSets: podSetsOn(f, j), origin: origin}
	s := newSite(f, &r, a, role{}, nil)
	s.Said, s.SaidAt = pod.Message, pod.Scheduled.DeepCopy()
	s.isUntolerated = strings.Contains(pod.Message, "untolerated taint")
	s.condition(inspect.ConditionReached, inspect.Yes, "yes")
	s.condition(inspect.ConditionNamespace, inspect.Yes, "yes")
	said := fmt.Sprintf("the scheduler cannot place Pod %s: %s", pod.Name, pod.Message)
	switch {
	case f.Environment == nil || f.Environment.Nodes == nil && f.Environment.NodesErr == nil, len(r.PodSets) == 0:
		s.condition(inspect.ConditionPods, inspect.NotKnown, "?")
		s.decide(inspect.Unknown, inspect.NoNode, "%s", said)
		return s.Placement
	case f.Environment.NodesErr != nil:
		s.condition(inspect.ConditionPods, inspect.NotKnown, "?")
		s.decide(inspect.Unknown, inspect.NoNode, "%s; cannot read its nodes: %s", said, s.because(f.Environment.NodesErr))
		return s.Placement
	}
	s.decide(inspect.Waits, inspect.NoNode, "%s", said)
	s.countNodes()
	if s.Condition(inspect.ConditionPods).State == inspect.No {
		s.noNodeFits(&r.PodSets[0], "")
	}
	return s.Placement
}

// podSetsOn returns the Pods of a Job that runs on a cluster: by its own template or, if that was not read, by
// its Workload with the flavors that it got there. It returns nil if they are unknown.
func podSetsOn(f *inspect.Facts, j *inspect.Job) []kueue.PodTemplate {
	if sets := podSetsOf(j); sets != nil {
		return sets
	}
	w := f.Workload(j.Namespace, j.Prebuilt())
	if w == nil || w.Status.Admission == nil || !hasCapacity(f) || f.Kueue.Capacity.Templates[w.UID] == nil {
		return nil
	}
	sets := slices.Clone(f.Kueue.Capacity.Templates[w.UID].Spec.PodSets)
	for i := range sets {
		for _, assigned := range w.Status.Admission.PodSetAssignments {
			if assigned.Name != sets[i].Name {
				continue
			}
			for _, name := range slices.Compact(slices.Sorted(maps.Values(assigned.Flavors))) {
				flavor := f.Kueue.Capacity.Flavor(name)
				if flavor == nil {
					return nil
				}
				sets[i].Template.Spec = *flavored(&sets[i].Template.Spec, flavor)
			}
		}
	}
	return sets
}

// noNodeFits decides that no node could take the Pods of a podset, even if
// empty, and adds changes that would help. The verdict is not Never, because
// an autoscaler may be about to add a node, and no object shows whether one
// exists. The message begins with lead.
func (s *site) noNodeFits(set *kueue.PodTemplate, lead string) {
	pod := s.podsOf(set, !s.isUntolerated)[0]
	sum := pod.Summarize(s.facts.Environment.Nodes)
	s.Changes = append(s.Changes, s.fitNodes(set)...)
	if cordoned := pod.Uncordoned(s.facts.Environment.Nodes); len(cordoned) > 0 {
		s.change(inspect.PlacementChange{
			Message: fmt.Sprintf("make %s on %s schedulable again", inspect.Count(len(cordoned), "cordoned node"), s.Context),
			Command: command.Uncordon(s.Context, cordoned...).Shell(),
		})
	}
	if labels := pod.MissingLabels(s.facts.Environment.Nodes); len(labels) > 0 && sum.Nodes > 0 {
		s.decide(inspect.Unknown, inspect.NoNode, "%sno node has label %s; an autoscaler may add nodes", lead, strings.Join(labels, " or "))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(sum.Largest)) {
		has, asked := sum.Largest[name], pod.Requests()[name]
		s.decide(inspect.Unknown, inspect.NoNode, "%sno node has %s %s for one Pod: the largest has %s; an autoscaler may add nodes", lead, plain(asked), name, plain(has))
		return
	}
	text := lead + fmt.Sprintf("none of %s fits its Pods, even if empty", inspect.Count(sum.Nodes, "node"))
	if sum.Nodes == 0 {
		text = lead + "it has no nodes"
	}
	for _, why := range []struct {
		count int
		text  string
	}{
		{sum.Other(), "do not match its node selector, affinity, node name or operating system"},
		{sum.Counts[podfit.Cordoned], "cordoned"},
		{sum.Counts[podfit.Tainted], "have taints that it does not tolerate"},
		{sum.Counts[podfit.TooSmall], "too small for one Pod"},
	} {
		if why.count > 0 {
			text += fmt.Sprintf("; %d %s", why.count, why.text)
		}
	}
	s.decide(inspect.Unknown, inspect.NoNode, "%s; an autoscaler may add nodes", text)
}

// fitNodes returns changes of a podset that would let its Pods run on some nodes.
func (s *site) fitNodes(set *kueue.PodTemplate) (changes []inspect.PlacementChange) {
	pod := s.podsOf(set, !s.isUntolerated)[0]
	sum := pod.Summarize(s.facts.Environment.Nodes)
	if labels := pod.MissingLabels(s.facts.Environment.Nodes); len(labels) > 0 && sum.Nodes > 0 && !selects(&set.Template.Spec, labels) {
		// Kueue adds the labels of the flavor to the Pods, and Kubernetes those of the RuntimeClass.
		changes = append(changes, inspect.PlacementChange{
			Message: fmt.Sprintf("add nodes with label %s, which their flavor or RuntimeClass requires, on %s", strings.Join(labels, " or "), s.Context),
		})
	} else if len(labels) > 0 && sum.Nodes > 0 {
		names := strings.Join(labels, " or ")
		changes = append(changes,
			s.again(inspect.PlacementChange{Message: fmt.Sprintf("use Pods that do not select %s, which no node on %s has", names, s.Context)}),
			inspect.PlacementChange{Message: fmt.Sprintf("add label %s to nodes on %s", names, s.Context)})
	}
	for _, taint := range slices.Sorted(maps.Keys(sum.OneTaint)) {
		changes = append(changes, s.again(inspect.PlacementChange{Message: fmt.Sprintf("use Pods that tolerate taint %s (%s on %s)", taint, inspect.Count(sum.OneTaint[taint], "node"), s.Context)}))
	}
	for _, name := range slices.Sorted(maps.Keys(sum.Largest)) {
		has, asked := sum.Largest[name].DeepCopy(), pod.Requests()[name].DeepCopy()
		if spec, _ := s.admitted(set); spec.Overhead != nil {
			has.Sub(spec.Overhead[name])
			asked.Sub(spec.Overhead[name])
		}
		if has.Sign() <= 0 {
			continue
		}
		changes = append(changes, s.again(inspect.PlacementChange{
			Message: fmt.Sprintf("use Pods that request at most %s %s each, not %s, for %s", plain(has), name, plain(asked), s.Context),
			Share:   1 - has.AsApproximateFloat64()/asked.AsApproximateFloat64(),
		}))
	}
	return changes
}

// selects reports whether a Pod spec itself selects one of some labels, which are "key=value".
func selects(spec *corev1.PodSpec, labels []string) bool {
	return slices.ContainsFunc(labels, func(label string) bool {
		key, _, _ := strings.Cut(label, "=")
		_, has := spec.NodeSelector[key]
		return has
	})
}

// plain returns a quantity without a decimal suffix for thousands and more: "1k cpu" is not a usual amount.
func plain(q resource.Quantity) string {
	if q.Format == resource.DecimalSI && q.MilliValue()%1000 == 0 {
		return strconv.FormatInt(q.Value(), 10)
	}
	return q.String()
}
