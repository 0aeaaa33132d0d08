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
	// Unclaimed: nothing shows that a controller ever took it up, be it the one that
	// it is delegated to or, as of a mirror, its kind's own, which may be dead, too.
	// The API server has no word for this; kubectl says Running.
	Unclaimed Status = "Unclaimed"
	// Suspended: it is held back, and no pod of it is left.
	Suspended Status = "Suspended"
	// Running: pods of it run, or have run, and it has not finished.
	Running Status = "Running"
	// Pending: its controller has it, but no pod of it has run so far.
	Pending Status = "Pending"
	// Unknown: its kind is in no table, and none of the common conditions tells
	// its state; or its controller may not write a status as long as it runs.
	Unknown Status = "Unknown"
)

// Statuses returns all statuses in the order in which they are decided.
func Statuses() []Status {
	return []Status{Terminating, Complete, Failed, Unclaimed, Suspended, Running, Pending, Unknown}
}

// IsFinished says whether nothing will happen to it any more.
func (s Status) IsFinished() bool { return s == Complete || s == Failed }

// Condition is what is kept of a status condition.
type Condition struct {
	Type, Reason, Message string
	// True is whether the condition's status is "True"; Is is that status itself.
	True bool
	Is   string
	// Since is its lastTransitionTime; zero where it has none.
	Since time.Time
}

// State is what an object says of its own state, whatever its kind is.
type State struct {
	// Deleting is whether a deletionTimestamp is set.
	Deleting bool
	// Suspend says that something in the spec holds it back, such as spec.suspend.
	Suspend bool
	// Active, Succeeded and Failed count pods, where its kind counts them. Ready is
	// nil where the server is too old to count ready pods (before Kubernetes 1.24).
	Active, Succeeded, Failed int32
	Ready                     *int32
	Conditions                []Condition
	// StatusWritten is whether anyone ever wrote the status: it is not empty,
	// or managedFields has an entry of the status subresource.
	StatusWritten bool
	// Content is what of the object its kind's signs are looked for in, its spec and
	// status; a kind that is read by conditions alone needs none.
	Content map[string]any
}

// condition finds a condition by its type and status; "" means True.
func (s State) condition(conditionType, status string) (Condition, bool) {
	for _, c := range s.Conditions {
		if c.Type == conditionType && (c.True && status == "" || c.Is == status && status != "") {
			return c, true
		}
	}
	return Condition{}, false
}

// Finished says since when an object is complete or failed: by the time of the
// condition that says so, or else by that which its status tells. ok is false while
// it is unfinished; the time is zero where nobody wrote it down.
func (k Kind) Finished(s State) (since time.Time, ok bool) {
	for _, signs := range [][]Sign{k.Reading.Complete, k.Reading.Failed} {
		if shows(signs, s) {
			return k.since(s, signs), true
		}
	}
	return time.Time{}, false
}

// SuspendedSince is the time of the condition that says that an object is
// suspended; zero where there is none.
func (k Kind) SuspendedSince(s State) time.Time { return conditionTime(s, k.Reading.Suspended) }

func (k Kind) since(s State, signs []Sign) time.Time {
	if at := conditionTime(s, signs); !at.IsZero() {
		return at
	}
	return timeAt(s.Content, k.Reading.End)
}

// conditionTime is the time of the first of the conditions among signs that shows.
func conditionTime(s State, signs []Sign) time.Time {
	for _, sign := range signs {
		if c, ok := s.condition(sign.Condition, sign.Is); ok && sign.Condition != "" {
			return c.Since
		}
	}
	return time.Time{}
}

// Started is when an object started, by its status; zero where that does not tell.
func (k Kind) Started(s State) time.Time { return timeAt(s.Content, k.Reading.Start) }

// Ended is when an object ended, by its status; zero where that does not tell.
func (k Kind) Ended(s State) time.Time { return timeAt(s.Content, k.Reading.End) }

func timeAt(content map[string]any, path []string) time.Time {
	if len(path) == 0 {
		return time.Time{}
	}
	// What is no time tells none.
	at, _ := time.Parse(time.RFC3339, TextAt(content, path...))
	return at
}

// NeedsClaim says whether an object's status cannot be told without knowing if
// a controller has taken it up by a sign outside of the object itself. Only
// MultiKueue leaves such a sign: a Workload with the object's uid, which it
// makes long before it writes any status.
func NeedsClaim(owner Owner, s State) bool {
	return owner == MultiKueue && !s.StatusWritten && !s.Deleting
}

// hasRunningPods says whether pods run or have run, as far as they are counted.
func (s State) hasRunningPods() bool {
	return s.Active > 0 && (s.Ready == nil || *s.Ready > 0) || s.Succeeded > 0 || s.Failed > 0
}

// StatusOf judges an object's state. claimed is whether a sign outside of the
// object shows that its owner took it up; it matters only where NeedsClaim.
func (k Kind) StatusOf(owner Owner, s State, claimed bool) Status {
	shownRunning := shows(k.Reading.Running, s)
	switch {
	case s.Deleting:
		return Terminating
	case shows(k.Reading.Complete, s):
		return Complete
	case shows(k.Reading.Failed, s):
		return Failed
	case !s.StatusWritten && !claimed && k.isTakenUpBy(owner, s):
		return Unclaimed
	case shows(k.Reading.Suspended, s), s.Suspend && s.Active == 0 && !shownRunning:
		return Suspended
	case shownRunning, s.hasRunningPods():
		return Running
	case k.Reading.Strict, k.Reading.Silent != "" && !s.StatusWritten:
		return Unknown
	default:
		return Pending
	}
}

// isTakenUpBy says whether an owner writes the status of an object once it takes it
// up. Of a kind that was found by its schema, or has no managedBy, nobody knows what
// its own controller writes, and that of some is silent; what is held back needs nothing
// done by it.
func (k Kind) isTakenUpBy(owner Owner, s State) bool {
	if owner.IsBuiltIn() && (k.Discovered || k.IsUnmanaged() || k.Reading.Silent != "" || s.Suspend) {
		return false
	}
	return !k.Template
}
