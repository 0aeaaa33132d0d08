package rules

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// stalls are the hops of a Job's way at which it is somebody's turn, and nothing
// shows that they acted, or what they did leads nowhere (JM121 to JM128).
func stalls() []Rule {
	return []Rule{
		mirrorNotTakenUp(), podsNotTakenUp(), finishedEarly(), deactivated(), editedWhileAdmitted(), sameClusterTwice(),
		startedAgainAndAgain(), queueOutOfService(),
	}
}

// turn is an actor's turn on an object, as rules see it.
type turn struct {
	inspect.Turn
	standing inspect.Standing
}

// turnOf judges the turn of an actor that waits since a time of its own cluster's clock.
func (v *View) turnOf(a inspect.Actor, duty inspect.Duty, subject string, since time.Time) turn {
	t := inspect.Turn{Actor: a, Duty: duty, Subject: subject, Since: v.inventory.Ours(a.Context, since)}
	return turn{t, v.inventory.Standing(t)}
}

// isAtWork says whether the actor is seen to work on others: then it is behind, or has
// left this one out, and is not dead.
func (t *turn) isAtWork() bool { return t.standing.State != inspect.Unseen }

// evidence quotes what the actor was seen to do last.
func (t *turn) evidence() string {
	if t.standing.Last == (inspect.Deed{}) {
		return fmt.Sprintf("%s: in what was read, nothing shows that %s has ever done anything", t.Actor.Context, t.Actor)
	}
	return fmt.Sprintf("%s: the last that %s is seen to have done for others was at %s", t.Actor.Context, t.Actor, day(t.standing.Last.Done))
}

// eachLiveMirror visits the mirrors that are to run now.
func (v *View) eachLiveMirror(visit func(p inspect.Pair, mirror *inspect.Job, f *inspect.Facts)) {
	for _, p := range v.Pairs() {
		if !p.Origin.IsOpen() {
			continue
		}
		for _, m := range p.Mirrors {
			f, ok := v.Facts(m.Job.Context)
			if ok && m.Current && m.Job.ManagedBy.IsBuiltIn() && m.Job.IsOpen() {
				visit(p, m.Job, f)
			}
		}
	}
}
