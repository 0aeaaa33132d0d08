package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// few is how many are named of those that there may be more of.
const few = 3

// turn is when it would be its turn there: that of its Workload, or as if it came now.
func (s *site) turn() kueue.Turn {
	if s.own != nil {
		return s.own.Turn()
	}
	t := s.request.Turn
	if t.At.IsZero() {
		t.At = s.now
	}
	return t
}

// ahead are those that come before it in its queue.
func (s *site) ahead() []*kueue.Claim {
	mine := s.turn()
	return slices.DeleteFunc(slices.Clone(s.queue.Pending), func(c *kueue.Claim) bool {
		return c.UID == mine.UID && mine.UID != "" || c.Turn.Compare(mine) >= 0
	})
}

// place fills in its place in the queue, where all that wait are known.
func (s *site) place() {
	if s.room.Gaps[inspect.PartClaims] != nil || s.room.Gaps[inspect.PartQueues] != nil {
		return
	}
	ahead := s.ahead()
	mine := s.turn().UID
	of := len(s.queue.Pending)
	if mine == "" || !slices.ContainsFunc(s.queue.Pending, func(c *kueue.Claim) bool { return c.UID == mine }) {
		of++
	}
	position := &inspect.QueuePosition{ClusterQueue: s.queue.Name, Place: len(ahead) + 1, Of: of, Ahead: []string{}, Source: inspect.Computed}
	for _, c := range ahead[:min(few, len(ahead))] {
		position.Ahead = append(position.Ahead, s.nameOf(c))
	}
	s.Position = position
}

// placeByKueue is its place as Kueue itself tells it, in place of what was computed.
func (s *site) placeByKueue() {
	if s.own == nil || s.local == nil {
		return
	}
	order := s.facts.Kueue.Orders[types.NamespacedName{Namespace: s.local.Namespace, Name: s.local.Name}]
	if order == nil {
		return
	}
	before, ok := order.Before[s.own.Name]
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

// nameOf is what a Workload was made for, or else its own name. What waits on a worker has
// nothing there that it was made for; its manager knows.
func (s *site) nameOf(c *kueue.Claim) string { return c.Namespace + "/" + s.ownerOf(c) }

func (s *site) ownerOf(c *kueue.Claim) string {
	return cmp.Or(c.Owner, s.request.Owners[c.Namespace+"/"+c.Name], c.Name)
}

// inTurn ends the judgment of what has room: in a queue where nobody passes the first
// one, it has to be the first.
func (s *site) inTurn(fitting *assignment, how string) {
	s.place()
	if s.queue.Queue.Spec.QueueingStrategy == kueue.StrictFIFO {
		if s.room.Gaps[inspect.PartClaims] != nil {
			s.decide(inspect.Unknown, inspect.BehindInQueue, "it fits, but cannot read who is first in ClusterQueue %s (StrictFIFO): %s",
				s.queue.Name, s.because(s.room.Gaps[inspect.PartClaims]))
			return
		}
		if s.blocked() {
			return
		}
	}
	s.amount(fitting)
	s.decide(inspect.Fits, inspect.HasRoom, "%s", strings.TrimSuffix("fits now, "+how, ", "))
}

// blocked decides where the queue lets nobody pass, and another one comes before.
func (s *site) blocked() bool {
	if s.queue.Queue.Spec.QueueingStrategy != kueue.StrictFIFO {
		return false
	}
	for _, c := range s.ahead() {
		if blocks(c) {
			s.Holders = append(s.Holders, s.holderOf(c, capacity.FlavorResource{}, 0, false))
			s.decide(inspect.Waits, inspect.BehindInQueue, "behind %s (priority %d) in ClusterQueue %s (StrictFIFO)", s.nameOf(c), c.Turn.Priority, s.queue.Name)
			return true
		}
	}
	return false
}

// blocks returns whether a waiting Workload blocks a StrictFIFO queue: it waits for quota,
// or for its evaluation, or its requests break a LimitRange: Kueue tries that one again
// without end, too (seen with 0.19.2).
func blocks(c *kueue.Claim) bool {
	wait := c.Waiting()
	return wait.Reason == kueue.ReasonNotEvaluated || wait.Reason == kueue.ReasonMisconfigured || wait.IsForQuota()
}

// holders are those that hold a flavor's resource in the queue and its cohorts, those of
// the queue itself first, then those with most.
func (s *site) holders(fr capacity.FlavorResource) []inspect.Holder {
	var found []inspect.Holder
	for _, n := range s.sharers() {
		for _, c := range n.Claims {
			if amount := capacity.HeldBy(c, fr); amount > 0 {
				found = append(found, s.holderOf(c, fr, amount, s.mayPreempt(n, c, fr)))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b inspect.Holder) int {
		return cmp.Or(cmp.Compare(isOther(a, s.queue.Name), isOther(b, s.queue.Name)),
			-cmp.Compare(amountOf(a), amountOf(b)), cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name))
	})
	return found
}

func isOther(h inspect.Holder, queue string) int {
	if h.ClusterQueue == queue {
		return 0
	}
	return 1
}

func (s *site) holderOf(c *kueue.Claim, fr capacity.FlavorResource, amount capacity.Amount, preemptible bool) inspect.Holder {
	h := inspect.Holder{
		Kind: cmp.Or(c.Kind, "Workload"), Namespace: c.Namespace, Name: s.ownerOf(c), ClusterQueue: cmp.Or(c.ClusterQueue, s.queue.Name),
		Flavor: fr.Flavor, Resource: fr.Resource, Priority: c.Turn.Priority, Preemptible: preemptible,
	}
	h.Orphan = s.isOrphan(c)
	if amount > 0 {
		h.Amount = amount.Text(fr.Resource)
	}
	if since := c.Since; !since.IsZero() {
		h.Since = &metav1.Time{Time: since}
	}
	return h
}

// isOrphan says whether a Workload came from the same manager as this request's, and that has
// none of its name any more. Where not all of the manager's were read, none is an orphan.
func (s *site) isOrphan(c *kueue.Claim) bool {
	if !s.request.ownersKnown || c.Origin == "" || s.own == nil || s.own.Labels[delegation.MultiKueueOriginLabel] != c.Origin {
		return false
	}
	_, isKnown := s.request.Owners[c.Namespace+"/"+c.Name]
	return !isKnown
}

// sharers are the queue, and those that share quota with it.
func (s *site) sharers() []*capacity.Node {
	path, isLoop := s.queue.Path()
	if len(path) == 0 || isLoop {
		return []*capacity.Node{s.queue}
	}
	root := path[len(path)-1]
	var found []*capacity.Node
	for _, n := range s.tree.Queues() {
		if above, _ := n.Path(); slices.Contains(above, root) {
			found = append(found, n)
		}
	}
	return found
}

// mayPreempt says whether the queue's policy lets a Workload be preempted for this one
// (kueue: pkg/scheduler/preemption; docs/reference/scheduling.md#preemption).
func (s *site) mayPreempt(n *capacity.Node, c *kueue.Claim, fr capacity.FlavorResource) bool {
	mine, policy := s.turn(), s.queue.Queue.Spec.Preemption
	isLower := c.Turn.Priority < mine.Priority
	if n == s.queue {
		isNewer := c.Turn.Priority == mine.Priority && c.Turn.At.After(mine.At)
		return policy.WithinClusterQueue == kueue.LowerPriority && isLower ||
			policy.WithinClusterQueue == kueue.LowerOrNewer && (isLower || isNewer)
	}
	if n.Borrowed(fr) == 0 || kueue.IsStopped(n.Queue.Spec.StopPolicy) {
		return false
	}
	return policy.ReclaimWithinCohort == kueue.AnyPriority || policy.ReclaimWithinCohort == kueue.LowerPriority && isLower
}

// preempts says whether those that may be preempted hold enough.
func (s *site) preempts(fr capacity.FlavorResource, amount capacity.Amount) bool {
	var total capacity.Amount
	for _, h := range s.holders(fr) {
		if h.Preemptible {
			total = total.Plus(amountOf(h))
		}
	}
	return total >= amount
}

func (s *site) couldPreempt(a *assigner, result *assignment) bool {
	return result.verdict == inspect.Waits && result.worst != nil && a.canPreempt(result.worst)
}

// waits says what is lacking, and who holds it.
func (s *site) waits(result *assignment) {
	r, _ := result.worst.shortest()
	fr := capacity.FlavorResource{Flavor: result.worst.flavor, Resource: r.resource}
	lacks, _ := r.lacks()
	l := result.worst.lackOf()
	text := l.Message()
	s.Holders = s.holders(fr)
	if err := s.room.Gaps[inspect.PartClaims]; err != nil {
		text += "; cannot tell who holds it: " + s.because(err)
	}
	var names, victims []string
	for _, h := range s.Holders {
		name := h.Namespace + "/" + h.Name
		names = append(names, s.describe(h))
		if h.Preemptible {
			victims = append(victims, name)
		}
	}
	if len(names) > 0 {
		text += "; " + inspect.Some(names)
	}
	if s.preempts(fr, lacks) {
		text += "; could preempt " + inspect.Some(victims)
	}
	s.amount(result)
	s.suggest(result)
	s.bound()
	s.decide(inspect.Waits, inspect.QuotaInUse, "%s", text)
}

func (s *site) describe(h inspect.Holder) string {
	text := fmt.Sprintf("%s/%s holds %s (priority %d", h.Namespace, h.Name, h.Amount, h.Priority)
	if h.Since != nil {
		text += ", since " + duration.HumanDuration(s.now.Sub(h.Since.Time))
	}
	if h.ClusterQueue != s.queue.Name {
		text += ", in ClusterQueue " + h.ClusterQueue
	}
	return text + ")"
}
