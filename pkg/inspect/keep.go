package inspect

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// KeepUnread adds to each tally the Jobs that the last tally of its context has and that could not
// be read this time: all Jobs of a context that does not answer, and the Jobs of unreadable kinds.
// It adds no Job that another tally has read, through another context of the same cluster. It must
// be called before Merge.
func KeepUnread(tallies, last []*Tally) {
	isRead := func(t *Tally) bool { return t.Err == nil && len(t.partial) == 0 }
	if !slices.ContainsFunc(tallies, func(t *Tally) bool { return !isRead(t) }) {
		return
	}
	read := objectIDs{}
	for _, t := range tallies {
		for j := range t.jobs {
			read.add(idOf(j))
		}
	}
	for _, t := range tallies {
		i := slices.IndexFunc(last, func(before *Tally) bool { return before.Context == t.Context })
		if isRead(t) || i < 0 {
			continue
		}
		mayLack := t.mayLack()
		for j, isListed := range last[i].jobs {
			if !mayLack(j) || !read.add(idOf(j)) {
				continue
			}
			if isListed {
				t.Add(*j)
			} else {
				t.Hide(*j)
			}
		}
	}
}

// jobs calls visit for the Jobs of a tally, listed or not, in a fixed order.
func (t *Tally) jobs(visit func(j *Job, isListed bool) bool) {
	for _, owner := range slices.Sorted(maps.Keys(t.groups)) {
		for _, j := range t.groups[owner].Jobs {
			if !visit(j, true) {
				return
			}
		}
	}
	for _, j := range t.hidden {
		if !visit(j, false) {
			return
		}
	}
}

// mayLack returns a function that says whether a tally may lack an existing Job.
func (t *Tally) mayLack() func(*Job) bool {
	if t.Err != nil {
		return func(*Job) bool { return true }
	}
	unread, read := sets.New[Part](), sets.New[Part]()
	for _, gap := range t.partial {
		unread.Insert(gap.Part)
	}
	for i := range t.Kinds {
		read.Insert(PartOf(t.Kinds[i]))
	}
	return func(j *Job) bool {
		part := PartOf(j.Row())
		return unread.Has(part) || unread.Has(PartKinds) && !read.Has(part)
	}
}
