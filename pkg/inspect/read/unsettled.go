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
	kind  delegation.Kind
	state delegation.State
}

// settle gives the object its status.
func (r *read) settle(claimed bool) inspect.Job {
	// What a silent controller runs elsewhere has no status that could be copied.
	claimed = claimed || r.kind.Reading.Silent != "" && r.job.Marks != nil && !r.job.Marks.Mirror.IsZero()
	r.job.Status = r.kind.StatusOf(r.job.ManagedBy, r.state, claimed)
	r.job.Since = r.since()
	return r.job
}

// since is when the object came into its state, as far as it tells.
func (r *read) since() *metav1.Time {
	switch r.job.Status {
	case delegation.Complete, delegation.Failed:
		return r.job.FinishedTime
	case delegation.Unclaimed:
		return &r.job.CreationTimestamp
	case delegation.Running:
		if r.job.StartTime != nil {
			return r.job.StartTime
		}
	case delegation.Suspended:
		if since := r.kind.SuspendedSince(r.state); !since.IsZero() {
			return &metav1.Time{Time: since}
		}
	default:
	}
	return r.job.StatusWrittenAt
}

// needsClaim says whether settle has to know what it is told.
func (r *read) needsClaim() bool {
	return delegation.NeedsClaim(r.job.ManagedBy, r.state) && !r.kind.Template
}
