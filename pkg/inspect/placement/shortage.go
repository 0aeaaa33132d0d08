package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// shortage is a need of a podset that its flavor does not meet. A podset starts only if none is left.
type shortage struct {
	need
	flavor string
	// by is how much is lacking: of the limit or, if that is enough, of what is free.
	by capacity.Amount
}

// shortages returns what the chosen flavors lack for the podset that decides the verdict: of all resources,
// and of all groups of resources. The one that decides comes first. Kueue takes a flavor only if it has
// enough of each resource (kueue: pkg/scheduler/flavorassigner).
func (a *assignment) shortages() (all []shortage) {
	if a.worst == nil || !a.worst.suits {
		return nil
	}
	decisive, _ := a.worst.shortest()
	for i := range a.tries {
		t := &a.tries[i]
		if t != a.worst && (!t.chosen || t.demand != a.worst.demand || !t.suits || t.verdict != a.verdict) {
			continue
		}
		for _, h := range t.shortages() {
			if t == a.worst && h.resource == decisive.resource {
				all = slices.Insert(all, 0, h)
			} else {
				all = append(all, h)
			}
		}
	}
	return all
}

// shortagesWith returns what a podset lacks if it uses a flavor that does not suit it yet: of that flavor,
// and of the other groups of resources. ok is false if no flavor of another group suits it.
func (a *assignment) shortagesWith(t *try) (all []shortage, ok bool) {
	all = t.shortages()
	for i := range a.tries {
		other := &a.tries[i]
		if !other.chosen || other.demand != t.demand || other.verdict != inspect.Never || slices.Equal(other.resources, t.resources) {
			continue
		}
		if !other.suits {
			return nil, false
		}
		all = append(all, other.shortages()...)
	}
	return all, true
}

// smaller returns what a podset lacks in the flavor that takes most of its Pods as they are, if the flavor that
// decides the verdict does not suit them. It returns nil if no flavor takes some of them.
func (a *assignment) smaller() (best []shortage) {
	if a.worst == nil || a.worst.suits || a.verdict != inspect.Never {
		return nil
	}
	demand := a.worst.demand
	for i := range a.tries {
		t := &a.tries[i]
		if t.demand != demand || !t.suits || !t.isKnown || !slices.Equal(t.resources, a.worst.resources) {
			continue
		}
		short, ok := a.shortagesWith(t)
		if ok && len(short) > 0 && mostPods(demand, short) > mostPods(demand, best) {
			best = short
		}
	}
	return best
}

// shortages returns what a flavor lacks: of its limits or, if they are enough, of what is free.
func (t *try) shortages() (all []shortage) {
	for _, r := range t.needs {
		now, atAll := r.lacks()
		by := now
		if t.verdict == inspect.Never {
			by = atAll
		}
		if by > 0 {
			all = append(all, shortage{need: r, flavor: t.flavor, by: by})
		}
	}
	return all
}

// lackText says what a flavor lacks for the Pods: suitability, or quota of each resource.
func (t *try) lackText() string {
	short := t.shortages()
	if !t.suits {
		return t.mismatch(short)
	}
	if len(short) <= 1 {
		l := t.lackOf()
		return l.Message()
	}
	requested := each(short, func(h *shortage) string { return h.named(h.requested) })
	if t.verdict == inspect.Never {
		return fmt.Sprintf("needs %s, limits %s (flavor %s)", requested, each(short, func(h *shortage) string { return h.plain(h.most) }), t.flavor)
	}
	return fmt.Sprintf("needs %s, %s free (flavor %s)", requested, each(short, func(h *shortage) string { return h.plain(h.free) }), t.flavor)
}

// waitText says what a request that waits lacks: of the flavor that decides, and of the other groups of
// resources.
func (a *assignment) waitText() string {
	text := a.worst.lackText()
	for i := range a.tries {
		if t := &a.tries[i]; t != a.worst && t.chosen && t.suits && t.verdict == inspect.Waits && t.demand == a.worst.demand {
			text += "; " + t.lackText()
		}
	}
	return text
}

// mismatch says why a flavor does not suit the Pods, and which of its limits they exceed besides.
func (t *try) mismatch(over []shortage) string {
	l := t.lackOf()
	text := l.Message()
	if len(over) == 0 || !t.isKnown {
		return text
	}
	limits := fmt.Sprintf("needs %s, limit %s", over[0].named(over[0].requested), over[0].plain(over[0].most))
	if len(over) > 1 {
		limits = fmt.Sprintf("needs %s, limits %s", each(over, func(h *shortage) string { return h.named(h.requested) }), each(over, func(h *shortage) string { return h.plain(h.most) }))
	}
	switch l.Reason {
	case kueue.ReasonTaint:
		return text + ", and " + limits
	case kueue.ReasonFlavorLabels:
		return text + " (" + limits + ")"
	default:
		return text
	}
}

// named returns an amount with the name of its resource.
func (h *shortage) named(amount capacity.Amount) string { return h.plain(amount) + " " + h.resource }

// plain returns an amount without its resource.
func (h *shortage) plain(amount capacity.Amount) string { return amount.Text(h.resource) }

// each lists a text of each shortage.
func each(all []shortage, text func(*shortage) string) string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = text(&all[i])
	}
	return inspect.And(texts)
}

// shareOf returns the largest part of a request that its flavor lacks.
func shareOf(all []shortage) (most float64) {
	for i := range all {
		most = max(most, float64(all[i].by)/float64(max(1, all[i].requested)))
	}
	return most
}

// mostPods returns with how many Pods a podset would fit within the limits, zero if with none.
func mostPods(a *podSetDemand, short []shortage) int64 {
	if a.count <= 1 || len(short) == 0 {
		return 0
	}
	most := a.count
	for i := range short {
		h, total := &short[i], a.total[short[i].resource]
		each := total / capacity.Amount(a.count)
		if each <= 0 {
			return 0
		}
		before := max(0, h.requested.Minus(total)) // by earlier podsets
		most = min(most, int64(h.most.Minus(before)/each))
	}
	return max(0, most)
}

// setParallelism returns the command with which a submitted Job runs as many Pods at once as fit, ""
// if that is impossible. Kueue keeps the Job in its queue.
func (s *site) setParallelism(a *podSetDemand, short []shortage) string {
	o, n := s.request.origin, mostPods(a, short)
	if o == nil || n == 0 || a.set.MinCount != nil {
		return ""
	}
	return s.patchParallelism(n)
}

// atMost describes the most that a podset may request.
func atMost(a *podSetDemand, short []shortage) string {
	return each(short, func(h *shortage) string { return h.named(h.most) }) + fewerPods(a, short)
}

// fewerPods says with how many Pods a request would fit. If even one Pod is
// too large, it says that the amounts are for all Pods, unless there is only one.
func fewerPods(a *podSetDemand, short []shortage) string {
	n := mostPods(a, short)
	switch isPartial := a.count < int64(a.set.Count); {
	case a.count <= 1 && !isPartial:
		return ""
	case n == 0:
		return " in all"
	case isPartial:
		return fmt.Sprintf(" (%s at most %d, not %d)", delegation.MinParallelism, n, a.count)
	}
	return fmt.Sprintf(" (%s at once, not %d)", inspect.Count(int(n), "Pod"), a.count)
}

// raise adds the change that gives a queue more quota of all resources that are short. It adds none if
// one of them has no quota that could be raised.
func (s *site) raise(short []shortage) {
	text := (*shortage).plain
	if len(short) > 1 {
		text = (*shortage).named
	}
	raises := make([]kueue.Raise, 0, len(short))
	var now, by, notes []string
	isMoreNow := false
	for i := range short {
		h := &short[i]
		fr := capacity.FlavorResource{Flavor: h.flavor, Resource: h.resource}
		quota, ok := s.queue.Quota(fr)
		if !ok {
			return
		}
		wanted := quota.Nominal.Plus(h.by)
		raises = append(raises, kueue.Raise{
			Flavor: h.flavor, Resource: h.resource, By: h.by.Text(h.resource), From: quantityText(h.resource, quota.Nominal), To: quantityText(h.resource, wanted),
		})
		lacksNow, _ := h.lacks()
		now, isMoreNow = append(now, text(h, quota.Nominal.Plus(lacksNow))), isMoreNow || lacksNow > h.by
		by = append(by, h.named(lacksNow))
		if has := s.nodesHave(fr); has > 0 && wanted > has {
			notes = append(notes, fmt.Sprintf("; its nodes have %s in all", text(h, has)))
		}
	}
	fix, isSet := kueue.RaiseQuota(s.Context, s.queue.Queue, raises...)
	switch {
	case isMoreNow && isSet:
		notes = append([]string{fmt.Sprintf(", or to %s to start it before other Jobs end", inspect.And(now))}, notes...)
	case isMoreNow:
		notes = append(notes, fmt.Sprintf("; by %s to start it before other Jobs end", inspect.And(by)))
	}
	s.change(inspect.PlacementChange{Message: fix.Text + strings.Join(notes, ""), Command: fix.Shell(), Share: shareOf(short)})
}
