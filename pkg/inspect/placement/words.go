package placement

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// quote keeps what Kueue on the cluster reports about the Workload.
func (s *site) quote() {
	if s.own == nil {
		return
	}
	if c := s.own.Condition(kueue.QuotaReserved); c != nil && c.Status == metav1.ConditionFalse {
		s.Said = strings.TrimPrefix(c.Reason+": "+c.Message, ": ")
		s.SaidAt = c.LastTransitionTime.DeepCopy()
		wait := s.own.Waiting()
		s.Wait = &wait
	}
}

// isJudged reports whether Kueue on the cluster says why the Workload waits,
// and does not only have it in the queue, perhaps again.
func (s *site) isJudged() bool {
	if s.Wait == nil {
		return false
	}
	switch s.Wait.Reason {
	case kueue.ReasonNotEvaluated, kueue.ReasonPreempted, kueue.ReasonEvicted:
		return false
	default:
		return true
	}
}

// decideByMessage decides by what Kueue says if the verdict cannot be computed, and says why not.
func (s *site) decideByMessage(format string, arguments ...any) bool {
	why := fmt.Sprintf(format, arguments...)
	if s.Wait == nil {
		return s.decide(inspect.Unknown, inspect.Unreadable, "%s", why)
	}
	verdict := s.verdictOf(s.Wait)
	if verdict == inspect.Unknown {
		return s.decide(inspect.Unknown, inspect.SaidByKueue, "%s; Kueue says: %s", why, s.Wait.Text())
	}
	if s.Condition(inspect.ConditionQuota).State == inspect.NotAsked {
		s.condition(inspect.ConditionQuota, inspect.No, "see verdict")
	}
	if s.Wait.IsEviction() {
		s.fix(*s.Wait, nil)
	}
	return s.decide(verdict, inspect.SaidByKueue, "Kueue says: %s", s.Wait.Text())
}

// isFlexible reports whether the request may start with fewer Pods. It is
// true if that is unknown.
func (s *site) isFlexible() bool {
	return s.request.PodSets == nil || slices.ContainsFunc(s.request.PodSets, func(p kueue.PodTemplate) bool { return p.MinCount != nil })
}

// verdictOf returns the verdict that a wait comes to. Kueue's message is about all Pods, so
// it proves nothing about a request that may start with fewer.
func (s *site) verdictOf(w *kueue.Wait) inspect.Verdict {
	switch {
	case w.IsTransient():
		return inspect.Waits
	case w.IsForQuota() && s.isFlexible():
		return inspect.Unknown
	case w.IsPermanent():
		return inspect.Never
	}
	return inspect.Unknown
}

// flavorByMessage judges a flavor by what Kueue says about it. why says why it is otherwise unknown
// whether it suits.
func (s *site) flavorByMessage(name, why string) suitability {
	if s.Wait != nil {
		for _, l := range s.Wait.Lacks {
			if l.Flavor != name {
				continue
			}
			if l.Reason == kueue.ReasonOverLimit || l.Reason == kueue.ReasonQuotaInUse {
				return suitability{isKnown: true, suits: true}
			}
			return unsuited(l)
		}
	}
	return suitability{why: why}
}

// unsuited returns that a flavor does not suit for a known reason.
func unsuited(l kueue.Lack) suitability {
	return suitability{isKnown: true, lack: l}
}

// lackOf returns what a flavor lacks for the Pods: suitability, or quota now or ever.
func (t *try) lackOf() kueue.Lack {
	r, isShort := t.shortest()
	if !t.suits || !isShort {
		l := t.lack
		l.Flavor = t.flavor
		return l
	}
	l := kueue.Lack{
		Reason: kueue.ReasonQuotaInUse, Resource: r.resource, Flavor: t.flavor,
		Requested: r.requested.Text(r.resource), Free: r.free.Text(r.resource), Limit: r.most.Text(r.resource),
	}
	if _, atAll := r.lacks(); atAll > 0 {
		l.Reason = kueue.ReasonOverLimit
	}
	return l
}

// neverText says why the chosen flavors, and their alternatives, can never have room for a demand.
func neverText(result *assignment, queue *capacity.Node) string {
	var reasons []string
	for i := range result.tries {
		t := &result.tries[i]
		isAlternative := slices.Equal(t.resources, result.worst.resources)
		if t.verdict != inspect.Never || t.demand != result.worst.demand || !isAlternative && !t.chosen {
			continue
		}
		reason := t.lackText()
		if t.suits && queue.Parent != nil {
			reason += ", borrowing included"
		}
		reasons = append(reasons, reason)
	}
	return strings.Join(reasons, "; ")
}
