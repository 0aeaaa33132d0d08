package read

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// read is an object whose status may still depend on what only another object
// can tell.
type read struct {
	job   inspect.Job
	kind  *delegation.Kind
	state delegation.State
	// err is why it makes no sense.
	err error
}

// settle is the object with its status.
func (r *read) settle(claimed bool) inspect.Job {
	// What a silent controller runs elsewhere has no status that could be copied.
	claimed = claimed || r.kind.Reading.Silent != "" && r.job.Marks != nil && !r.job.Marks.Mirror.IsZero()
	job := r.job
	job.Status = r.kind.StatusOf(job.ManagedBy, r.state, claimed)
	job.Since = r.since(&job)
	return job
}

// since is when the object, which is j with its status, came into that, as far as it tells.
func (r *read) since(j *inspect.Job) *metav1.Time {
	switch j.Status {
	case delegation.Complete, delegation.Failed:
		return j.FinishedTime
	case delegation.Unclaimed:
		return j.CreationTimestamp.DeepCopy()
	case delegation.Running:
		if j.StartTime != nil {
			return j.StartTime
		}
	case delegation.Suspended:
		if since := r.kind.SuspendedSince(r.state); !since.IsZero() {
			return &metav1.Time{Time: since}
		}
	default:
	}
	return j.StatusWrittenAt
}

// needsClaim says whether settle has to know what it is told.
func (r *read) needsClaim() bool {
	return delegation.NeedsClaim(r.job.ManagedBy, r.state) && !r.kind.Template
}
