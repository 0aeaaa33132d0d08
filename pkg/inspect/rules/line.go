package rules

import (
	"iter"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// longLine is how many objects must wait for the same step before the order
// of actions proves nothing.
const longLine = 5

// markBehind marks sightings as behind if they wait behind one whose actor
// is behind. While an actor has not reached the first of a burst, none of its
// actions can be later than the last of the burst. In a long line, markBehind
// also marks objects that others of the same burst have passed.
func markBehind(sightings []view.Sighting) []view.Sighting {
	length := map[line]int{}
	for _, s := range sightings {
		if s.Awaits != nil {
			length[lineOf(s)]++
		}
	}
	for i, s := range sightings {
		if s.Awaits != nil && s.Awaits.SameBurst && length[lineOf(s)] >= longLine {
			sightings[i].Awaits = s.Awaits.AsBehind()
		}
	}
	return spreadBehind(sightings)
}

// line is a step of an actor for which objects wait.
type line struct {
	actor liveness.Actor
	duty  string
}

func lineOf(s view.Sighting) line { return line{s.Awaits.Actor, s.Awaits.Step()} }

// spreadBehind marks the steps of inactive actors as behind if an earlier
// step of the line is behind.
func spreadBehind(sightings []view.Sighting) []view.Sighting {
	first := map[line]time.Time{}
	for _, s := range sightings {
		if !s.Awaits.IsBehind() {
			continue
		}
		if since, known := first[lineOf(s)]; !known || s.Awaits.Since.Before(since) {
			first[lineOf(s)] = s.Awaits.Since
		}
	}
	for i, s := range sightings {
		if s.Awaits == nil || s.Awaits.State != liveness.Inactive {
			continue
		}
		if since, known := first[lineOf(s)]; known && !s.Awaits.Since.Before(since) {
			sightings[i].Awaits = s.Awaits.AsBehind()
		}
	}
	return sightings
}

// sightingCache keeps the sightings of an inventory that wait for an actor.
type sightingCache struct {
	inventory *inspect.Inventory
	shared    *view.Shared
	// byCode has the sightings of each rule that has run.
	byCode map[string][]view.Sighting
}

func newSightingCache(v *inspect.Inventory) *sightingCache {
	x := &sightingCache{inventory: v, byCode: map[string][]view.Sighting{}}
	x.shared = view.NewShared(v, x.all)
	return x
}

// view returns a new view of the inventory for one rule.
func (x *sightingCache) view() *view.View { return view.New(x.inventory, x.shared) }

// sightingsOf runs a rule and returns its sightings. It keeps only sightings that wait
// for an actor, because there may be thousands of others.
func (x *sightingCache) sightingsOf(r Rule) []view.Sighting {
	v := x.view()
	r.Detect(v)
	seen := markBehind(v.Sightings())
	x.byCode[r.Code] = nil
	for _, s := range seen {
		if s.Awaits != nil {
			x.byCode[r.Code] = append(x.byCode[r.Code], s)
		}
	}
	return seen
}

// all returns the sightings that wait for an actor, of all rules except those
// that sum up.
func (x *sightingCache) all() iter.Seq[view.Sighting] {
	return func(yield func(view.Sighting) bool) {
		for _, r := range All() {
			if r.SumsUp {
				continue
			}
			if _, known := x.byCode[r.Code]; !known {
				x.sightingsOf(r)
			}
			for _, s := range x.byCode[r.Code] {
				if !yield(s) {
					return
				}
			}
		}
	}
}
