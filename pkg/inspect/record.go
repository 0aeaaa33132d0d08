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
	// Deeds are the actions, sorted by time.
	Deeds []Deed
}

// Standing is the liveness of an actor, as far as one turn is concerned.
type Standing struct {
	State StandingState
	// Last is the actor's last action for another object; the zero Deed if there is none.
	Last Deed
	// Like is the last of these actions with the same duty and target.
	Like Deed
	// Shuffled is whether all objects that overtook this one began to wait at about the same time.
	// In a long line that proves nothing, because controllers retry and share a rate limit.
	Shuffled bool
}

// StandingState is the conclusion from an actor's other actions.
type StandingState string

// The states of a turn.
const (
	// Unseen means that nothing shows that the actor was active since the turn began, or is still.
	// It may not be running.
	Unseen StandingState = "unseen"
	// Behind means that the actor is active and has not reached this object yet.
	Behind StandingState = "behind"
	// PassedOver means that the actor is active but skips this object. It served objects that began
	// to wait later, or has not done this duty for long. The cause is in this object or in this
	// duty.
	PassedOver StandingState = "passed over"
	// Unreached means that the actor is active, but no action of the last minutes needed the worker
	// of this turn. The cause may be the connection to that worker.
	Unreached StandingState = "unreached"
)

const (
	// blink is the precision of comparisons: traces have whole seconds, and clusters are not read
	// at one instant.
	blink = 2 * time.Second
	// breath is how long an active actor may take. MultiKueue was seen to be twelve seconds behind
	// when a hundred Jobs came at once.
	breath = 15 * time.Second
	// pause is how long an active actor may do nothing although something waits for it.
	pause = time.Minute
	// noReply is how long after the last sign from a worker its connection is in doubt.
	noReply = 2 * time.Minute
	// lately is the period over which an actor's latency is measured.
	lately = 10 * time.Minute
)

// NewRecord returns a Record of actions in any order.
func NewRecord(deeds []Deed) *Record {
	r := &Record{Deeds: slices.Clone(deeds)}
	slices.SortStableFunc(r.Deeds, func(a, b Deed) int { return a.Done.Compare(b.Done) })
	return r
}

// Standing judges a turn at a time, both by our own clock. A nil Record is an empty one.
func (r *Record) Standing(t Turn, now time.Time) Standing {
	s, served, latest, slowest := r.since(t, now)
	overtaken := latest.After(t.Since)
	// If the last action of this kind was long ago, the line does not move.
	isMoving := now.Sub(s.Like.Done) <= max(2*slowest, pause)
	s.State = s.judge(t, now, slowest, served && !overtaken && isMoving, overtaken)
	isClose := !latest.After(t.Since.Add(max(slowest, breath)))
	s.Shuffled = s.State == PassedOver && isClose && s.judge(t, now, slowest, served && isMoving, false) == Behind
	if s.State != Unseen && t.Worker != "" && now.Sub(t.Since) >= noReply && !r.Reached(t.Worker).After(t.Since) {
		s.State = Unreached
	}
	return s
}

// since examines the actor's actions for other objects since the turn, and recent earlier ones.
// served is whether another object got the same step since then. latest is when the latest such
// object began to wait. slowest is the actor's usual latency.
func (r *Record) since(t Turn, now time.Time) (s Standing, served bool, latest time.Time, slowest time.Duration) {
	var took latencies
	for d := range r.others(t) {
		s.Last = d
		isSame := d.Duty == t.Duty && d.Target == t.Target
		if isSame {
			s.Like = d
		}
		if d.Done.Before(now.Add(-lately)) && d.Done.Before(t.Since) {
			continue
		}
		took.add(d)
		// An action without a known wait does not show which object was first.
		served = served || isSame && !d.Began.IsZero() && d.Done.After(t.Since)
		if isSame {
			latest = later(latest, d.Began)
		}
	}
	return s, served, latest, took.usual()
}

// Reached returns when the actor last used its connection to a worker; the zero time if never.
func (r *Record) Reached(worker string) (last time.Time) {
	if r == nil {
		return last
	}
	for _, d := range r.Deeds {
		if d.Worker == worker {
			last = later(last, d.Done)
		}
	}
	return last
}

// latencies are the two longest latencies of an actor, for two different objects.
type latencies struct {
	longest, second time.Duration
	subject         string
}

func (l *latencies) add(d Deed) {
	took, known := d.latency()
	switch {
	case !known:
	case d.Subject == l.subject:
		l.longest = max(l.longest, took)
	case took > l.longest:
		l.second = l.longest
		l.longest, l.subject = took, d.Subject
	default:
		l.second = max(l.second, took)
	}
}

// usual returns the longest latency. If one object took far longer than all others, it had its own
// reason and does not count.
func (l *latencies) usual() time.Duration {
	if l.second > 0 && l.longest > 2*max(l.second, breath) {
		return max(blink, l.second)
	}
	return max(blink, l.longest)
}

// judge returns the state. slowest is the longest recent latency for other objects. inOrder is
// whether objects were served since, all of them ahead of this one. overtaken is whether an object
// that began to wait later was served.
func (s *Standing) judge(t Turn, now time.Time, slowest time.Duration, inOrder, overtaken bool) StandingState {
	waits, idle := now.Sub(t.Since), now.Sub(s.Last.Done)
	// If others waited as long, it means nothing that no object was served since.
	isUsual := waits <= slowest && idle <= lately
	// An actor that has served none of many waiting objects for so long has stopped.
	hasStopped := idle > max(2*slowest, pause)
	switch {
	case s.Last == Deed{} || !isUsual && !s.Last.Done.After(t.Since) || idle > lately:
		return Unseen
	case waits <= 2*max(slowest, breath) || inOrder && !hasStopped:
		return Behind
	case hasStopped && !overtaken:
		return Unseen
	}
	return PassedOver
}

// others yields the actions for other objects, the latest last. Dates in the future, from a wrong
// clock, are not corrected.
func (r *Record) others(t Turn) func(yield func(Deed) bool) {
	return func(yield func(Deed) bool) {
		if r == nil {
			return
		}
		for _, d := range r.Deeds {
			if d.Subject != t.Subject && !slices.Contains(t.Also, d.Subject) && !yield(d) {
				return
			}
		}
	}
}

// PerMinute returns an actor's pace in the last minute: how many of the counted actions it did,
// extrapolated if the first was less than a minute ago. A nil Record has none.
func (r *Record) PerMinute(now time.Time, counts func(Deed) bool) int {
	if r == nil {
		return 0
	}
	var n int
	var first time.Time
	for _, d := range r.Deeds {
		if !d.Done.After(now.Add(-time.Minute)) || !counts(d) {
			continue
		}
		if n == 0 {
			first = d.Done
		}
		n++
	}
	if n == 0 {
		return 0
	}
	return int(math.Round(float64(n) * float64(time.Minute) / float64(max(now.Sub(first), breath))))
}
