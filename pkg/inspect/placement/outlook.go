package placement

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// outlook adds to a change of a podset whether the Job starts on the cluster after the change and, if not, what it waits
// for. short is what the podset requests less of, and other is the flavor that it is changed for, nil if it suits its
// flavor as it is. The limits that a change respects are those of an empty cluster. If the change has more steps, such
// as to open a queue, it does not start the Job.
func (s *site) outlook(c inspect.PlacementChange, demand *podSetDemand, short []shortage, other *try) inspect.PlacementChange {
	switch n := mostPods(demand, short); {
	case n == 0 && len(short) > 0:
		c.After = freeNow(short)
	case s.isCountedByTemplate():
		p := s.changed(demand.set.Name, func(set *kueue.PodTemplate) {
			if n > 0 {
				setPods(set, int32(n))
			}
			if other != nil {
				other.adapt(set)
			}
		})
		c.Starts, c.After = p.Verdict == inspect.Fits && !s.role.isGiven && !s.isStep, waitAfter(p)
	}
	c.Message = c.Stem + inspect.OnClusters([]inspect.ChangePlace{{Context: s.Context, IsManager: s.role.isGiven, Starts: c.Starts, After: c.After}})
	return c
}

// isCountedByTemplate reports whether Kueue counts for the request what its templates come to. Otherwise, as with
// resources that its configuration transforms, what it would count for other templates is unknown.
func (s *site) isCountedByTemplate() bool {
	reported := s.reportedRequests()
	if reported == nil {
		return true
	}
	r, by := s.request.withOverhead(s.Context).remaining(s.template()), s.facts.Kueue.CountingRules()[0]
	return slices.EqualFunc(r.demands(s.capacity, reported, by), r.demands(s.capacity, nil, by), func(x, y podSetDemand) bool { return maps.Equal(x.total, y.total) })
}

// changed judges the request with a change of one podset, as if it were submitted with that.
func (s *site) changed(name string, edit func(*kueue.PodTemplate)) *inspect.Placement {
	r := *s.request.remaining(s.template())
	r.PodSets = slices.Clone(r.PodSets)
	for i := range r.PodSets {
		if r.PodSets[i].Name == name {
			edit(&r.PodSets[i])
		}
	}
	with := s.role
	with.isChanged, with.assumed = true, s.local
	return newSite(s.facts, &r, s.around, with, nil).judge()
}

// setPods sets with how many Pods a podset starts at most or, if it may start with fewer than all, at least.
func setPods(set *kueue.PodTemplate, n int32) {
	if set.MinCount != nil {
		set.MinCount = &n
	} else {
		set.Count = n
	}
}

// adapt changes a podset so that it suits the flavor of a try.
func (t *try) adapt(set *kueue.PodTemplate) {
	spec := &set.Template.Spec
	spec.Tolerations = slices.Clone(spec.Tolerations)
	for _, taint := range t.tolerate {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect})
	}
	selector := maps.Clone(spec.NodeSelector)
	if wanted, err := labels.ConvertSelectorToLabelsMap(t.selects); err == nil && selector != nil {
		maps.Copy(selector, wanted)
	}
	spec.NodeSelector = selector
}

// waitAfter says what a changed request still waits for, "" if for nothing, or if that is unknown.
func waitAfter(p *inspect.Placement) string {
	free := inspect.Amounts(p.Short, func(r *inspect.ResourceRoom) string { return r.Free + " " + r.Resource })
	switch {
	case p.Verdict != inspect.Waits:
	case free != "" && p.Preempts:
		return fmt.Sprintf(" when other Jobs end or are preempted (%s free now)", free)
	case free != "":
		return fmt.Sprintf(" when other Jobs end (%s free now)", free)
	case p.Reason == inspect.BehindInQueue:
		return " once it is first in its queue"
	}
	return ""
}

// freeNow says that a request for the limits waits for other Jobs, "" if the limits are free.
func freeNow(short []shortage) string {
	less := slices.DeleteFunc(slices.Clone(short), func(h shortage) bool { return h.free.Minus(h.excess) >= h.most })
	if len(less) == 0 {
		return ""
	}
	return fmt.Sprintf(" when other Jobs end (%s free now)", each(less, func(h *shortage) string { return h.named(h.free) }))
}
