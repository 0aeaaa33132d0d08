package inspect

import "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

// SetMirrors sets the Mirrors of all Jobs, and of those that do not tell since when they
// are in their state, that time too: what the Jobs themselves tell, paired up. Mirrors
// stays nil where it cannot be known so. Returned are those of MultiKueue's Jobs whose
// management cluster has to be asked.
//
// isComplete says whether the pairs were made of every Job of a namespace on every context
// there is, so that what they lack is not there.
func SetMirrors(pairs *Pairs, jobs []*Job, isComplete func(namespace string) bool) (ask []*Job) {
	for _, j := range jobs {
		j.Mirrors = []Ref{}
	}
	for _, p := range pairs.Pairs {
		j := p.Origin
		if j.Mirrors == nil {
			// It is not shown.
			continue
		}
		if j.Mirrors = currentRefs(p); len(j.Mirrors) > 0 {
			if j.Since == nil {
				j.Since = p.Mirrors[0].Job.Since
			}
			continue
		}
		switch {
		case j.Status.IsFinished():
			// MultiKueue deletes its mirrors then; dispatch leaves them for a day.
			if j.Pinned().UID != "" && !isComplete(j.Namespace) {
				j.Mirrors = nil
			}
		case j.ManagedBy == delegation.MultiKueue:
			j.Mirrors = nil
			ask = append(ask, j)
		case j.Status == delegation.Running || !isComplete(j.Namespace):
			j.Mirrors = nil
		}
	}
	return ask
}
