package inspect

import "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

// MultiKueueOrigin returns the origin with which MultiKueue has labelled an object that it created,
// "" if there is none.
func (j *Job) MultiKueueOrigin() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.MultiKueueOrigin
}

// OriginUID returns the UID of the origin with which dispatch has labelled a mirror that it
// created, "" if there is none.
func (j *Job) OriginUID() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.OriginUID
}

// IsMirror says whether an object has the mark of a mirror.
func (j *Job) IsMirror() bool { return j.OriginUID() != "" || j.MultiKueueOrigin() != "" }

// Pinned returns the mirror that an origin names, zero if it names none.
func (j *Job) Pinned() delegation.Place {
	if j.Marks == nil {
		return delegation.Place{}
	}
	return j.Marks.Mirror
}

// IsElastic says whether an object may change its size while it runs.
func (j *Job) IsElastic() bool { return j.Marks != nil && j.Marks.Elastic }

// Prebuilt returns the Workload that a mirror names as its own, "" if it names none.
func (j *Job) Prebuilt() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.Prebuilt
}

// Queue returns the LocalQueue that a Job is submitted to, "" if it names none.
func (j *Job) Queue() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.Queue
}
