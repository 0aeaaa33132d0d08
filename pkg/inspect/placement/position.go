package placement

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// few is how many names of a longer list are given.
const few = 3

// rank returns the request's order in the queue: that of its Workload, or as
// if it were submitted now.
func (s *site) rank() kueue.Rank {
	if s.own != nil {
		return s.own.Rank()
	}
	if c := s.ownClaim(); c != nil {
		return c.Rank
	}
	t := s.request.Rank
	if t.At.IsZero() {
		v := s.around.inventory
		t.At = v.ToClusterClock(s.Context, v.Now)
	}
	return t
}

// ownClaim returns the waiting Workload of a submitted request, nil without one. Its name shows that
// it is the request's, even if the management cluster's Workloads were not read.
func (s *site) ownClaim() *kueue.Claim {
	if s.claim == nil && s.request.origin != nil {
		names := s.request.origin.WorkloadNames()
		i := slices.IndexFunc(s.queue.Line, func(c *kueue.Claim) bool {
			return c.Namespace == s.request.Namespace && slices.Contains(names, c.Name)
		})
		s.claim = &kueue.Claim{}
		if i >= 0 {
			s.claim = s.queue.Line[i]
		}
	}
	if s.claim == nil || s.claim.Name == "" {
		return nil
	}
	return s.claim
}

// ahead returns the waiting Workloads that come before the request in its
// queue.
func (s *site) ahead() []*kueue.Claim {
	mine := s.rank()
	return slices.DeleteFunc(slices.Clone(s.queue.Line), func(c *kueue.Claim) bool {
		return c.UID == mine.UID && mine.UID != "" || c.Rank.Compare(mine) >= 0
	})
}

// place fills in the position in the queue, if all waiting Workloads and
// their order are known.
func (s *site) place() {
	if !s.isOrdered() {
		return
	}
	if s.capacity.Gaps[inspect.PartClaims] != nil || s.capacity.Gaps[inspect.PartQueues] != nil {
		return
	}
	if s.own == nil && s.request.hasUnreadClass() && len(s.queue.Line) > 0 {
		return // Its priority decides.
	}
	ahead := s.ahead()
	mine := s.rank().UID
	of := len(s.queue.Line)
	if mine == "" || !slices.ContainsFunc(s.queue.Line, func(c *kueue.Claim) bool { return c.UID == mine }) {
		of++
	}
	position := &inspect.QueuePosition{ClusterQueue: s.queue.Name, Place: len(ahead) + 1, Of: of, Ahead: []string{}, Source: inspect.Computed}
	for _, c := range ahead[:min(few, len(ahead))] {
		position.Ahead = append(position.Ahead, s.nameOf(c))
	}
	s.Position = position
}

// placeByKueue fills in the position that Kueue itself reports, instead of
// the computed one.
func (s *site) placeByKueue() {
	order, before, ok := s.orderByKueue()
	if !ok {
		return
	}
	position := &inspect.QueuePosition{ClusterQueue: s.local.Spec.ClusterQueue, Place: before + 1, Ahead: []string{}, Source: inspect.ByKueue}
	if s.Position != nil {
		position.Of = max(s.Position.Of, position.Place)
	} else if s.queue != nil {
		position.Of = max(int(s.queue.Queue.Status.PendingWorkloads), position.Place)
	}
	for i := range order.First {
		if w := &order.First[i]; w.Before < before {
			position.Ahead = append(position.Ahead, s.nameOf(w.Claim()))
		}
	}
	s.Position = position
}

// orderByKueue returns the order of the queue according to Kueue itself, and how many Workloads come before the
// request; ok is false if it does not report that.
func (s *site) orderByKueue() (order *kueue.Order, before int, ok bool) {
	if s.own == nil || s.local == nil {
		return nil, 0, false
	}
	if order = s.facts.Kueue.Orders[types.NamespacedName{Namespace: s.local.Namespace, Name: s.local.Name}]; order == nil {
		return nil, 0, false
	}
	before, ok = order.Before[s.own.Name]
	return order, before, ok
}

// nameOf returns the name of the object that a Workload was made for, or the
// Workload's own name if it is unknown. A copy on a worker has no owner
// there, but the manager knows it.
func (s *site) nameOf(c *kueue.Claim) string { return c.Namespace + "/" + s.ownerOf(c).name }

func (s *site) ownerOf(c *kueue.Claim) owner {
	of := s.role.owners[c.Namespace+"/"+c.Name]
	switch {
	case c.Owner != "":
		return owner{c.Kind, c.Owner}
	case of.name != "":
		return of
	}
	return owner{"Workload", c.Name}
}

// holders returns the Workloads that hold a flavor's resource in the queue
// and its cohorts: first those of the queue itself, then those that hold
// most. preemptible are those that may be preempted.
func (s *site) holders(fr capacity.FlavorResource, preemptible map[*kueue.Claim]bool) []inspect.Holder {
	var found []inspect.Holder
	for _, n := range s.sharers() {
		claims := n.Claims
		if s.holdsAllWithin(fr) {
			claims = s.claimsWithin(n)
		}
		for _, c := range claims {
			if amount := capacity.HeldBy(c, fr); amount > 0 {
				found = append(found, s.holderOf(c, fr, amount, preemptible[c]))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b inspect.Holder) int {
		return cmp.Or(cmp.Compare(isOther(a, s.queue.Name), isOther(b, s.queue.Name)),
			-cmp.Compare(amountOf(a), amountOf(b)), cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name))
	})
	return found
}

// claimsWithin returns the Workloads that hold quota of a queue, of the one namespace that was read.
func (s *site) claimsWithin(n *capacity.Node) []*kueue.Claim {
	return slices.DeleteFunc(slices.Clone(s.capacity.ClaimsWithin), func(c *kueue.Claim) bool { return c.ClusterQueue != n.Name })
}

// holdsAllWithin reports whether not all Workloads may be read, but those of one namespace hold all that the
// queue and its cohorts use, so that they are all holders.
func (s *site) holdsAllWithin(fr capacity.FlavorResource) bool {
	if s.capacity.Gaps[inspect.PartClaims] == nil || len(s.capacity.ClaimsWithin) == 0 {
		return false
	}
	return !slices.ContainsFunc(s.sharers(), func(n *capacity.Node) bool {
		var held capacity.Amount
		for _, c := range s.claimsWithin(n) {
			held = held.Plus(capacity.HeldBy(c, fr))
		}
		return held != n.Used(fr)
	})
}

func isOther(h inspect.Holder, queue string) int {
	if h.ClusterQueue == queue {
		return 0
	}
	return 1
}

func (s *site) holderOf(c *kueue.Claim, fr capacity.FlavorResource, amount capacity.Amount, preemptible bool) inspect.Holder {
	of := s.ownerOf(c)
	h := inspect.Holder{
		Kind: of.kind, Namespace: c.Namespace, Name: of.name, ClusterQueue: cmp.Or(c.ClusterQueue, s.queue.Name),
		Flavor: fr.Flavor, Resource: fr.Resource, Priority: c.Rank.Priority, Preemptible: preemptible,
		Admitted: !c.AdmittedAt.IsZero(), OriginUnread: []string{}, IsLocal: c.Owner != "",
	}
	if s.hasNoOrigin(c) {
		h.Orphan = len(s.around.unreadManagers) == 0
		h.OriginUnread = append([]string{}, s.around.unreadManagers...)
	}
	if amount > 0 {
		h.Amount = amount.Text(fr.Resource)
	}
	if since := c.Since; !since.IsZero() {
		h.Since = &metav1.Time{Time: since}
	}
	return h
}

// minOrphanAge is the age from which on a Workload may be an orphan: a younger
// one may have been created after the manager was read.
const minOrphanAge = 10 * time.Second

// hasNoOrigin reports whether a Workload came from the same manager as this
// request's, and no manager that was read has a Workload with its name any longer.
func (s *site) hasNoOrigin(c *kueue.Claim) bool {
	if s.around.managed == nil || c.Origin == "" || !s.managerOrigins().Has(c.Origin) {
		return false
	}
	return s.around.inventory.Age(s.Context, c.CreatedAt) > minOrphanAge && !s.around.managed.Has(types.NamespacedName{Namespace: c.Namespace, Name: c.Name})
}

// managerOrigins returns the values of the origin label with which managers that were read mark their
// Workloads on this cluster: that of the request's own copy or, before its submission, those of the
// copies of other Workloads.
func (s *site) managerOrigins() sets.Set[string] {
	if s.own != nil {
		return sets.New(s.own.Labels[delegation.MultiKueueOriginLabel])
	}
	if s.origins == nil {
		s.origins = sets.New[string]()
		for _, c := range s.capacity.Claims {
			if s.around.managed.Has(types.NamespacedName{Namespace: c.Namespace, Name: c.Name}) {
				s.origins.Insert(c.Origin)
			}
		}
	}
	return s.origins
}

// sharers returns the queue and the queues that share quota with it.
func (s *site) sharers() []*capacity.Node { return s.tree.Sharers(s.queue) }

// waits decides that the request waits, and says what is lacking and which
// Workloads hold it.
func (s *site) waits(result *assignment) {
	r, _ := result.worst.shortest()
	fr := capacity.FlavorResource{Flavor: result.worst.flavor, Resource: r.resource}
	text := result.waitText()
	preempted := s.victims(result)
	s.Holders = s.holders(fr, preempted.from)
	if s.HoldersUnread = s.capacity.Gaps[inspect.PartClaims]; s.holdsAllWithin(fr) {
		s.HoldersUnread = nil
	}
	if s.HoldersUnread != nil {
		text += "; holder unknown: " + s.because(s.HoldersUnread)
	}
	var names, preemptible []string
	for _, h := range s.Holders {
		name := h.Namespace + "/" + h.Name
		names = append(names, s.describe(h))
		if h.Preemptible {
			preemptible = append(preemptible, name)
		}
	}
	if len(names) > 0 {
		text += "; " + inspect.Some(names)
	}
	if s.Preempts = preempted.rating.canPreempt(); s.Preempts {
		text += "; could preempt " + inspect.Some(preemptible)
	}
	s.amount(result)
	s.suggest(result)
	s.bound()
	s.decide(inspect.Waits, inspect.QuotaInUse, "%s", text)
}

func (s *site) describe(h inspect.Holder) string {
	text := fmt.Sprintf("%s/%s holds %s (priority %d", h.Namespace, h.Name, h.Amount, h.Priority)
	if h.Since != nil {
		if age, ok := inspect.AgeText(s.around.inventory.Age(s.Context, h.Since.Time)); ok {
			text += ", since " + age
		}
	}
	if h.ClusterQueue != s.queue.Name {
		text += ", in ClusterQueue " + h.ClusterQueue
	}
	return text + ")"
}

// bound fills in when a Job that waits for quota starts at the latest. That
// is known only for the first Job of a StrictFIFO queue without a cohort: it
// waits only for Jobs that are admitted now, and no other Job may pass it. In
// other queues, a later Job may take freed quota first.
func (s *site) bound() {
	if s.capacity.Gaps[inspect.PartClaims] != nil || s.capacity.Gaps[inspect.PartQueues] != nil || len(s.ahead()) > 0 {
		return
	}
	if by, ok := s.queue.LastEnd(); ok {
		s.StartsBy = &metav1.Time{Time: by}
	}
}
