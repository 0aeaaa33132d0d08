package liveness

import (
	"math"
	"slices"
	"time"
)

// Record is the observed actions of an actor. The absence of an action is weak evidence, because the
// objects that showed it may have been deleted.
type Record struct {
	// Actions are the actions, sorted by time.
	Actions []Action
}

// Assessment is the conclusion about the actor of one pending action.
type Assessment struct {
	State State
	// Last is the actor's last action for another object; the zero Action if there is none.
	Last Action
	// LastSimilar is the last of these actions with the same duty and target.
	LastSimilar Action
	// SameBurst is whether all objects that overtook this one began to wait at about the same time.
	// In a long line that proves nothing, because controllers retry and share a rate limit.
	SameBurst bool
}

// State is the state of an actor, according to its other actions.
type State string

// The states of an actor.
const (
	// Inactive means that no action of the actor since this one became due is known, or that its
	// actions have ended. It may not be running.
	Inactive State = "inactive"
	// Behind means that the actor is active and has not reached this object yet.
	Behind State = "behind"
	// Skipping means that the actor is active but skips this object. It served objects that began
	// to wait later, or has not done this duty for long. The cause is in this object or in this
	// duty.
	Skipping State = "skipping"
	// Disconnected means that the actor is active, but no action of the last minutes needed a worker
	// of this action. The cause may be the connection to that worker.
	Disconnected State = "disconnected"
)

const (
	// readPrecision is the precision of comparisons: traces have whole seconds, and clusters are
	// not read at one instant.
	readPrecision = 2 * time.Second
	// normalLatency is how long an active actor may take. MultiKueue was seen to be twelve seconds
	// behind when a hundred Jobs came at once.
	normalLatency = 15 * time.Second
	// pause is how long an active actor may do nothing although something waits for it.
	pause = time.Minute
	// maxWorkerSilence is how long after the last sign from a worker its connection is in doubt.
	maxWorkerSilence = 2 * time.Minute
	// latencyWindow is the period over which an actor's latency is measured.
	latencyWindow = 10 * time.Minute
)

// newRecord returns a Record of actions in any order.
func newRecord(actions []Action) *Record {
	r := &Record{Actions: slices.Clone(actions)}
	slices.SortStableFunc(r.Actions, func(a, b Action) int { return a.At.Compare(b.At) })
	return r
}

// Assess judges the actor of a pending action at a time, both by our own clock. A nil Record is an
// empty one.
func (r *Record) Assess(p PendingAction, now time.Time) Assessment {
	a, served, latest, slowest := r.since(p, now)
	overtaken := latest.After(p.Since)
	// If the last action of this kind was long ago, the line does not move.
	isMoving := now.Sub(a.LastSimilar.At) <= max(2*slowest, pause)
	a.State = a.judge(p, now, slowest, served && !overtaken && isMoving, overtaken)
	isClose := !latest.After(p.Since.Add(max(slowest, normalLatency)))
	a.SameBurst = a.State == Skipping && isClose && a.judge(p, now, slowest, served && isMoving, false) == Behind
	if a.State != Inactive && now.Sub(p.Since) >= maxWorkerSilence && len(r.SilentWorkers(p)) > 0 {
		a.State = Disconnected
	}
	return a
}

// SilentWorkers returns the workers of a pending action whose connection the actor has not used
// since the action became due.
func (r *Record) SilentWorkers(p PendingAction) []string {
	return slices.DeleteFunc(slices.Clone(p.Workers), func(worker string) bool { return r.LastContact(worker).After(p.Since) })
}

// since examines the actor's actions for other objects since the pending action became due, and
// recent earlier ones. served is whether another object got the same step since then. latest is when
// the latest such object began to wait. slowest is the actor's usual latency.
func (r *Record) since(p PendingAction, now time.Time) (a Assessment, served bool, latest time.Time, slowest time.Duration) {
	var took latencies
	for action := range r.actionsForOthers(p) {
		a.Last = action
		isSame := action.Duty == p.Duty && action.Target == p.Target
		if isSame {
			a.LastSimilar = action
		}
		if action.At.Before(now.Add(-latencyWindow)) && action.At.Before(p.Since) {
			continue
		}
		took.add(action)
		// An action without a known wait does not show which object was first.
		served = served || isSame && !action.Due.IsZero() && action.At.After(p.Since)
		if isSame {
			latest = later(latest, action.Due)
		}
	}
	return a, served, latest, took.usual()
}

// LastContact returns when the actor last used its connection to a worker; the zero time if never.
func (r *Record) LastContact(worker string) (last time.Time) {
	if r == nil {
		return last
	}
	for _, a := range r.Actions {
		if a.Worker == worker {
			last = later(last, a.At)
		}
	}
	return last
}

// latencies are the two longest latencies of an actor, for two different objects.
type latencies struct {
	longest, second time.Duration
	subject         string
}

func (l *latencies) add(a Action) {
	took, known := a.latency()
	switch {
	case !known:
	case a.Subject == l.subject:
		l.longest = max(l.longest, took)
	case took > l.longest:
		l.second = l.longest
		l.longest, l.subject = took, a.Subject
	default:
		l.second = max(l.second, took)
	}
}

// usual returns the longest latency. If one object took far longer than all others, it had its own
// reason and does not count.
func (l *latencies) usual() time.Duration {
	if l.second > 0 && l.longest > 2*max(l.second, normalLatency) {
		return max(readPrecision, l.second)
	}
	return max(readPrecision, l.longest)
}

// judge returns the state. slowest is the longest recent latency for other objects. inOrder is
// whether objects were served since, all of them ahead of this one. overtaken is whether an object
// that began to wait later was served.
func (a *Assessment) judge(p PendingAction, now time.Time, slowest time.Duration, inOrder, overtaken bool) State {
	waits, idle := now.Sub(p.Since), now.Sub(a.Last.At)
	// If others waited as long, it means nothing that no object was served since.
	isUsual := waits <= slowest && idle <= latencyWindow
	// An actor that has served none of many waiting objects for so long has stopped.
	hasStopped := idle > max(2*slowest, pause)
	switch {
	case a.Last == Action{} || !isUsual && !a.Last.At.After(p.Since) || idle > latencyWindow:
		return Inactive
	case waits <= 2*max(slowest, normalLatency) || inOrder && !hasStopped:
		return Behind
	case hasStopped && !overtaken:
		return Inactive
	}
	return Skipping
}

// actionsForOthers yields the actions for other objects, the latest last. It does not correct dates
// in the future, from a wrong clock.
func (r *Record) actionsForOthers(p PendingAction) func(yield func(Action) bool) {
	return func(yield func(Action) bool) {
		if r == nil {
			return
		}
		for _, a := range r.Actions {
			if a.Subject != p.Subject && !slices.Contains(p.Aliases, a.Subject) && !yield(a) {
				return
			}
		}
	}
}

// PerMinute returns an actor's pace in the last minute: how many of the counted actions it did,
// extrapolated if the first was less than a minute ago. A nil Record has none.
func (r *Record) PerMinute(now time.Time, counts func(Action) bool) int {
	if r == nil {
		return 0
	}
	var n int
	var first time.Time
	for _, a := range r.Actions {
		if !a.At.After(now.Add(-time.Minute)) || !counts(a) {
			continue
		}
		if n == 0 {
			first = a.At
		}
		n++
	}
	if n == 0 {
		return 0
	}
	return int(math.Round(float64(n) * float64(time.Minute) / float64(max(now.Sub(first), normalLatency))))
}
