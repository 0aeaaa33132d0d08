package placement

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// isContradicted decides if Kueue itself reports something worse than Fits,
// or better than Never. Kueue knows its own configuration, which is not read
// here. What would help depends on the quota read: Kueue's message may be older.
func (s *site) isContradicted(v inspect.Verdict, result *assignment) bool {
	if !s.isJudged() {
		return false
	}
	switch said := s.verdictOf(s.Wait); {
	case v == inspect.Fits && s.blocked():
		// It is not its turn, whatever Kueue said when it was.
	case v == inspect.Never && said == inspect.Waits:
		s.decide(inspect.Waits, inspect.SaidByKueue, "Kueue says: %s; by the quotas read it never fits", s.Wait.Text())
		s.suggest(result)
	case v == inspect.Fits && said == inspect.Waits && s.Wait.Reason != kueue.ReasonQuotaInUse:
		s.decide(inspect.Waits, inspect.SaidByKueue, "Kueue says: %s; by the quotas read it fits now", s.Wait.Text())
		s.fix(*s.Wait, s.queue.Queue)
	case v == inspect.Fits && (said == inspect.Waits || said == inspect.Never):
		verdict := map[inspect.Verdict]inspect.Verdict{inspect.Waits: inspect.Waits, inspect.Never: inspect.Unknown}[said]
		s.decide(verdict, inspect.SaidByKueue, "by the quotas read it fits now, but Kueue says: %s", s.Wait.Text())
		if last := s.lastGiven(); said == inspect.Waits && last != nil {
			s.Judging = true
			s.change(inspect.PlacementChange{Message: fmt.Sprintf("wait until Kueue on %s judges it again: it has just given quota to %s", s.Context, last.Namespace+"/"+last.Name)})
			return true
		}
		s.change(s.judgeAgain())
	default:
		return false
	}
	return true
}

// busy is how long after Kueue has given quota to a Workload it still judges others of the queue, which is normally seconds.
const busy = time.Minute

// lastGiven returns the Workload in the queue or its cohorts that got quota last, nil if none did within busy.
func (s *site) lastGiven() (last *kueue.Claim) {
	v := s.around.inventory
	since := v.ToClusterClock(s.Context, v.Now).Add(-busy)
	for _, n := range s.tree.Sharers(s.queue) {
		for _, c := range n.Claims {
			if c.Since.After(since) {
				last, since = c, c.Since
			}
		}
	}
	return last
}

// judgeAgain returns what to check if Kueue has not judged a request by the quota that is free now.
func (s *site) judgeAgain() inspect.PlacementChange {
	return inspect.PlacementChange{
		Message: fmt.Sprintf("check that Kueue runs on %s: the quota fits, and Kueue has not judged it again", s.Context),
		Command: kueue.ShowPods(s.Context).Shell(),
	}
}

// isConfirmed reports whether Kueue itself agrees with a verdict that was
// computed from incomplete data.
func (s *site) isConfirmed(v inspect.Verdict) bool {
	return s.isJudged() && s.verdictOf(s.Wait) == v
}
