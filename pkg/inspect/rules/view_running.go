package rules

import (
	"strings"
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

// objectName is what an object is called on its cluster.
type objectName struct{ group, kind, namespace, name string }

// nameOf is the name of an object of j's kind; j's own, if it is given that.
func nameOf(j *inspect.Job, namespace, name string) objectName {
	group, _, hasGroup := strings.Cut(j.APIVersion, "/")
	if !hasGroup {
		group = ""
	}
	return objectName{group, j.Kind, namespace, name}
}

// jobFinder finds objects by their names. It indexes a cluster once any rule asks
// about it, for most rules never have to ask.
type jobFinder struct{ view *View }

func newJobFinder(v *View) *jobFinder { return &jobFinder{view: v} }

// find is the object of like's kind and of that name on a cluster, nil if there is
// none among what was read.
func (x *jobFinder) find(f *inspect.Facts, like *inspect.Job, namespace, name string) *inspect.Job {
	known := x.view.shared
	if known.byName == nil {
		known.byName = map[string]map[objectName]*inspect.Job{}
	}
	jobs := known.byName[f.Context]
	if jobs == nil {
		jobs = map[objectName]*inspect.Job{}
		for _, j := range x.view.Jobs(f) {
			jobs[nameOf(j, j.Namespace, j.Name)] = j
		}
		known.byName[f.Context] = jobs
	}
	return jobs[nameOf(like, namespace, name)]
}

// isMissing says whether there certainly is no object of like's kind and of that
// name on a cluster.
func (x *jobFinder) isMissing(f *inspect.Facts, like *inspect.Job, namespace, name string) bool {
	return x.find(f, like, namespace, name) == nil && x.view.KnowsAll(f, like.Row())
}
