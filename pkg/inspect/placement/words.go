package placement

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// quote keeps what Kueue on the cluster says itself.
func (s *site) quote() {
	if c := s.words(); c != nil {
		s.Said = strings.TrimPrefix(c.Reason+": "+c.Message, ": ")
		s.SaidAt = c.LastTransitionTime.DeepCopy()
	}
}

// words is the condition by which Kueue says why a Workload has no quota, nil if it says
// nothing.
func (s *site) words() *metav1.Condition {
	if s.own == nil {
		return nil
	}
	c := s.own.Condition(kueue.QuotaReserved)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	return c
}

// byWords decides by what Kueue says, where it could not be reckoned, and why not.
func (s *site) byWords(format string, arguments ...any) bool {
	why := fmt.Sprintf(format, arguments...)
	c := s.words()
	if c == nil {
		return s.decide(inspect.Unknown, inspect.Unreadable, "%s", why)
	}
	verdict := verdictOf(c)
	if verdict == inspect.Never && s.isFlexible() {
		// Kueue's message is always of the whole size.
		verdict = inspect.Unknown
	}
	if verdict == inspect.Unknown {
		return s.decide(inspect.Unknown, inspect.SaidByKueue, "%s; Kueue says: %s", why, c.Message)
	}
	if s.Condition(inspect.ConditionQuota).State == inspect.NotAsked {
		s.condition(inspect.ConditionQuota, inspect.No, "see verdict")
	}
	return s.decide(verdict, inspect.SaidByKueue, "Kueue says: %s", c.Message)
}

// isFlexible says whether it may be started with fewer pods.
func (s *site) isFlexible() bool {
	return s.request.PodSets == nil || slices.ContainsFunc(s.request.PodSets, func(p kueue.PodTemplate) bool { return p.MinCount != nil })
}

// verdictOf is what Kueue's reason comes to, by the reasons that it gives since 0.19, or
// else by its message (reference: capacity.md 5).
func verdictOf(c *metav1.Condition) inspect.Verdict {
	switch c.Reason {
	case kueue.WaitingForQuota, kueue.PreemptedFirst, kueue.PendingEvaluation, kueue.PodsReadyFirst, kueue.AdmissionGated:
		return inspect.Waits
	case kueue.ExceedsMaxQuota, kueue.NoMatchingFlavor:
		if isAfterOthers(kueue.Lacks(c.Message)) {
			return inspect.Unknown
		}
		return inspect.Never
	case kueue.Misconfigured, kueue.QueueSuspended, kueue.OnHold, "Deactivated":
		return inspect.Never
	case kueue.PendingLegacy, kueue.Inadmissible, "Waiting":
		return verdictOfMessage(c.Message)
	}
	return inspect.Unknown
}

func verdictOfMessage(message string) inspect.Verdict {
	lacks := kueue.Lacks(message)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(message, part) })
	}
	switch {
	case kueue.Lacking(lacks, kueue.MoreNeeded), has("Pending the preemption of", "no longer fits after processing another workload"):
		return inspect.Waits
	case has("topology "), isAfterOthers(lacks):
		return inspect.Unknown
	case kueue.Lacking(lacks, kueue.TooMuch, kueue.NoSuchResource, kueue.Untolerated, kueue.NoSuchLabel):
		return inspect.Never
	case has("doesn't exist", "is terminating or missing", "is inactive", "is stopped", "doesn't match ClusterQueue selector"):
		return inspect.Never
	}
	return inspect.Unknown
}

// flavorByWords is whether a flavor suits by what Kueue says of it, where ResourceFlavors
// could not be read.
func (s *site) flavorByWords(name string, err error) suitability {
	c := s.words()
	if c == nil {
		return suitability{why: "is not known: " + s.because(err)}
	}
	lacks := slices.DeleteFunc(kueue.Lacks(c.Message), func(l kueue.Lack) bool { return l.Flavor != name })
	switch {
	case kueue.Lacking(lacks, kueue.NoSuchLabel):
		return suitability{isKnown: true, why: "is of nodes with other labels than the pods ask for"}
	case kueue.Lacking(lacks, kueue.Untolerated):
		return suitability{isKnown: true, why: "has a taint that the pods do not tolerate"}
	case kueue.Lacking(lacks, kueue.TooMuch, kueue.MoreNeeded):
		return suitability{isKnown: true, suits: true}
	}
	return suitability{why: "is not known: " + s.because(err)}
}

// isAfterOthers says whether the podsets of a Workload stand in each other's way, so that
// another order might do.
func isAfterOthers(lacks []kueue.Lack) bool {
	return slices.ContainsFunc(lacks, func(l kueue.Lack) bool { return l.AfterOthers() })
}
