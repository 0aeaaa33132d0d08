package placement

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// isStopped decides for a queue that is stopped, with its wait and the message. If
// the request never fits into the ClusterQueue anyway, that decides: to resume the queue does not help.
func (s *site) isStopped(queue string, stopped kueue.Wait, format string, arguments ...any) bool {
	s.condition(inspect.ConditionQueue, inspect.No, "stopped")
	if running := s.ifResumed(queue); running != nil {
		conditions, said, saidAt, wait := s.Conditions, s.Said, s.SaidAt, s.Wait
		*s.Placement = *running
		s.Said, s.SaidAt, s.Wait = said, saidAt, wait
		s.Conditions = slices.Concat(conditions, running.Conditions)
		return false
	}
	var cluster *kueue.ClusterQueue
	if node := s.tree.Queue(queue); node != nil {
		cluster = node.Queue
	}
	s.fix(stopped, cluster)
	return s.decide(inspect.Never, inspect.QueueStopped, format, arguments...)
}

// ifResumed returns the placement if the queues were not stopped, provided that the request never
// fits into the ClusterQueue by its quota and flavors; otherwise nil.
func (s *site) ifResumed(queue string) *inspect.Placement {
	resumed := *s
	resumed.Placement, resumed.queue = inspect.NewPlacement(s.Context), s.tree.Queue(queue)
	if resumed.queue == nil || !resumed.isPermitted() {
		return nil
	}
	resumed.judgeQuota()
	isAnyway := slices.Contains([]inspect.PlacementReason{inspect.OverLimit, inspect.NoSuchResource, inspect.FlavorMismatch, inspect.OutsideLimits}, resumed.Reason)
	if resumed.Verdict != inspect.Never || !isAnyway {
		return nil
	}
	resumed.Conditions = slices.DeleteFunc(resumed.Conditions, func(c inspect.PlacementCondition) bool { return c.Name == inspect.ConditionQueue })
	return resumed.Placement
}
