package rules

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Lease is that of a Job that is dispatched, nil if there is none; held is whether
// anybody holds it.
func (v *View) Lease(j *inspect.Job) (l *inspect.Lease, held, ok bool) {
	f, _ := v.Facts(j.Context)
	v.note(f, inspect.PartLeases)
	l, ok = f.LeaseOf(j)
	return l, v.inventory.IsHeld(j.Context, l), ok
}

// clusterOf is what was read of the cluster that a mark names, nil if nothing was, or
// if that cannot be told.
func (v *View) clusterOf(place delegation.Place) *inspect.Facts {
	for _, f := range v.Clusters() {
		if place.On(f.Cluster()) == delegation.CertainlySame {
			return f
		}
	}
	return nil
}

// objectAt finds the object that a mark names by its uid, on whatever cluster; nil if
// it was not found.
func (v *View) objectAt(place delegation.Place) (*inspect.Facts, *inspect.Job) {
	for _, f := range v.Clusters() {
		if j := v.jobOfUID(f, place.UID); j != nil && place.UID != "" && place.On(f.Cluster()) != delegation.CertainlyOther {
			return f, j
		}
	}
	return nil, nil
}

// spot is what is found where an origin says that its mirror is.
type spot struct {
	// facts is what was read of that cluster, nil if nothing was.
	facts *inspect.Facts
	// mirror is the origin's mirror, other another Job in its place.
	mirror, other *inspect.Job
	// isEmpty is whether there certainly is no Job.
	isEmpty bool
	// isCopy is whether what the origin names is the mirror of another origin.
	isCopy bool
}

// isGone says whether the mirror is certainly not there.
func (s spot) isGone() bool { return s.isEmpty || s.other != nil }

// isMirrorOfAnother reports whether a Job carries our label with the UID of another origin: the
// annotation that names it came with a copy of that origin.
func isMirrorOfAnother(j, origin *inspect.Job) bool {
	return j.Marks != nil && j.Marks.OriginUID != "" && j.Marks.OriginUID != origin.UID
}

// spotOf looks where an origin says that its mirror is.
func (v *View) spotOf(origin *inspect.Job) spot {
	place := origin.Pinned()
	if f, j := v.objectAt(place); j != nil && j.UID != origin.UID {
		if isMirrorOfAnother(j, origin) {
			return spot{facts: f, isCopy: true}
		}
		return spot{facts: f, mirror: j}
	}
	f := v.clusterOf(place)
	if f == nil {
		return spot{}
	}
	j := v.jobNamed(f, origin, place.Namespace, place.Name)
	switch {
	case j == nil:
		// Another namespace may not have been read.
		return spot{facts: f, isEmpty: place.Namespace == origin.Namespace && v.isMissing(f, origin, place.Namespace, place.Name)}
	case j.UID == place.UID, j.Marks != nil && j.Marks.OriginUID == origin.UID:
		return spot{facts: f, mirror: j}
	}
	return spot{facts: f, other: j}
}

// dispatchedMirror is the mirror that carries dispatch's mark of an origin, nil if
// none was found.
func dispatchedMirror(p inspect.Pair) *inspect.Job {
	for _, m := range p.Mirrors {
		if m.Is(inspect.ByDispatch) {
			return m.Job
		}
	}
	return nil
}
