package rules

import (
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// On is what the clock of one context's cluster showed when that of another one
// showed t, so that a finding about an object can be dated by its copy.
func (v *View) On(context, from string, t time.Time) time.Time {
	if t.IsZero() || context == from {
		return t
	}
	ahead := v.Age(context, v.Now())
	return v.Now().Add(ahead - v.Age(from, t))
}

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

// jobFinder finds Jobs by their names. It indexes a cluster once it is asked about
// it, for most rules never have to ask.
type jobFinder struct {
	view   *View
	byName map[string]map[string]*inspect.Job
}

func newJobFinder(v *View) *jobFinder {
	return &jobFinder{view: v, byName: map[string]map[string]*inspect.Job{}}
}

// find is the Job of that name on a cluster, nil if there is none.
func (x *jobFinder) find(f *inspect.Facts, namespace, name string) *inspect.Job {
	jobs := x.byName[f.Context]
	if jobs == nil {
		jobs = map[string]*inspect.Job{}
		for _, j := range x.view.Jobs(f) {
			jobs[j.Namespace+"/"+j.Name] = j
		}
		x.byName[f.Context] = jobs
	}
	return jobs[namespace+"/"+name]
}
