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

// assignment is what becomes of a request in a ClusterQueue: as good as the best flavor
// of each group of resources, as bad as the worst group and podset.
type assignment struct {
	verdict inspect.Verdict
	tries   []try
	// worst is the try that the verdict rests on, nil where everything fits.
	worst *try
	// uncovered is a resource that no flavor of the queue has, "" if all are covered.
	uncovered    string
	uncoveredAsk capacity.Amount
}

// try is a flavor that was tried for some resources of a podset.
type try struct {
	asked     *asked
	resources []string
	flavor    string
	suitability
	verdict inspect.Verdict
	borrows bool
	// chosen is whether it is the one that Kueue would take, or wait for.
	chosen bool
	rooms  []room
}

// room is what is asked of a resource in a flavor, and what there is.
type room struct {
	resource          string
	asked, free, most capacity.Amount
}

// lacks is how much more would be needed, now and at all.
func (r room) lacks() (now, atAll capacity.Amount) {
	return max(0, r.asked.Minus(r.free)), max(0, r.asked.Minus(r.most))
}

// assigner tries flavors of a queue.
type assigner struct {
	queue *capacity.Node
	// flavor tells whether a flavor suits a podset.
	flavor func(set *kueue.PodTemplate, name string) suitability
	// given is what earlier podsets of the same request were given.
	given map[capacity.FlavorResource]capacity.Amount
	// preempts says whether room for so much can be made by preempting.
	preempts func(fr capacity.FlavorResource, amount capacity.Amount) bool
}

// assign goes through the podsets in their order, each on top of those before it, and
// never comes back to one, as Kueue does.
func (a *assigner) assign(all []asked) assignment {
	a.given = map[capacity.FlavorResource]capacity.Amount{}
	result := assignment{verdict: inspect.Fits}
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
				result.lacks(set, resources[0])
				continue
			}
			chosen := &result.tries[at+best]
			if worse(chosen.verdict, result.verdict) {
				result.verdict = chosen.verdict
			}
		}
		for _, name := range slices.Sorted(maps.Keys(left)) {
			result.lacks(set, name)
		}
	}
	for i := range result.tries {
		if t := &result.tries[i]; t.chosen && t.verdict == result.verdict && result.verdict != inspect.Fits && result.worst == nil {
			result.worst = t
		}
	}
	return result
}

// lacks notes that no flavor has a resource. The first one stays.
func (r *assignment) lacks(set *asked, resource string) {
	if r.uncovered == "" {
		r.verdict, r.uncovered, r.uncoveredAsk = inspect.Never, resource, set.total[resource]
	}
}

// positive are the resources of which something is asked for.
func positive(total map[string]capacity.Amount) map[string]capacity.Amount {
	left := maps.Clone(total)
	maps.DeleteFunc(left, func(_ string, n capacity.Amount) bool { return n <= 0 })
	return left
}

// covered takes from what is left those resources that a group has, sorted. Pods are
// counted only where they are covered.
func covered(g *kueue.ResourceGroup, left map[string]capacity.Amount, set *asked) []string {
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

// tryGroup tries the flavors of a group in their order, and chooses one.
func (a *assigner) tryGroup(g *kueue.ResourceGroup, set *asked, resources []string) []try {
	fungibility := a.queue.Queue.Spec.Fungibility
	stopsAtBorrowing := fungibility.WhenCanBorrow != "TryNextFlavor"
	stopsAtPreempting := fungibility.WhenCanPreempt == "MayStopSearch" || fungibility.WhenCanPreempt == "Preempt"
	var tries []try
	best := -1
	for _, f := range g.Flavors {
		t := a.tryFlavor(f.Name, set, resources)
		tries = append(tries, t)
		at := len(tries) - 1
		if best < 0 || better(&t, &tries[best]) {
			best = at
		}
		isEnough := t.verdict == inspect.Fits && (!t.borrows || stopsAtBorrowing) || t.verdict == inspect.Waits && stopsAtPreempting && a.canPreempt(&t)
		if isEnough {
			best = at
			break
		}
	}
	if best >= 0 {
		tries[best].chosen = true
		for _, r := range tries[best].rooms {
			a.given[capacity.FlavorResource{Flavor: tries[best].flavor, Resource: r.resource}] = r.asked
		}
	}
	return tries
}

// better says whether one flavor is to be preferred to another one that comes before it.
// What may fit stands before what has to wait.
func better(t, than *try) bool {
	order := []inspect.Verdict{inspect.Fits, inspect.Unknown, inspect.Waits, inspect.Never}
	if t.verdict != than.verdict {
		return slices.Index(order, t.verdict) < slices.Index(order, than.verdict)
	}
	return t.verdict == inspect.Fits && !t.borrows && than.borrows
}

func (a *assigner) canPreempt(t *try) bool {
	return !slices.ContainsFunc(t.rooms, func(r room) bool {
		now, _ := r.lacks()
		return now > 0 && !a.preempts(capacity.FlavorResource{Flavor: t.flavor, Resource: r.resource}, now)
	})
}

func (a *assigner) tryFlavor(name string, set *asked, resources []string) try {
	t := try{asked: set, resources: resources, flavor: name, suitability: a.flavor(set.set, name), verdict: inspect.Fits}
	for _, resource := range resources {
		fr := capacity.FlavorResource{Flavor: name, Resource: resource}
		r := room{
			resource: resource, asked: set.total[resource].Plus(a.given[fr]),
			free: a.queue.Free(fr), most: a.queue.Most(fr),
		}
		quota, isListed := a.queue.Quota(fr)
		if !isListed {
			r.free, r.most = 0, 0
		}
		t.rooms = append(t.rooms, r)
		t.borrows = t.borrows || a.queue.Used(fr).Plus(r.asked) > quota.Nominal
		switch {
		case r.asked > r.most:
			t.verdict = inspect.Never
		case r.asked > r.free && t.verdict != inspect.Never:
			t.verdict = inspect.Waits
		}
	}
	switch {
	case !t.isKnown && t.verdict == inspect.Never:
		// Whether it suits does not matter.
		t.suitability = suitability{isKnown: true, suits: true}
	case !t.isKnown:
		t.verdict = inspect.Unknown
	case t.isKnown && !t.suits:
		t.verdict = inspect.Never
	}
	return t
}

// searchLimit is how many ways of placing podsets are looked at.
const searchLimit = 10000

// isPossible says whether there is any way to place all podsets, if nobody else used
// anything. It looks at all ways, since Kueue may take another one on another day; isSure
// is false where there are too many.
func (a *assigner) isPossible(all []asked) (possible, isSure bool) {
	groups := a.queue.Queue.Groups()
	for g := range groups {
		left := searchLimit
		if !a.isPossibleIn(&groups[g], all, map[capacity.FlavorResource]capacity.Amount{}, &left) {
			return left <= 0, left > 0
		}
	}
	return true, true
}

func (a *assigner) isPossibleIn(g *kueue.ResourceGroup, all []asked, given map[capacity.FlavorResource]capacity.Amount, left *int) bool {
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
			fits = fits && isListed && with[fr] <= a.queue.Most(fr)
		}
		if fits && a.isPossibleIn(g, all[1:], with, left) {
			return true
		}
	}
	return false
}

// shortest is the room of a try that lacks most, by what it has at most or, if never is
// not the matter, by what is free.
func (t *try) shortest() (room, bool) {
	short := slices.DeleteFunc(slices.Clone(t.rooms), func(r room) bool {
		now, atAll := r.lacks()
		return now == 0 && atAll == 0
	})
	if len(short) == 0 {
		return room{}, false
	}
	return slices.MinFunc(short, func(x, y room) int {
		_, xAtAll := x.lacks()
		_, yAtAll := y.lacks()
		return cmp.Or(-cmp.Compare(xAtAll, yAtAll), cmp.Compare(x.resource, y.resource))
	}), true
}

// amount fills in the resource that an assignment rests on: the one that is short or, where
// everything fits, the one with the smallest part left, other resources than CPU and memory
// first.
func (s *site) amount(a *assignment) {
	t := a.worst
	if t == nil {
		t = scarcest(a.tries)
	}
	if t == nil || len(t.rooms) == 0 || !t.suits {
		return
	}
	r, isShort := t.shortest()
	if !isShort {
		r = slices.MinFunc(t.rooms, func(x, y room) int {
			return cmp.Or(cmp.Compare(x.weight(), y.weight()), cmp.Compare(x.resource, y.resource))
		})
	}
	s.Resource, s.Flavor = r.resource, t.flavor
	s.Needs, s.Free, s.Limit = r.asked.Text(r.resource), r.free.Text(r.resource), r.most.Text(r.resource)
}

// scarcest is the chosen try with a resource that most clusters have little of, nil if none
// was chosen.
func scarcest(tries []try) *try {
	var found *try
	least := math.Inf(1)
	for i := range tries {
		t := &tries[i]
		if !t.chosen {
			continue
		}
		for _, r := range t.rooms {
			if w := r.weight(); w < least {
				found, least = t, w
			}
		}
	}
	return found
}

// weight orders rooms: the smaller, the more it decides.
func (r room) weight() float64 {
	w := float64(r.free) / float64(max(1, r.asked))
	const common = 1e6
	switch r.resource {
	case string(corev1.ResourceCPU), string(corev1.ResourceMemory), string(corev1.ResourcePods), string(corev1.ResourceEphemeralStorage):
		w += common
	}
	return w
}
