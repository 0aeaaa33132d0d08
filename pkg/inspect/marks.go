package inspect

import "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

// MultiKueueOrigin is by which name MultiKueue has marked an object that it made, "" if it
// did not.
func (j *Job) MultiKueueOrigin() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.MultiKueueOrigin
}

// OriginUID is the uid of the origin by which dispatch has marked a mirror that it made, ""
// if it did not.
func (j *Job) OriginUID() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.OriginUID
}

// IsMirror is whether an object carries the mark of a mirror.
func (j *Job) IsMirror() bool { return j.OriginUID() != "" || j.MultiKueueOrigin() != "" }

// Pinned is where an origin says that its mirror is, zero if it does not say.
func (j *Job) Pinned() delegation.Place {
	if j.Marks == nil {
		return delegation.Place{}
	}
	return j.Marks.Mirror
}

// IsElastic is whether an object may change its size while it runs.
func (j *Job) IsElastic() bool { return j.Marks != nil && j.Marks.Elastic }

// Prebuilt is the Workload that a mirror runs under, "" if it names none.
func (j *Job) Prebuilt() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.Prebuilt
}

// Queue is the LocalQueue that a Job is submitted to, "" if it names none.
func (j *Job) Queue() string {
	if j.Marks == nil {
		return ""
	}
	return j.Marks.Queue
}
