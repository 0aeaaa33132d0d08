package inspect

import (
	"math"
	"slices"
	"time"
)

// Record is what an actor was seen to do, as far as it left traces: conditions,
// creations, statuses, managed fields. No trace is weak evidence, for what an actor
// made may be gone again.
type Record struct {
	// Deeds are sorted by when they were done.
	Deeds []Deed
}

// Standing is how a turn stands, judged by what else its actor does.
type Standing struct {
	State StandingState
	// Last is what the actor did last for other objects; the zero Deed if nothing.
	Last Deed
	// Like is what it did last of the same duty, for the same target.
	Like Deed
	// Shuffled is whether it was passed over only by others whose turn came at about the same
	// time. In a long line that proves nothing: controllers retry, and share a limit of requests.
	Shuffled bool
}

// StandingState says what follows from what else an actor does.
type StandingState string

// The states of a turn.
const (
	// Unseen: nothing shows that the actor was at work since its turn came, or that it
	// still is, so that it may be gone.
	Unseen StandingState = "unseen"
	// Behind: it is at work on others, and has not come to this one.
	Behind StandingState = "behind"
	// PassedOver: it is at work, and has left this one out. It did the same for others
	// whose turn came later, or for long nothing of the kind. Something about this one,
	// or about this duty, keeps it.
	PassedOver StandingState = "passed over"
	// Unreached: it is at work, and for minutes nothing that it does needed the worker of
	// this turn. The connection to the worker may be the reason.
	Unreached StandingState = "unreached"
)

const (
	// blink is what cannot be told apart: traces are dated in seconds, and clusters are
	// not read at one instant.
	blink = 2 * time.Second
	// breath is how long something may take that an actor at work comes to: MultiKueue
	// was seen to be twelve seconds behind where a hundred Jobs came at once.
	breath = 15 * time.Second
	// pause is for how long an actor at work may do nothing, though something waits for it.
	pause = time.Minute
	// noReply is after how long without any sign from a worker the connection is in doubt.
	noReply = 2 * time.Minute
	// lately is how far back it is looked at how long an actor takes.
	lately = 10 * time.Minute
)

// NewRecord makes a Record of deeds in any order.
func NewRecord(deeds []Deed) *Record {
	r := &Record{Deeds: slices.Clone(deeds)}
	slices.SortStableFunc(r.Deeds, func(a, b Deed) int { return a.Done.Compare(b.Done) })
	return r
}

// Standing judges a turn at a time, both by our own clock. A nil Record is an empty
// one.
func (r *Record) Standing(t Turn, now time.Time) Standing {
	s, served, latest, slowest := r.since(t, now)
	overtaken := latest.After(t.Since)
	// A line whose last one was served long ago does not move.
	isMoving := now.Sub(s.Like.Done) <= max(2*slowest, pause)
	s.State = s.judge(t, now, slowest, served && !overtaken && isMoving, overtaken)
	isClose := !latest.After(t.Since.Add(max(slowest, breath)))
	s.Shuffled = s.State == PassedOver && isClose && s.judge(t, now, slowest, served && isMoving, false) == Behind
	if s.State != Unseen && t.Worker != "" && now.Sub(t.Since) >= noReply && !r.Reached(t.Worker).After(t.Since) {
		s.State = Unreached
	}
	return s
}

// since looks at what the actor did for others since a turn came, or lately: whether one that
// waited for the same step was served, when the latest of these began to wait, and how long the
// actor usually takes.
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
		// Of what is not known to have waited there is no telling in whose turn it was.
		served = served || isSame && !d.Began.IsZero() && d.Done.After(t.Since)
		if isSame {
			latest = later(latest, d.Began)
		}
	}
	return s, served, latest, took.usual()
}

// Reached returns when the actor last did something over its connection to a worker; the
// zero time if that was not seen.
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

// latencies are the two longest times that an actor took, for two objects.
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

// usual returns how long the slowest took. One object that took far longer than all others
// had a reason of its own, and does not count.
func (l *latencies) usual() time.Duration {
	if l.second > 0 && l.longest > 2*max(l.second, breath) {
		return max(blink, l.second)
	}
	return max(blink, l.longest)
}

// judge tells the state from what was found out of the others: how long the slowest of
// them took of late, whether those that were served since were in line before it, and
// whether one whose turn came later was served.
func (s *Standing) judge(t Turn, now time.Time, slowest time.Duration, inOrder, overtaken bool) StandingState {
	waits, idle := now.Sub(t.Since), now.Sub(s.Last.Done)
	// Where others had to wait as long, it is no sign that nobody was served since.
	isUsual := waits <= slowest && idle <= lately
	// Who has come to none of those that wait for so long does not work through them.
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

// others are the deeds for other objects, the latest last. What is dated in the
// future, by a clock that is off, is taken as it is.
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

// PerMinute is an actor's pace in the last minute: how many steps of some duties it
// took, or would take if it went on as it began. A nil Record has none.
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
