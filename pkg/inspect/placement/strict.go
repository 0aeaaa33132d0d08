package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// isOrdered reports whether priority and age alone order the queue with the request.
func (s *site) isOrdered() bool {
	local := cmp.Or(s.local, &kueue.LocalQueue{})
	return s.queue.IsOrderedWith(local.Namespace, local.Name)
}

// sharesQueue reports whether a waiting Workload is in the LocalQueue of the request.
func (s *site) sharesQueue(c *kueue.Claim) bool {
	return s.local != nil && c.SharesQueue(s.local.Namespace, s.local.Name)
}

// fitsNow ends the judgment of a request that fits. In a StrictFIFO queue, it
// must also be the first.
func (s *site) fitsNow(fitting *assignment, how string) {
	s.place()
	if s.queue.Queue.Spec.QueueingStrategy == kueue.StrictFIFO {
		if s.capacity.Gaps[inspect.PartClaims] != nil {
			s.decide(inspect.Unknown, inspect.BehindInQueue, "it fits, but cannot read who is first in ClusterQueue %s (StrictFIFO): %s",
				s.queue.Name, s.because(s.capacity.Gaps[inspect.PartClaims]))
			return
		}
		if s.blocked() || !s.isOrdered() && s.mayBeBlocked() {
			return
		}
	}
	if err := s.capacity.UnreadLimitRanges(s.request.Namespace); err != nil && s.reportedRequests() == nil {
		// They may add requests, or refuse the Pods.
		s.condition(inspect.ConditionQuota, inspect.NotKnown, "?")
		s.decideByMessage("the LimitRanges of namespace %s are unknown: %s", s.request.Namespace, s.because(err))
		return
	}
	s.amount(fitting)
	s.decide(inspect.Fits, inspect.HasRoom, "%s", strings.TrimSuffix("fits now, "+how, ", "))
}

// blocked decides if a Workload ahead blocks the queue, because the queue is
// StrictFIFO. Kueue tries a Workload first while it preempts others for it.
func (s *site) blocked() bool {
	isPreempting := s.Wait != nil && s.Wait.Reason == kueue.ReasonPreempting
	if s.queue.Queue.Spec.QueueingStrategy != kueue.StrictFIFO || isPreempting {
		return false
	}
	isOrdered := s.isOrdered()
	var blockers []*kueue.Claim
	for _, c := range s.ahead() {
		if wait := c.Waiting(); wait.Blocks() && (isOrdered || s.sharesQueue(c)) {
			blockers = append(blockers, c)
		}
	}
	return len(blockers) > 0 && s.behind(blockers[:min(maxBlockers, len(blockers))]...)
}

// maxBlockers limits the Workloads ahead that are named. A long queue would have as many for each Job.
const maxBlockers = 10

// waitsBehind decides about a request that lacks free quota, if a Workload ahead blocks the queue: more
// quota, or another flavor, does not start it before that Workload.
func (s *site) waitsBehind(result *assignment) bool {
	if !s.blocked() {
		return false
	}
	s.amount(result)
	s.Message += "; " + result.waitText()
	return true
}

// behind decides that Workloads block the queue, the first of them now.
func (s *site) behind(blockers ...*kueue.Claim) bool {
	for _, c := range blockers {
		s.Blockers = append(s.Blockers, s.holderOf(c, capacity.FlavorResource{}, 0, false))
	}
	s.Holders = append(s.Holders, s.Blockers[0])
	c, never := blockers[0], ""
	if wait := c.Waiting(); wait.IsForQuota() && wait.IsPermanentIn(s.queue.Queue) {
		never = ", which can never fit there,"
	}
	s.decide(inspect.Waits, inspect.BehindInQueue, "behind %s (priority %d)%s in ClusterQueue %s (StrictFIFO)", s.nameOf(c), c.Rank.Priority, never, s.queue.Name)
	return true
}

// mayBeBlocked decides in a StrictFIFO queue that Kueue orders by the usage of LocalQueues: by Kueue's own order
// or, without it, that the verdict is unknown if another LocalQueue has a Workload that blocks.
func (s *site) mayBeBlocked() bool {
	order, before, isKnown := s.orderByKueue()
	if isKnown && before == 0 {
		return false
	}
	var others []string
	for _, c := range s.queue.Line {
		wait := c.Waiting()
		if s.sharesQueue(c) || !wait.Blocks() {
			continue
		}
		if isKnown && slices.ContainsFunc(order.First, func(w kueue.PendingWorkload) bool {
			return w.Before < before && w.Namespace == c.Namespace && w.Name == c.Name
		}) {
			return s.behind(c)
		}
		others = append(others, s.nameOf(c))
	}
	if len(others) == 0 {
		return false
	}
	s.decide(inspect.Unknown, inspect.BehindInQueue, "quota is free, but ClusterQueue %s (StrictFIFO) orders Jobs by the past usage of LocalQueues; %s may come first",
		s.queue.Name, inspect.Some(others))
	return true
}
