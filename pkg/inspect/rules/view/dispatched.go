package view

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Lease returns the Lease of a Job that is dispatched, nil if there is none. held is whether a
// dispatcher holds it.
func (v *View) Lease(j *inspect.Job) (l *inspect.Lease, held, ok bool) {
	f, _ := v.Facts(j.Context)
	v.CanRead(f, inspect.PartLeases)
	l, ok = f.LeaseOf(j)
	return l, v.inventory.IsHeld(j.Context, l), ok
}

// ClusterOf returns the cluster that a mark names, nil if it was not read or is uncertain.
func (v *View) ClusterOf(place delegation.Place) *inspect.Facts {
	for _, f := range v.Clusters() {
		if place.On(f.Cluster()) == delegation.CertainlySame {
			return f
		}
	}
	return nil
}

// objectAt returns the object that a mark names by its UID, and its cluster, nil if it was not
// found.
func (v *View) objectAt(place delegation.Place) (*inspect.Facts, *inspect.Job) {
	for _, f := range v.Clusters() {
		if j := v.JobByUID(f, place.UID); j != nil && place.UID != "" && place.On(f.Cluster()) != delegation.CertainlyOther {
			return f, j
		}
	}
	return nil, nil
}

// PinnedMirror is what exists at the place that an origin names as that of its mirror.
type PinnedMirror struct {
	// Facts is that cluster, nil if it was not read.
	Facts *inspect.Facts
	// Mirror is the origin's mirror, Other another Job in its place.
	Mirror, Other *inspect.Job
	// IsEmpty is whether there certainly is no Job.
	IsEmpty bool
	// IsCopy is whether the origin names the mirror of another origin.
	IsCopy bool
}

// IsGone reports whether the mirror certainly does not exist.
func (s PinnedMirror) IsGone() bool { return s.IsEmpty || s.Other != nil }

// isMirrorOfAnother reports whether a Job carries our label with the UID of another origin: the
// annotation that names it came with a copy of that origin.
func isMirrorOfAnother(j, origin *inspect.Job) bool {
	return j.Marks != nil && j.Marks.OriginUID != "" && j.Marks.OriginUID != origin.UID
}

// PinnedMirror looks up the place that an origin names as that of its mirror.
func (v *View) PinnedMirror(origin *inspect.Job) PinnedMirror {
	place := origin.Pinned()
	if f, j := v.objectAt(place); j != nil && j.UID != origin.UID {
		if isMirrorOfAnother(j, origin) {
			return PinnedMirror{Facts: f, IsCopy: true}
		}
		return PinnedMirror{Facts: f, Mirror: j}
	}
	f := v.ClusterOf(place)
	if f == nil {
		return PinnedMirror{}
	}
	j := v.JobNamed(f, origin, place.Namespace, place.Name)
	switch {
	case j == nil:
		// Another namespace may not have been read.
		return PinnedMirror{Facts: f, IsEmpty: place.Namespace == origin.Namespace && v.IsMissing(f, origin, place.Namespace, place.Name)}
	case j.UID == place.UID, j.Marks != nil && j.Marks.OriginUID == origin.UID:
		return PinnedMirror{Facts: f, Mirror: j}
	}
	return PinnedMirror{Facts: f, Other: j}
}

// DispatchedMirror returns the mirror with dispatch's mark of an origin, nil if there is none.
func DispatchedMirror(p inspect.Pair) *inspect.Job {
	for _, m := range p.Mirrors {
		if m.Is(inspect.ByDispatch) {
			return m.Job
		}
	}
	return nil
}
