package rules

import (
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
