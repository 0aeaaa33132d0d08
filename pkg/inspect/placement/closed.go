package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// closure is why a queue does not take a request.
type closure struct {
	reason inspect.PlacementReason
	// wait has the fix, and state is the state of the queue in a few words.
	wait  kueue.Wait
	state string
	// opened are the steps of the judgment that follow if the queue takes the request.
	opened []func(*site) bool
}

// close decides for a closed queue, with a message. q is its ClusterQueue, nil if unknown. If the request never
// runs in the open queue either, that decides: to open the queue is then the last step of each change.
func (s *site) close(c *closure, q *kueue.ClusterQueue, format string, arguments ...any) bool {
	s.condition(inspect.ConditionQueue, inspect.No, "%s", c.state)
	why := fmt.Sprintf(format, arguments...)
	open := s.ifOpened(c)
	s.isStep = s.isStep || open != nil
	opens := s.fixesOf(c.wait, q)
	isIntended := c.reason == inspect.QueueStopped
	if open == nil {
		starts := !isIntended && s.startsIfOpened(c)
		for i := range opens {
			opens[i].Starts = starts
		}
		s.Changes = append(s.Changes, opens...)
		return s.decide(inspect.Never, c.reason, "%s", why)
	}
	conditions, said, saidAt, wait := s.Conditions, s.Said, s.SaidAt, s.Wait
	*s.Placement = *open
	s.Said, s.SaidAt, s.Wait, s.Message = said, saidAt, wait, open.Message+"; "+why
	if s.Reason == inspect.OverLimit {
		s.Closed = strings.TrimPrefix(open.Closed+"; "+why, "; ")
	}
	s.Conditions = slices.Concat(conditions, open.Conditions)
	// The fixes are alternatives. The best one is the last step.
	last := stepsOf(opens[:min(1, len(opens))])
	for i := range s.Changes {
		s.Changes[i].Then, s.Changes[i].Starts = slices.Concat(s.Changes[i].Then, last), s.Changes[i].Starts && !isIntended
	}
	return false
}

// ifOpened returns the placement if the queue took the request, provided that it never runs then either;
// otherwise nil.
func (s *site) ifOpened(c *closure) *inspect.Placement {
	opened := *s
	opened.isStep = true
	opened.Placement = inspect.NewPlacement(s.Context)
	for _, step := range c.opened {
		if !step(&opened) {
			break
		}
	}
	if opened.Verdict != inspect.Never {
		return nil
	}
	opened.Conditions = slices.DeleteFunc(opened.Conditions, func(c inspect.PlacementCondition) bool { return c.Name == inspect.ConditionQueue })
	return opened.Placement
}

// startsIfOpened reports whether the request would start at once if the queue took it.
func (s *site) startsIfOpened(c *closure) bool {
	opened := *s
	opened.isStep, opened.role.isChanged = true, true
	opened.Placement = inspect.NewPlacement(s.Context)
	opened.follow(c.opened)
	return len(c.opened) > 0 && opened.Verdict == inspect.Fits
}

// through returns the steps of the judgment of a request through a LocalQueue that is open.
func through(local *kueue.LocalQueue) []func(*site) bool {
	enter := func(s *site) bool {
		s.local = local
		return s.hasClusterQueue(local.Spec.ClusterQueue)
	}
	return []func(*site) bool{enter, (*site).isPermitted, (*site).judgeQuota}
}
