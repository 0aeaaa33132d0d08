package inspect

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// SetMirrors sets the Mirrors of all Jobs from the pairs, and a missing Since from the mirror's.
// Mirrors stays nil if the pairs do not prove it. SetMirrors returns the Jobs of MultiKueue whose
// management cluster must be read to know more: their mirror, or which of several it has chosen.
//
// isComplete reports whether the pairs include all Jobs of a namespace on every existing context, so
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
			if len(j.Mirrors) > 1 && j.ManagedBy == delegation.MultiKueue {
				ask = append(ask, j)
			}
			continue
		}
		switch {
		case j.mayHideMirror():
			j.Mirrors = nil
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

// mayHideMirror reports whether an object may have, or have had, a mirror that no mark and no name shows: its owner
// marks none, and has picked it up.
func (j *Job) mayHideMirror() bool {
	return j.IsDelegated() && !marks(j.ManagedBy) && j.Status != delegation.Unclaimed
}

// NoMirrors returns the Mirrors of an object without a known mirror, for which all contexts were read: nil if it may
// have one under another name.
func (j *Job) NoMirrors() []Ref {
	if j.mayHideMirror() {
		return nil
	}
	return []Ref{}
}

// takeStatusFromParts sets the status of objects whose controller does not write it while they run. It takes
// it from the objects that they control, or from their Pods.
func (f *Facts) takeStatusFromParts() {
	silent := map[string]*Job{}
	for _, j := range f.Jobs {
		if j.Status == delegation.Unknown && j.Row().Indicators.ChildKind != "" {
			silent[j.UID] = j
		}
	}
	if len(silent) == 0 {
		return
	}
	for _, part := range f.Jobs {
		if part.Controller == nil || part.DeletedAt != nil {
			continue
		}
		if j := silent[string(part.Controller.UID)]; j != nil && isUnderWay(part.Status) {
			j.Status, j.Since = part.Status, part.Since
		}
	}
	for _, j := range silent {
		for _, p := range f.PodsOf(j) {
			if p.hasRun() && !p.CreationTimestamp.Before(&j.CreationTimestamp) && j.Status != delegation.Running {
				j.Status, j.Since = delegation.Running, nil
			}
		}
	}
}

// isUnderWay reports whether an object with this status was picked up and has not ended.
func isUnderWay(s delegation.Status) bool {
	return s == delegation.Running || s == delegation.Pending || s == delegation.Suspended
}

// OrphanPair returns a mirror without a known origin as a pair.
func OrphanPair(j *Job) Pair {
	relation := ByMultiKueue
	if j.OriginUID() != "" {
		relation = ByDispatch
	}
	return Pair{Mirrors: []Mirror{{Job: j, Relation: relation, Current: false}}}
}

// Subjects returns the objects that can be traced: the pairs, the orphans, and Jobs that are
// neither, as pairs without mirrors. Jobs in a queue of Kueue are always included, the others only
// if no such Job exists.
func (v *Inventory) Subjects() []Pair {
	subjects := slices.Clone(v.Pairs.Pairs)
	for _, orphan := range v.Pairs.Orphans {
		subjects = append(subjects, OrphanPair(orphan))
	}
	known := sets.New[*Job]()
	for _, p := range subjects {
		known.Insert(p.Jobs()...)
		known.Insert(p.Namesakes...)
	}
	var queued, others []Pair
	for _, f := range v.Clusters {
		for _, j := range f.Jobs {
			switch {
			case known.Has(j):
			case j.Queue() != "":
				queued = append(queued, Pair{Origin: j})
			default:
				others = append(others, Pair{Origin: j})
			}
		}
	}
	if subjects = append(subjects, queued...); len(subjects) == 0 {
		return others
	}
	return subjects
}

// Tracked is what a command follows over several readings: a Job, or all Jobs with one name. It
// tells deleted Jobs from those whose cluster did not answer.
type Tracked struct {
	// jobs are the origins and current mirrors, as they were last seen.
	jobs []*Job
}

// See records where Jobs are. Jobs that an earlier reading had remain if this one could not read
// their clusters.
func (t *Tracked) See(v *Inventory, pairs ...Pair) {
	var seen []*Job
	for _, p := range pairs {
		seen = append(seen, p.tracked()...)
	}
	for _, j := range t.jobs {
		isSeen := slices.ContainsFunc(seen, func(other *Job) bool { return idOf(j).isSame(idOf(other)) })
		if !isSeen && v.mayHave(j) {
			seen = append(seen, j)
		}
	}
	t.jobs = seen
}

// Has reports whether a pair is about a tracked Job. The mirror of an older Job with the same name
// does not count.
func (t *Tracked) Has(p Pair) bool {
	return slices.ContainsFunc(p.tracked(), func(j *Job) bool {
		return slices.ContainsFunc(t.jobs, func(other *Job) bool { return idOf(j).isSame(idOf(other)) })
	})
}

// UnreadIn returns the contexts that had a tracked Job and that an inventory could not read. Without
// such a context, a Job that the inventory lacks was deleted.
func (t *Tracked) UnreadIn(v *Inventory) (contexts []string) {
	for _, j := range t.jobs {
		if v.mayHave(j) && !slices.Contains(contexts, j.Context) {
			contexts = append(contexts, j.Context)
		}
	}
	return contexts
}

// mayHave reports whether the context of a Job, or the Job's kind there, could not be read.
func (v *Inventory) mayHave(j *Job) bool {
	f := v.Facts(j.Context)
	if f == nil || f.Err != nil {
		return f == nil || !v.isCovered(f)
	}
	return f.Gaps[PartOf(j.Row())] != nil
}

// tracked returns the origin and the current mirrors; without an origin, all mirrors.
func (p Pair) tracked() []*Job {
	if p.Origin == nil {
		return p.Jobs()
	}
	jobs := []*Job{p.Origin}
	for _, m := range p.Current() {
		jobs = append(jobs, m.Job)
	}
	return jobs
}
