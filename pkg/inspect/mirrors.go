package inspect

import "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

// SetMirrors sets the Mirrors of all Jobs from the pairs, and a missing Since from the mirror's.
// Mirrors stays nil if the pairs do not prove it. SetMirrors returns the Jobs of MultiKueue whose
// management cluster must be read to know more.
//
// isComplete says whether the pairs include all Jobs of a namespace on every existing context, so
// that a mirror which they lack does not exist.
func SetMirrors(pairs *Pairs, jobs []*Job, isComplete func(namespace string) bool) (ask []*Job) {
	for _, j := range jobs {
		j.Mirrors = []Ref{}
	}
	for _, p := range pairs.Pairs {
		j := p.Origin
		if j.Mirrors == nil {
			// The origin is not one of jobs.
			continue
		}
		if j.Mirrors = p.MirrorRefs(); len(j.Mirrors) > 0 {
			if j.Since == nil {
				j.Since = p.Mirrors[0].Job.Since
			}
			continue
		}
		switch {
		case j.Status.IsFinished():
			// MultiKueue deletes the mirrors of finished Jobs; dispatch keeps them for a day.
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
