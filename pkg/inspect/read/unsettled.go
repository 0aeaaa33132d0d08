package read

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// read is an object whose status may still depend on another object.
type read struct {
	job   inspect.Job
	kind  *delegation.Kind
	state delegation.State
	// err is why the object cannot be decoded.
	err error
}

// settle returns the object with its status. claimed is whether a Workload exists for it.
func (r *read) settle(claimed bool) inspect.Job {
	// An object that a silent controller runs on another cluster has no status to copy.
	claimed = claimed || r.kind.Indicators.ChildKind != "" && r.job.Marks != nil && !r.job.Marks.Mirror.IsZero()
	job := r.job
	job.Status = r.kind.StatusOf(job.ManagedBy, r.state, claimed)
	job.Since = r.since(&job)
	return job
}

// since returns when the object entered the status in j, as far as the object shows it.
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

// needsClaim says whether the status depends on settle's argument.
func (r *read) needsClaim() bool {
	return delegation.NeedsClaim(r.job.ManagedBy, r.state) && !r.kind.Template
}
