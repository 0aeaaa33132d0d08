package delegation

import (
	"time"
)

// Status is the one word that says what state an object is in.
type Status string

// The statuses, in the order in which they are decided: the first that holds
// is the object's status.
const (
	// Terminating: it is being deleted.
	Terminating Status = "Terminating"
	// Complete: it finished and succeeded.
	Complete Status = "Complete"
	// Failed: it finished and did not succeed.
	Failed Status = "Failed"
	// Unclaimed: it is delegated, and nothing shows that a controller ever
	// took it up. The API server has no word for this; kubectl says Running.
	Unclaimed Status = "Unclaimed"
	// Suspended: it is held back, and no pod of it is left.
	Suspended Status = "Suspended"
	// Running: pods of it run, or have run, and it has not finished.
	Running Status = "Running"
	// Pending: its controller has it, but no pod of it has run so far.
	Pending Status = "Pending"
)

// Statuses returns all statuses in the order in which they are decided.
func Statuses() []Status {
	return []Status{Terminating, Complete, Failed, Unclaimed, Suspended, Running, Pending}
}

// IsFinished says whether nothing will happen to it any more.
func (s Status) IsFinished() bool { return s == Complete || s == Failed }

// Condition is what is kept of a status condition.
type Condition struct {
	Type, Reason, Message string
	// True is whether the condition's status is "True".
	True bool
	// Since is its lastTransitionTime; zero where it has none.
	Since time.Time
}

// State is what an object says of its own state, whatever its kind is.
type State struct {
	// Deleting is whether a deletionTimestamp is set.
	Deleting bool
	// Suspend is spec.suspend.
	Suspend bool
	// Active, Succeeded and Failed count pods. Ready is nil where the server
	// is too old to count ready pods (before Kubernetes 1.24).
	Active, Succeeded, Failed int32
	Ready                     *int32
	Conditions                []Condition
	// StatusWritten is whether anyone ever wrote the status: it is not empty,
	// or managedFields has an entry of the status subresource.
	StatusWritten bool
}

// condition finds a condition by its type.
func (s State) condition(conditionType string) (Condition, bool) {
	for _, c := range s.Conditions {
		if c.Type == conditionType && conditionType != "" {
			return c, true
		}
	}
	return Condition{}, false
}

func (s State) isTrue(conditionType string) bool {
	c, ok := s.condition(conditionType)
	return ok && c.True
}

// Finished says since when an object is complete or failed, by the time of the
// condition that says so. ok is false while it is unfinished.
func (k Kind) Finished(s State) (since time.Time, ok bool) {
	for _, conditionType := range []string{k.Conditions.Complete, k.Conditions.Failed} {
		if c, found := s.condition(conditionType); found && c.True {
			return c.Since, true
		}
	}
	return time.Time{}, false
}

// NeedsClaim says whether an object's status cannot be told without knowing if
// a controller has taken it up by a sign outside of the object itself. Only
// MultiKueue leaves such a sign: a Workload with the object's uid, which it
// makes long before it writes any status.
func NeedsClaim(owner Owner, s State) bool {
	return owner == MultiKueue && !s.StatusWritten && !s.Deleting
}

// StatusOf judges an object's state. claimed is whether a sign outside of the
// object shows that its owner took it up; it matters only where NeedsClaim.
func (k Kind) StatusOf(owner Owner, s State, claimed bool) Status {
	hasRun := s.Succeeded > 0 || s.Failed > 0
	switch {
	case s.Deleting:
		return Terminating
	case s.isTrue(k.Conditions.Complete):
		return Complete
	case s.isTrue(k.Conditions.Failed):
		return Failed
	case !owner.IsBuiltIn() && !s.StatusWritten && !claimed:
		return Unclaimed
	case s.isTrue(k.Conditions.Suspended), s.Suspend && s.Active == 0:
		return Suspended
	case s.Active > 0 && (s.Ready == nil || *s.Ready > 0), hasRun:
		return Running
	default:
		return Pending
	}
}
