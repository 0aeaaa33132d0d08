package placement

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func labelsOf(n *inspect.Namespace) labels.Set { return n.Labels }

// judgeQuota judges flavors and quota, and then the order in the queue.
func (s *site) judgeQuota() bool {
	if s.request.PodSets == nil {
		return s.decideByMessage("the requests of its Pods are unknown")
	}
	request, ways := s.request.withOverhead(s.Context).remaining(s.template()), s.facts.Kueue.CountingRules()
	all := request.demands(s.capacity, s.reportedRequests(), ways[0])
	if o := s.refusedByLimits(all, ways); o != nil {
		return s.refuseByLimits(o)
	}
	a := &assigner{queue: s.queue, flavor: s.flavor, preempts: s.rate}
	result, all, fewer := s.assign(a, all)
	s.versions = s.dependsOnVersion(a, request, ways, result.verdict)
	if unread := s.unread(result.verdict); unread != "" && !s.isConfirmed(result.verdict) {
		s.condition(inspect.ConditionQuota, inspect.NotKnown, "?")
		return s.decideByMessage("%s", unread)
	}
	s.Partial = result.partial()
	s.show(&result)
	s.place()
	if s.isContradicted(result.verdict, &result) {
		return false
	}
	switch result.verdict {
	case inspect.Fits:
		s.fitsNow(&result, fewer)
	case inspect.Waits:
		if s.isMisordered(a, &result, all) {
			s.decideByMessage(otherOrder)
			return false
		}
		if !s.waitsBehind(&result) {
			s.waits(&result)
		}
	case inspect.Never:
		s.never(a, &result, all)
	default:
		s.decideByMessage("%s", unknownFlavor(&result))
		if s.Verdict == inspect.Unknown {
			s.blocked()
		}
	}
	return false
}

// dependsOnVersion returns why a verdict may be another one in some version of Kueue, "" if it is not.
func (s *site) dependsOnVersion(a *assigner, request *Request, ways []kueue.CountingRules, verdict inspect.Verdict) string {
	for _, other := range ways[1:] {
		if by, _, _ := s.assign(a, request.demands(s.capacity, s.reportedRequests(), other)); by.verdict != verdict {
			return "the LimitRange of its namespace counts before or after its limits, depending on the version of Kueue, which is unknown"
		}
	}
	if !s.facts.Kueue.ServesOld || !s.queue.Queue.Spec.Fungibility.PrefersPreemption() {
		return ""
	}
	old := *a
	old.isOld = true
	if by, _, _ := s.assign(&old, request.demands(s.capacity, s.reportedRequests(), ways[0])); by.verdict != verdict {
		return "some versions of Kueue prefer a flavor in which the Job only waits (PreemptionOverBorrowing), and the version is unknown"
	}
	return ""
}

// assign tries the whole size. If that neither fits nor could preempt, it tries the largest smaller size
// that does and, without one, the smallest size that may start, which is all that Kueue waits for. fewer
// describes a smaller size that fits.
func (s *site) assign(a *assigner, whole []podSetDemand) (result assignment, all []podSetDemand, fewer string) {
	result = a.assign(whole)
	total := dispensable(whole)
	if total == 0 || s.isSettled(&result) {
		return result, whole, ""
	}
	left := sort.Search(int(total)+1, func(left int) bool {
		smaller := a.assign(without(whole, int64(left), total))
		return s.isSettled(&smaller)
	})
	some := without(whole, min(int64(left), total), total)
	smaller := a.assign(some)
	switch {
	case smaller.verdict == inspect.Fits:
		return smaller, some, "with fewer Pods than requested: " + countsOf(some)
	case worse(result.verdict, smaller.verdict), smaller.verdict == inspect.Never, smaller.verdict == inspect.Waits:
		return smaller, some, ""
	}
	return result, some, ""
}

// template returns the Workload of the request on the cluster with its Pod templates, nil if it has none or
// they were not read.
func (s *site) template() *kueue.PodTemplates {
	if s.own == nil {
		return nil
	}
	return s.capacity.Templates[s.own.UID]
}

// reportedRequests returns what the Pods request according to Kueue on the cluster.
func (s *site) reportedRequests() []kueue.PodSetRequests {
	if t := s.template(); t != nil {
		return t.Status.ResourceRequests
	}
	return nil
}

// unread returns what is unknown about the quota that a verdict depends on,
// "" if nothing is: cohorts, usage, and how devices are counted.
func (s *site) unread(v inspect.Verdict) string {
	if err := s.capacity.Gaps[inspect.PartCohorts]; err != nil && s.queue.Parent != nil {
		return fmt.Sprintf("ClusterQueue %s borrows from cohort %s: %s", s.queue.Name, s.queue.Parent.Name, s.because(err))
	}
	if named := s.namedUnread(v); named != "" {
		return named
	}
	if s.versions != "" {
		return s.versions
	}
	if v != inspect.Never && s.reportedRequests() == nil && s.request.asksForDevices() {
		return "it requests devices by ResourceClaims; how Kueue counts them is unknown"
	}
	err := s.capacity.Gaps[inspect.PartClaims]
	if err == nil || v == inspect.Never {
		return ""
	}
	for _, n := range s.sharers() {
		if len(n.Queue.Status.FlavorsReservation) == 0 && len(n.Resources()) > 0 {
			return fmt.Sprintf("the usage of ClusterQueue %s is unknown: %s", n.Name, s.because(err))
		}
	}
	return ""
}

// show fills in the flavors that were tried, and the conditions of flavor,
// quota and checks.
func (s *site) show(a *assignment) {
	s.Flavors = s.Flavors[:0]
	var flavors, quotas []string
	state := inspect.Yes
	for i := range a.tries {
		t := &a.tries[i]
		tried := inspect.FlavorTried{PodSet: t.demand.set.Name, Flavor: t.flavor, Verdict: t.verdict, Message: t.message(), Resources: []inspect.ResourceRoom{}}
		for _, r := range t.needs {
			tried.Resources = append(tried.Resources, r.room())
		}
		s.Flavors = append(s.Flavors, tried)
		if !t.chosen {
			continue
		}
		if !slices.Contains(flavors, t.flavor) {
			flavors = append(flavors, t.flavor)
		}
		if !t.suits {
			continue
		}
		if r, isShort := t.shortest(); isShort {
			state = inspect.No
			quotas = append(quotas, r.text())
		}
	}
	s.showFlavors(a, flavors)
	switch {
	case len(a.uncovered) > 0:
		s.condition(inspect.ConditionQuota, inspect.No, "no %s", inspect.And(a.uncoveredNames()))
	case len(quotas) > 0:
		s.condition(inspect.ConditionQuota, state, "%s", strings.Join(quotas, ", "))
	case a.verdict == inspect.Fits:
		s.condition(inspect.ConditionQuota, inspect.Yes, "%s", a.enough())
	}
	s.showChecks()
}

func (s *site) showFlavors(a *assignment, flavors []string) {
	total := map[string]bool{}
	for _, g := range s.queue.Queue.Groups() {
		for _, f := range g.Flavors {
			total[f.Name] = true
		}
	}
	state := inspect.Yes
	for i := range a.tries {
		if t := &a.tries[i]; t.chosen && !t.suits {
			state = inspect.No
			if !t.isKnown {
				state = inspect.NotKnown
			}
		}
	}
	text := strings.Join(flavors, ", ")
	switch {
	case state == inspect.NotKnown:
		text = "?"
	case state == inspect.No:
		text = fmt.Sprintf("none (of %d)", len(total))
	case len(total) > len(flavors) && len(flavors) > 0:
		text += fmt.Sprintf(" (of %d)", len(total))
	case text == "":
		text = "none needed"
	}
	s.condition(inspect.ConditionFlavor, state, "%s", text)
}

// showChecks fills in the checks that follow the quota.
func (s *site) showChecks() {
	var names []string
	for _, name := range s.queue.Queue.Checks() {
		if c := s.facts.Kueue.CheckNamed(name); c == nil || !c.IsMultiKueue() {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		s.condition(inspect.ConditionChecks, inspect.NotAsked, "-")
		return
	}
	s.condition(inspect.ConditionChecks, inspect.NotKnown, "%s", strings.Join(names, ", "))
}

// text describes what is requested and what is available, such as "needs 8
// cpu, free 3".
func (r need) text() string {
	if _, atAll := r.lacks(); atAll > 0 {
		return fmt.Sprintf("needs %s %s, limit %s", r.requested.Text(r.resource), r.resource, r.most.Text(r.resource))
	}
	return fmt.Sprintf("needs %s %s, free %s", r.requested.Text(r.resource), r.resource, r.free.Text(r.resource))
}

// enough describes what is requested and free, if everything fits.
func (a *assignment) enough() string {
	var words []string
	for i := range a.tries {
		if t := &a.tries[i]; t.chosen {
			for _, r := range t.needs {
				words = append(words, r.text())
			}
		}
	}
	if len(words) == 0 {
		return "nothing asked"
	}
	const few = 2
	if len(words) > few {
		words = append(words[:few], "…")
	}
	return strings.Join(words, ", ")
}

func (t *try) message() string {
	if !t.suits && t.isKnown {
		l := t.lackOf()
		return l.Message()
	}
	if !t.suits {
		// Only the first part belongs here. The rest is reported once.
		short, _, _ := strings.Cut(t.why, ": ")
		return short
	}
	if r, isShort := t.shortest(); isShort {
		return r.text()
	}
	return "free"
}

func unknownFlavor(a *assignment) string {
	for i := range a.tries {
		if t := &a.tries[i]; !t.isKnown {
			return fmt.Sprintf("flavor %s %s", t.flavor, t.why)
		}
	}
	return "the flavor that it would get is unknown"
}

func countsOf(all []podSetDemand) string {
	var words []string
	for _, a := range all {
		if len(all) == 1 {
			return fmt.Sprintf("%d", a.count)
		}
		words = append(words, fmt.Sprintf("%d of %s", a.count, a.set.Name))
	}
	return strings.Join(words, ", ")
}

const otherOrder = "fits only if its pod sets are placed in another order, which Kueue does not try"

// never decides that the request can never run, if that is so however its
// Pods are placed.
func (s *site) never(a *assigner, result *assignment, all []podSetDemand) {
	if len(result.uncovered) > 0 && (s.isSurelyUncovered(result) || result.worst == nil) {
		s.lackQuota(a, result, all)
		return
	}
	if possible, isSure := a.isPossible(all); possible || !isSure {
		s.decideByMessage(otherOrder)
		return
	}
	s.amount(result)
	s.suggest(result)
	s.coverNext(result)
	s.decide(inspect.Never, reasonOf(result), "%s", neverText(result, s.queue))
}

// reasonOf returns whether the size of a request or its flavors make it
// impossible.
func reasonOf(result *assignment) inspect.PlacementReason {
	if result.worst != nil && result.worst.suits {
		return inspect.OverLimit
	}
	return inspect.FlavorMismatch
}
