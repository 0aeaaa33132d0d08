package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Awaited is an actor's turn that a sighting rests on, and how it stands.
type Awaited struct {
	inspect.Turn
	inspect.Standing
}

// isBehind says whether the actor is at work, and has just not come to it.
func (a *Awaited) isBehind() bool { return a != nil && a.State == inspect.Behind }

// behind returns the same turn of an actor that is just behind.
func (a *Awaited) behind() *Awaited {
	behind := *a
	behind.State = inspect.Behind
	return &behind
}

// isFresh reports whether the turn came a moment ago: an actor needs seconds for each step. A
// mirror gets longer to be resumed, because mirrors that were resumed vanish when they end, so that
// a busy Kueue leaves no traces.
func (a *Awaited) isFresh(now time.Time) bool {
	if a == nil {
		return false
	}
	limit := inspect.Settling
	if a.Duty == inspect.DutyResume {
		limit *= 3
	}
	return now.Sub(a.Since) < limit
}

// isAtWork says whether the actor was seen at work on others since its turn came, or
// just before.
func (a *Awaited) isAtWork() bool { return a != nil && a.State != inspect.Unseen }

// proof quotes what shows that an actor is at work which has passed over something;
// none where nothing does.
func (a *Awaited) proof() []string {
	if !a.isAtWork() {
		return nil
	}
	text := fmt.Sprintf("%s: %s is at work: it last did something for another one at %s", a.Actor.Context, a.Actor, stamp(a.Last.Done))
	if a.Like.Done.After(a.Since) {
		text = fmt.Sprintf("%s: %s is at work: another one that waited for %s had it at %s", a.Actor.Context, a.Actor, a.duty(), stamp(a.Like.Done))
	}
	return []string{text}
}

// trace quotes what the actor was seen to do last.
func (a *Awaited) trace() string {
	if a.Last == (inspect.Deed{}) {
		return fmt.Sprintf("%s: in what was read, nothing shows that %s has ever done anything", a.Actor.Context, a.Actor)
	}
	return fmt.Sprintf("%s: the last that %s is seen to have done for others was at %s", a.Actor.Context, a.Actor, day(a.Last.Done))
}

// isLike says whether a deed is of the duty that is waited for.
func (a *Awaited) isLike(d inspect.Deed) bool { return d.Duty == a.Duty && d.Target == a.Target }

// duty is what is waited for, and where.
func (a *Awaited) duty() string {
	if a.Target == "" {
		return string(a.Duty)
	}
	return string(a.Duty) + " on " + a.Target
}

// awaits is the turn of an actor, which came at a time by the clock of a context's
// cluster, and how it stands.
func (v *View) awaits(t inspect.Turn, context string, since time.Time) *Awaited {
	t.Since = v.inventory.Ours(context, since)
	return &Awaited{Turn: t, Standing: v.inventory.Standing(t)}
}

// awaitsKueue is the turn of a cluster's Kueue on a Workload, there or on a worker.
func (v *View) awaitsKueue(f *inspect.Facts, w *kueue.Workload, duty inspect.Duty, target, context string, since time.Time) *Awaited {
	return v.awaits(inspect.Turn{
		Actor: inspect.Actor{Role: inspect.RoleKueue, Context: f.Context}, Duty: duty, Target: target, Subject: inspect.SubjectOf(w.Namespace, w.Name),
	}, context, since)
}

// awaitsReach is awaitsKueue for a duty that needs the connection to a worker.
func (v *View) awaitsReach(f *inspect.Facts, w *kueue.Workload, duty inspect.Duty, worker, context string, since time.Time) *Awaited {
	t := inspect.Turn{
		Actor: inspect.Actor{Role: inspect.RoleKueue, Context: f.Context}, Duty: duty, Worker: worker, Subject: inspect.SubjectOf(w.Namespace, w.Name),
	}
	if duty == inspect.DutyCopy || duty == inspect.DutyMirror {
		t.Target = worker
	}
	return v.awaits(t, context, since)
}

// longLine is how many have to wait for the same step until its order proves nothing.
const longLine = 5

// inLine takes those that wait in a line for one that is just behind as well: where an
// actor has not come to the first of a burst yet, nothing that it does shows for the last,
// which nobody came behind. In a long line, it does the same with those that others of the
// same burst have passed.
func inLine(sightings []Sighting) []Sighting {
	length := map[line]int{}
	for _, s := range sightings {
		if s.Awaits != nil {
			length[lineOf(s)]++
		}
	}
	for i, s := range sightings {
		if s.Awaits != nil && s.Awaits.Shuffled && length[lineOf(s)] >= longLine {
			sightings[i].Awaits = s.Awaits.behind()
		}
	}
	return behindTogether(sightings)
}

// line is a step of an actor for which objects wait.
type line struct {
	actor inspect.Actor
	duty  string
}

func lineOf(s Sighting) line { return line{s.Awaits.Actor, s.Awaits.duty()} }

// behindTogether takes those of a line for behind of which nothing shows, if an earlier one is.
func behindTogether(sightings []Sighting) []Sighting {
	first := map[line]time.Time{}
	for _, s := range sightings {
		if !s.Awaits.isBehind() {
			continue
		}
		if since, known := first[lineOf(s)]; !known || s.Awaits.Since.Before(since) {
			first[lineOf(s)] = s.Awaits.Since
		}
	}
	for i, s := range sightings {
		if s.Awaits == nil || s.Awaits.State != inspect.Unseen {
			continue
		}
		if since, known := first[lineOf(s)]; known && !s.Awaits.Since.Before(since) {
			sightings[i].Awaits = s.Awaits.behind()
		}
	}
	return sightings
}

// told is the sighting with all that is to be said of it. Where an actor at work has
// passed it over, the evidence says so.
func (s Sighting) told() Sighting {
	if s.Tell != nil {
		s.Tell(&s)
	}
	s.Evidence = append(slices.Clip(s.Evidence), s.Awaits.proof()...)
	return s
}
