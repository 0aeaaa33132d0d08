package rules

import (
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

// reaction is how long a component that works may take to react, whatever the grace: a
// kubelet was seen to take eight seconds, and more under load.
const reaction = 15 * time.Second

// hadTime returns whether a component had time to react to what happened on a cluster.
func (v *View) hadTime(context string, since time.Time) bool {
	return v.Age(context, since) >= reaction
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
