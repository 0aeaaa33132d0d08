package inspect

import (
	"math"
	"slices"
	"time"
)

// Record is the observed actions of an actor, from conditions, creation times, statuses and managed
// fields. The absence of an action is weak evidence, because the objects it left traces in may have
// been deleted.
type Record struct {
	// Actions are the actions, sorted by time.
	Actions []Action
}

// Liveness says whether an actor is alive, judged for one pending action.
type Liveness struct {
	State LivenessState
	// Last is the actor's last action for another object; the zero Action if there is none.
	Last Action
	// Like is the last of these actions with the same duty and target.
	Like Action
	// Shuffled is whether all objects that overtook this one began to wait at about the same time.
	// In a long line that proves nothing, because controllers retry and share a rate limit.
	Shuffled bool
}

// LivenessState is the conclusion from an actor's other actions.
type LivenessState string

// The states of an actor.
const (
	// Unseen means that nothing shows that the actor was active since the action became due, or
	// is still active. It may not be running.
	Unseen LivenessState = "unseen"
	// Behind means that the actor is active and has not reached this object yet.
	Behind LivenessState = "behind"
	// PassedOver means that the actor is active but skips this object. It served objects that began
	// to wait later, or has not done this duty for long. The cause is in this object or in this
	// duty.
	PassedOver LivenessState = "passed over"
	// Unreached means that the actor is active, but no action of the last minutes needed a worker of
	// this action. The cause may be the connection to that worker.
	Unreached LivenessState = "unreached"
)

const (
	// readPrecision is the precision of comparisons: traces have whole seconds, and clusters are not read
	// at one instant.
	readPrecision = 2 * time.Second
	// normalLatency is how long an active actor may take. MultiKueue was seen to be twelve seconds behind
	// when a hundred Jobs came at once.
	normalLatency = 15 * time.Second
	// pause is how long an active actor may do nothing although something waits for it.
	pause = time.Minute
	// maxWorkerSilence is how long after the last sign from a worker its connection is in doubt.
	maxWorkerSilence = 2 * time.Minute
	// latencyWindow is the period over which an actor's latency is measured.
	latencyWindow = 10 * time.Minute
)

// NewRecord returns a Record of actions in any order.
func NewRecord(actions []Action) *Record {
	r := &Record{Actions: slices.Clone(actions)}
	slices.SortStableFunc(r.Actions, func(a, b Action) int { return a.Done.Compare(b.Done) })
	return r
}

// Liveness judges the actor of a pending action at a time, both by our own clock. A nil Record is
// an empty one.
func (r *Record) Liveness(p PendingAction, now time.Time) Liveness {
	l, served, latest, slowest := r.since(p, now)
	overtaken := latest.After(p.Since)
	// If the last action of this kind was long ago, the line does not move.
	isMoving := now.Sub(l.Like.Done) <= max(2*slowest, pause)
	l.State = l.judge(p, now, slowest, served && !overtaken && isMoving, overtaken)
	isClose := !latest.After(p.Since.Add(max(slowest, normalLatency)))
	l.Shuffled = l.State == PassedOver && isClose && l.judge(p, now, slowest, served && isMoving, false) == Behind
	if l.State != Unseen && now.Sub(p.Since) >= maxWorkerSilence && len(r.Unreached(p)) > 0 {
		l.State = Unreached
	}
	return l
}

// Unreached returns the workers of a pending action whose connection the actor has not used since
// the action became due.
func (r *Record) Unreached(p PendingAction) []string {
	return slices.DeleteFunc(slices.Clone(p.Workers), func(worker string) bool { return r.Reached(worker).After(p.Since) })
}

// since examines the actor's actions for other objects since the pending action became due, and
// recent earlier ones. served is whether another object got the same step since then. latest is when
// the latest such object began to wait. slowest is the actor's usual latency.
func (r *Record) since(p PendingAction, now time.Time) (l Liveness, served bool, latest time.Time, slowest time.Duration) {
	var took latencies
	for a := range r.actionsForOthers(p) {
		l.Last = a
		isSame := a.Duty == p.Duty && a.Target == p.Target
		if isSame {
			l.Like = a
		}
		if a.Done.Before(now.Add(-latencyWindow)) && a.Done.Before(p.Since) {
			continue
		}
		took.add(a)
		// An action without a known wait does not show which object was first.
		served = served || isSame && !a.Began.IsZero() && a.Done.After(p.Since)
		if isSame {
			latest = later(latest, a.Began)
		}
	}
	return l, served, latest, took.usual()
}

// Reached returns when the actor last used its connection to a worker; the zero time if never.
func (r *Record) Reached(worker string) (last time.Time) {
	if r == nil {
		return last
	}
	for _, a := range r.Actions {
		if a.Worker == worker {
			last = later(last, a.Done)
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
func (l *Liveness) judge(p PendingAction, now time.Time, slowest time.Duration, inOrder, overtaken bool) LivenessState {
	waits, idle := now.Sub(p.Since), now.Sub(l.Last.Done)
	// If others waited as long, it means nothing that no object was served since.
	isUsual := waits <= slowest && idle <= latencyWindow
	// An actor that has served none of many waiting objects for so long has stopped.
	hasStopped := idle > max(2*slowest, pause)
	switch {
	case l.Last == Action{} || !isUsual && !l.Last.Done.After(p.Since) || idle > latencyWindow:
		return Unseen
	case waits <= 2*max(slowest, normalLatency) || inOrder && !hasStopped:
		return Behind
	case hasStopped && !overtaken:
		return Unseen
	}
	return PassedOver
}

// actionsForOthers yields the actions for other objects, the latest last. Dates in the future, from a wrong
// clock, are not corrected.
func (r *Record) actionsForOthers(p PendingAction) func(yield func(Action) bool) {
	return func(yield func(Action) bool) {
		if r == nil {
			return
		}
		for _, a := range r.Actions {
			if a.Subject != p.Subject && !slices.Contains(p.Also, a.Subject) && !yield(a) {
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
		if !a.Done.After(now.Add(-time.Minute)) || !counts(a) {
			continue
		}
		if n == 0 {
			first = a.Done
		}
		n++
	}
	if n == 0 {
		return 0
	}
	return int(math.Round(float64(n) * float64(time.Minute) / float64(max(now.Sub(first), normalLatency))))
}
