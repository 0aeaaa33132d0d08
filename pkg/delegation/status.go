package delegation

import (
	"time"

	"k8s.io/utils/ptr"
)

// Status is the state of an object in one word.
type Status string

// The statuses, in the order in which they are decided: the first one that applies is the
// object's status.
const (
	// Terminating: it is being deleted.
	Terminating Status = "Terminating"
	// Complete: it finished and succeeded.
	Complete Status = "Complete"
	// Failed: it finished and did not succeed.
	Failed Status = "Failed"
	// Unclaimed: no sign that a controller picked it up: the owner of a delegated object, otherwise its kind's own
	// controller, which may be down. The API server has no word for this; kubectl says Running.
	Unclaimed Status = "Unclaimed"
	// Suspended: it is suspended, and has no Pods left.
	Suspended Status = "Suspended"
	// Running: its status counts a ready or ended Pod, and it has not finished.
	Running Status = "Running"
	// Pending: its controller has picked it up, but its status counts no ready or ended Pod.
	Pending Status = "Pending"
	// Unknown: its kind is not in the table, and none of the common conditions shows its state;
	// or its controller may write no status while it runs.
	Unknown Status = "Unknown"
)

// Statuses returns all statuses in the order in which they are decided.
func Statuses() []Status {
	return []Status{Terminating, Complete, Failed, Unclaimed, Suspended, Running, Pending, Unknown}
}

// IsFinished reports whether the status is Complete or Failed.
func (s Status) IsFinished() bool { return s == Complete || s == Failed }

// MaySucceededDecrease reports whether the API server lets the counter of succeeded Pods of a Job decrease: that
// of an Indexed Job whose completions equal its parallelism, which can be scaled down (kubernetes:
// RejectDecreasingSucceededCounter in pkg/registry/batch/job/strategy.go). Other counters only grow.
func MaySucceededDecrease(isIndexed bool, completions, parallelism *int32) bool {
	return isIndexed && ptr.Equal(completions, parallelism)
}

// Condition has the used parts of a status condition.
type Condition struct {
	Type, Reason, Message string
	// True is whether Status is "True".
	True   bool
	Status string
	// Since is its lastTransitionTime; zero if there is none.
	Since time.Time
}

// State is the state of an object of any kind, according to the object itself.
type State struct {
	// Deleting is whether a deletionTimestamp is set.
	Deleting bool
	// Suspend is whether a field of the spec, such as spec.suspend, suspends it.
	Suspend bool
	// Active, Succeeded and Failed count Pods, if its kind counts them. Ready is nil if the
	// server does not count ready Pods (before Kubernetes 1.24).
	Active, Succeeded, Failed int32
	Ready                     *int32
	Conditions                []Condition
	// StatusWritten is whether the status was ever written: it is not empty, or managedFields has
	// an entry of the status subresource.
	StatusWritten bool
	// Content has the spec and the status, in which the kind's indicators are searched. A kind
	// whose indicators are conditions needs none.
	Content map[string]any
}

// condition returns a condition by type and status; "" means True.
func (s State) condition(conditionType, status string) (Condition, bool) {
	for _, c := range s.Conditions {
		if c.Type == conditionType && (c.True && status == "" || c.Status == status && status != "") {
			return c, true
		}
	}
	return Condition{}, false
}

// Finished returns when an object became complete or failed: the time of the condition that shows
// it, otherwise the time in its status. ok is false while it is unfinished. The time is zero if it
// is not recorded.
func (k Kind) Finished(s State) (since time.Time, ok bool) {
	for _, indicators := range [][]Indicator{k.Indicators.Complete, k.Indicators.Failed} {
		if shows(indicators, s) {
			return k.since(s, indicators), true
		}
	}
	return time.Time{}, false
}

// SuspendedSince returns the time of the condition that shows that an object is suspended; zero
// if there is none.
func (k Kind) SuspendedSince(s State) time.Time { return conditionTime(s, k.Indicators.Suspended) }

func (k Kind) since(s State, indicators []Indicator) time.Time {
	if at := conditionTime(s, indicators); !at.IsZero() {
		return at
	}
	return timeAt(s.Content, k.Indicators.End)
}

// conditionTime returns the time of the first condition among indicators that shows.
func conditionTime(s State, indicators []Indicator) time.Time {
	for _, indicator := range indicators {
		if c, ok := s.condition(indicator.Condition, indicator.ConditionStatus); ok && indicator.Condition != "" {
			return c.Since
		}
	}
	return time.Time{}
}

// Started returns when an object started, according to its status; zero if unknown.
func (k Kind) Started(s State) time.Time { return timeAt(s.Content, k.Indicators.Start) }

// Ended returns when an object ended, according to its status; zero if unknown.
func (k Kind) Ended(s State) time.Time { return timeAt(s.Content, k.Indicators.End) }

func timeAt(content map[string]any, path []string) time.Time {
	if len(path) == 0 {
		return time.Time{}
	}
	// A malformed time is ignored.
	at, _ := time.Parse(time.RFC3339, TextAt(content, path...))
	return at
}

// NeedsClaim reports whether an object's status depends on a proof outside of the object that a
// controller has picked it up. Only MultiKueue leaves such a proof: a Workload with the object's
// UID, which it creates long before it writes any status.
func NeedsClaim(owner Owner, s State) bool {
	return owner == MultiKueue && !s.StatusWritten && !s.Deleting
}

// hasRunningPods reports whether a status counts a ready or ended Pod.
func (s State) hasRunningPods() bool {
	return s.Active > 0 && (s.Ready == nil || *s.Ready > 0) || s.Succeeded > 0 || s.Failed > 0
}

// StatusOf returns the status of an object in a state. claimed is whether a proof outside of the
// object shows that its owner has picked it up; it matters only if NeedsClaim.
func (k Kind) StatusOf(owner Owner, s State, claimed bool) Status {
	showsRunning := shows(k.Indicators.Running, s)
	switch {
	case s.Deleting:
		return Terminating
	case shows(k.Indicators.Complete, s):
		return Complete
	case shows(k.Indicators.Failed, s):
		return Failed
	case !s.StatusWritten && !claimed && k.isPickedUpBy(owner, s):
		return Unclaimed
	case shows(k.Indicators.Suspended, s), s.Suspend && s.Active == 0 && !showsRunning:
		return Suspended
	case showsRunning, s.hasRunningPods():
		return Running
	case k.Indicators.Strict, k.Indicators.ChildKind != "" && !s.StatusWritten:
		return Unknown
	default:
		return Pending
	}
}

// isPickedUpBy reports whether an owner writes the status of an object once it has picked it up.
// For a kind that was found by its schema, or that has no managedBy, it is unknown what its own
// controller writes, and some controllers write nothing. A suspended object needs no action of
// its controller.
func (k Kind) isPickedUpBy(owner Owner, s State) bool {
	if owner.IsBuiltIn() && (k.Discovered || k.IsUnmanaged() || k.Indicators.ChildKind != "" || s.Suspend) {
		return false
	}
	return !k.Template
}
