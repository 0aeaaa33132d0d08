package rules

import (
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// On is what the clock of one context's cluster showed when that of another one
// showed t, so that a finding about an object can be dated by its copy.
func (v *View) On(context, from string, t time.Time) time.Time {
	if t.IsZero() || context == from {
		return t
	}
	ahead := v.Age(context, v.Now()) - v.Age(from, v.Now())
	if ahead.Abs() < sameClock {
		// How far apart two clocks are is known to a second or two: a time must not change
		// from one reading to the next.
		return t
	}
	return t.Add(ahead)
}

// sameClock is how far apart two clocks have to be before times are converted.
const sameClock = 2 * time.Second

// CopyOn is the copy of a submission's Workload on a worker; ok is false where the
// worker could not be read. The copy's Workload is nil if there is none.
func (v *View) CopyOn(s Submission, cluster string) (c Copy, ok bool) {
	worker, _ := v.Worker(s.Manager, cluster)
	if worker == nil || s.Workload == nil {
		return Copy{Cluster: cluster}, false
	}
	w, ok := v.Workload(worker, s.Workload.Namespace, s.Workload.Name)
	return Copy{Cluster: cluster, Worker: worker, Workload: w}, ok
}

// MadeFor are the Workloads that a cluster's own Kueue made for a Job there, and
// those that the Job controls.
func (v *View) MadeFor(f *inspect.Facts, j *inspect.Job) ([]*kueue.Workload, bool) {
	return v.WorkloadsOf(inspect.Pair{Origin: j}, f)
}

// jobNamed is the object of like's kind and of that name on a cluster, nil if there is
// none among what was read.
func (v *View) jobNamed(f *inspect.Facts, like *inspect.Job, namespace, name string) *inspect.Job {
	v.read.Insert(inspect.PartJobs)
	return f.JobNamed(inspect.NameLike(like, namespace, name))
}

// isMissing says whether there certainly is no object of like's kind and of that
// name on a cluster.
func (v *View) isMissing(f *inspect.Facts, like *inspect.Job, namespace, name string) bool {
	return v.jobNamed(f, like, namespace, name) == nil && v.KnowsAll(f, like.Row())
}

// jobOfUID is the object of a cluster that has a uid, nil if there is none among what was
// read.
func (v *View) jobOfUID(f *inspect.Facts, uid string) *inspect.Job {
	v.read.Insert(inspect.PartJobs)
	return f.JobOf(uid)
}

// partsOf are what an object controls on its cluster.
func (v *View) partsOf(f *inspect.Facts, j *inspect.Job) []*inspect.Job {
	v.read.Insert(inspect.PartJobs)
	return f.PartsOf(j)
}
