package running

import (
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// reaction is how long a working component may take to react, whatever the
// grace period: a kubelet was seen to take eight seconds, and more under
// load.
const reaction = 15 * time.Second

// hadTimeToReact reports whether a component had time to react to an event on a
// cluster.
func hadTimeToReact(v *view.View, context string, since time.Time) bool {
	return v.Age(context, since) >= reaction
}

// eachLiveMirror visits the mirrors that should run now.
func eachLiveMirror(v *view.View, visit func(p inspect.Pair, mirror *inspect.Job, f *inspect.Facts)) {
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
