package placement

import (
	"cmp"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// assignment is the result of a request in a ClusterQueue: as good as the
// best flavor of each group of resources, as bad as the worst group and
// podset.
type assignment struct {
	verdict inspect.Verdict
	sets    []podSetDemand
	tries   []try
	// worst is the try that decides the verdict, nil if everything fits.
	worst *try
	// uncovered are the requested resources that no flavor of the queue has.
	uncovered []need
}

// try is a flavor that was tried for some resources of a podset.
type try struct {
	demand    *podSetDemand
	resources []string
	flavor    string
	suitability
	verdict inspect.Verdict
	rating  rating
	// chosen is whether Kueue would take this flavor, or wait for it.
	chosen bool
	needs  []need
}

// need is the amount of a resource requested in a flavor, and the amounts
// free now and available at most.
type need struct {
	resource              string
	requested, free, most capacity.Amount
	// excess is how much more is used than the quota, and has to be released first.
	excess capacity.Amount
}

// room compares the request with the free and the total quota.
func (r need) room() inspect.ResourceRoom {
	return inspect.ResourceRoom{Resource: r.resource, Asked: r.requested.Text(r.resource), Free: r.free.Text(r.resource), Most: r.most.Text(r.resource)}
}

// lacks returns how much is missing, now and even if nothing else used quota.
func (r need) lacks() (now, atAll capacity.Amount) {
	return max(0, r.requested.Minus(r.free).Plus(r.excess)), max(0, r.requested.Minus(r.most))
}

// assigner tries flavors of a queue.
type assigner struct {
	queue *capacity.Node
	// flavor reports whether a flavor suits a podset.
	flavor func(set *kueue.PodTemplate, name string) suitability
	// given has what earlier podsets of the same request were given.
	given map[capacity.FlavorResource]capacity.Amount
	// preempts rates a flavor that does not have enough of a resource now.
	preempts func(fr capacity.FlavorResource, requested capacity.Amount) rating
	// isOld is whether to rank flavors like Kueue without the fix of its issue 13607.
	isOld bool
}

// assign assigns flavors to the podsets in order, each in addition to those
// before it, without backtracking, as Kueue does.
func (a *assigner) assign(all []podSetDemand) assignment {
	a.given = map[capacity.FlavorResource]capacity.Amount{}
	result := assignment{verdict: inspect.Fits, sets: all}
	groups := a.queue.Queue.Groups()
	for i := range all {
		set := &all[i]
		left := positive(set.total)
		for g := range groups {
			resources := covered(&groups[g], left, set)
			if len(resources) == 0 {
				continue
			}
			tries := a.tryGroup(&groups[g], set, resources)
			at := len(result.tries)
			result.tries = append(result.tries, tries...)
			best := slices.IndexFunc(tries, func(t try) bool { return t.chosen })
			if best < 0 {
				// The group has no flavors.
				result.lacks(set, resources...)
				continue
			}
			chosen := &result.tries[at+best]
			if worse(chosen.verdict, result.verdict) {
				result.verdict = chosen.verdict
			}
		}
		result.lacks(set, slices.Sorted(maps.Keys(left))...)
	}
	for i := range result.tries {
		t := &result.tries[i]
		if !t.chosen || t.verdict != result.verdict || result.verdict == inspect.Fits {
			continue
		}
		if result.worst == nil || t.addsTo(result.worst) {
			result.worst = t
		}
	}
	return result
}

// partial returns with how few Pods the assigned request may start, nil if it is for all Pods.
func (a *assignment) partial() *inspect.PartialStart {
	p := &inspect.PartialStart{}
	for i := range a.sets {
		p.Pods, p.Of = p.Pods+a.sets[i].count, p.Of+int64(a.sets[i].set.Count)
	}
	if p.Pods == p.Of {
		return nil
	}
	return p
}

// addsTo reports whether a try lacks the same quota as the try of an earlier
// podset. It then shows how much the whole request lacks.
func (t *try) addsTo(earlier *try) bool {
	if !t.suits || !earlier.suits || t.flavor != earlier.flavor {
		return false
	}
	mine, isShort := t.shortest()
	other, _ := earlier.shortest()
	return isShort && mine.resource == other.resource
}

// lacks records that no flavor has some resources.
func (a *assignment) lacks(set *podSetDemand, resources ...string) {
	for _, name := range resources {
		i := slices.IndexFunc(a.uncovered, func(n need) bool { return n.resource == name })
		if i < 0 {
			i, a.uncovered = len(a.uncovered), append(a.uncovered, need{resource: name})
		}
		a.verdict, a.uncovered[i].requested = inspect.Never, a.uncovered[i].requested.Plus(set.total[name])
	}
}

// positive returns the resources with a positive amount.
func positive(total map[string]capacity.Amount) map[string]capacity.Amount {
	left := maps.Clone(total)
	maps.DeleteFunc(left, func(_ string, n capacity.Amount) bool { return n <= 0 })
	return left
}

// covered removes from left the resources that a group has, and returns them
// sorted. Pods count only if the group covers them.
func covered(g *kueue.ResourceGroup, left map[string]capacity.Amount, set *podSetDemand) []string {
	var names []string
	for _, name := range g.CoveredResources {
		if name == "pods" && set.count > 0 {
			set.total["pods"] = capacity.Amount(set.count)
			names = append(names, name)
		} else if _, ok := left[name]; ok {
			names = append(names, name)
		}
		delete(left, name)
	}
	slices.Sort(names)
	return names
}

func worse(a, b inspect.Verdict) bool { return rank(a) > rank(b) }

func rank(v inspect.Verdict) int { return slices.Index(inspect.Verdicts(), v) }

// tryGroup tries the flavors of a group in order, and chooses one.
func (a *assigner) tryGroup(g *kueue.ResourceGroup, set *podSetDemand, resources []string) []try {
	var tries []try
	best := -1
	for _, f := range g.Flavors {
		t := a.tryFlavor(f.Name, set, resources)
		tries = append(tries, t)
		at := len(tries) - 1
		if best < 0 || a.better(&t, &tries[best]) {
			best = at
		}
		if a.ends(&t) {
			best = at
			break
		}
	}
	if best >= 0 {
		tries[best].chosen = true
		for _, r := range tries[best].needs {
			a.given[capacity.FlavorResource{Flavor: tries[best].flavor, Resource: r.resource}] = r.requested
		}
	}
	return tries
}

func (a *assigner) tryFlavor(name string, set *podSetDemand, resources []string) try {
	t := try{demand: set, resources: resources, flavor: name, suitability: a.flavor(set.set, name), verdict: inspect.Fits}
	for _, resource := range resources {
		fr := capacity.FlavorResource{Flavor: name, Resource: resource}
		r := need{
			resource: resource, requested: set.total[resource].Plus(a.given[fr]),
			free: a.queue.Free(fr), excess: a.queue.Excess(fr), most: a.queue.Maximum(fr),
		}
		if _, isListed := a.queue.Quota(fr); !isListed {
			r.free, r.excess, r.most = 0, 0, 0
		}
		t.needs = append(t.needs, r)
		switch {
		case r.requested > r.most:
			t.verdict = inspect.Never
		case r.requested > r.free && t.verdict != inspect.Never:
			t.verdict = inspect.Waits
		}
	}
	if t.suits || !t.isKnown {
		t.rating = a.rate(&t)
	}
	switch {
	case !t.isKnown && t.verdict == inspect.Never:
		// Too large for the flavor: whether it suits does not matter.
		t.suitability = suitability{isKnown: true, suits: true}
	case !t.isKnown:
		t.verdict = inspect.Unknown
	case t.isKnown && !t.suits:
		t.verdict = inspect.Never
	}
	return t
}

// searchLimit is how many ways of placing podsets are tried.
const searchLimit = 10000

// isPossible reports whether there is any way to place all podsets if nothing
// else used quota. It tries all ways, because Kueue may choose another one at
// another time. isSure is false if there are too many.
func (a *assigner) isPossible(all []podSetDemand) (possible, isSure bool) {
	groups := a.queue.Queue.Groups()
	for g := range groups {
		left := searchLimit
		if !a.isPossibleIn(&groups[g], all, map[capacity.FlavorResource]capacity.Amount{}, &left) {
			return left <= 0, left > 0
		}
	}
	return true, true
}

func (a *assigner) isPossibleIn(g *kueue.ResourceGroup, all []podSetDemand, given map[capacity.FlavorResource]capacity.Amount, left *int) bool {
	*left--
	if *left <= 0 {
		return false
	}
	if len(all) == 0 {
		return true
	}
	set := &all[0]
	resources := covered(g, positive(set.total), set)
	if len(resources) == 0 {
		return a.isPossibleIn(g, all[1:], given, left)
	}
	for _, f := range g.Flavors {
		if s := a.flavor(set.set, f.Name); s.isKnown && !s.suits {
			continue
		}
		with := maps.Clone(given)
		fits := true
		for _, resource := range resources {
			fr := capacity.FlavorResource{Flavor: f.Name, Resource: resource}
			with[fr] = with[fr].Plus(set.total[resource])
			_, isListed := a.queue.Quota(fr)
			fits = fits && isListed && with[fr] <= a.queue.Maximum(fr)
		}
		if fits && a.isPossibleIn(g, all[1:], with, left) {
			return true
		}
	}
	return false
}

// shortest returns the need of a try that lacks most, by its limit or, if the
// limit is enough, by what is free. It returns false if nothing is lacking.
func (t *try) shortest() (need, bool) {
	short := slices.DeleteFunc(slices.Clone(t.needs), func(r need) bool {
		now, atAll := r.lacks()
		return now == 0 && atAll == 0
	})
	if len(short) == 0 {
		return need{}, false
	}
	return slices.MinFunc(short, func(x, y need) int {
		_, xAtAll := x.lacks()
		_, yAtAll := y.lacks()
		return cmp.Or(-cmp.Compare(xAtAll, yAtAll), cmp.Compare(x.resource, y.resource))
	}), true
}

// amount fills in the resource that decides an assignment: the one that is
// short or, if everything fits, the one with the smallest part left. Other
// resources come before CPU and memory.
func (s *site) amount(a *assignment) {
	t := a.worst
	if t == nil {
		t = scarcest(a.tries)
	}
	if t == nil || len(t.needs) == 0 || !t.suits {
		return
	}
	r, isShort := t.shortest()
	if !isShort {
		r = slices.MinFunc(t.needs, func(x, y need) int {
			return cmp.Or(cmp.Compare(x.weight(), y.weight()), cmp.Compare(x.resource, y.resource))
		})
	}
	s.Short, s.IsBorrowing = nil, false
	for _, h := range a.shortages() {
		s.Short = append(s.Short, h.room())
		quota, isListed := s.queue.Quota(capacity.FlavorResource{Flavor: h.flavor, Resource: h.resource})
		s.IsBorrowing = s.IsBorrowing || isListed && h.most > quota.Nominal
	}
	s.Resource, s.Flavor = r.resource, t.flavor
	s.Needs, s.Free, s.Limit = r.requested.Text(r.resource), r.free.Text(r.resource), r.most.Text(r.resource)
}

// scarcest returns the chosen try with the resource that decides, by weight,
// nil if none was chosen.
func scarcest(tries []try) *try {
	var found *try
	least := math.Inf(1)
	for i := range tries {
		t := &tries[i]
		if !t.chosen {
			continue
		}
		for _, r := range t.needs {
			if w := r.weight(); w < least {
				found, least = t, w
			}
		}
	}
	return found
}

// weight orders needs: the one with the smallest weight decides. Resources
// that all Pods use come last.
func (r need) weight() float64 {
	w := float64(r.free) / float64(max(1, r.requested))
	const common = 1e6
	switch r.resource {
	case string(corev1.ResourceCPU), string(corev1.ResourceMemory), string(corev1.ResourcePods), string(corev1.ResourceEphemeralStorage):
		w += common
	}
	return w
}
