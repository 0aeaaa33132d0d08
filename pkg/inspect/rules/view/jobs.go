package view

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// JobOf returns the Job that a Workload of the same cluster was made for, nil if it was not
// found.
func (v *View) JobOf(f *inspect.Facts, w *kueue.Workload) *inspect.Job {
	uid := w.Labels[delegation.JobUIDLabel]
	if owner := metav1.GetControllerOf(w); owner != nil {
		uid = cmp.Or(string(owner.UID), uid)
	}
	return v.JobByUID(f, uid)
}

// MadeFor returns the Workloads that a cluster's own Kueue made for a Job there, and those
// that the Job controls.
func (v *View) MadeFor(f *inspect.Facts, j *inspect.Job) ([]*kueue.Workload, bool) {
	return v.WorkloadsOf(inspect.Pair{Origin: j}, f)
}

// JobNamed returns the object of a cluster with the kind of another one and a name, nil if it
// was not found.
func (v *View) JobNamed(f *inspect.Facts, like *inspect.Job, namespace, name string) *inspect.Job {
	v.read.Insert(inspect.PartJobs)
	return f.JobNamed(inspect.NameLike(like, namespace, name))
}

// IsMissing reports whether a cluster certainly has no object with the kind of another one and
// a name.
func (v *View) IsMissing(f *inspect.Facts, like *inspect.Job, namespace, name string) bool {
	return v.JobNamed(f, like, namespace, name) == nil && v.KnowsAll(f, like.Row())
}

// JobByUID returns the object of a cluster with a UID, nil if it was not found.
func (v *View) JobByUID(f *inspect.Facts, uid string) *inspect.Job {
	v.read.Insert(inspect.PartJobs)
	return f.JobOf(uid)
}

// PartsOf returns the objects that an object controls on its cluster.
func (v *View) PartsOf(f *inspect.Facts, j *inspect.Job) []*inspect.Job {
	v.read.Insert(inspect.PartJobs)
	return f.PartsOf(j)
}

// IsWaiting reports whether an unclaimed Job should be picked up. A Job that was created
// suspended, and that no queue resumes, waits for its author.
func IsWaiting(j *inspect.Job) bool {
	return j.Status == delegation.Unclaimed && (!j.Suspended || j.Queue() != "")
}

// IsMadeFor reports whether a Workload was made for a Job.
func IsMadeFor(w *kueue.Workload, j *inspect.Job) bool {
	return w.Labels[delegation.JobUIDLabel] == j.UID ||
		slices.ContainsFunc(w.OwnerReferences, func(o metav1.OwnerReference) bool { return string(o.UID) == j.UID })
}

// IsLiveJob reports whether an object runs Pods, or will. It is false if the state of the
// object is unknown.
func IsLiveJob(j *inspect.Job) bool {
	isHeld := j.Suspended && j.Active == 0 && j.Status != delegation.Running
	return j.IsOpen() && j.Status != delegation.Unknown && !isHeld
}

// HasStarted reports whether an object has run, according to its status.
func HasStarted(j *inspect.Job) bool {
	return j.StartTime != nil || j.Active+j.Succeeded+j.Failed > 0 || j.Status == delegation.Running || j.Status.IsFinished()
}

// BuiltInManager is the name of the built-in controller in managedFields.
const BuiltInManager = "kube-controller-manager"

// IsOwned reports whether a Workload has an owner of any kind, read or not. The Pods of a
// group own their Workload together, and none of them controls it.
func IsOwned(w *kueue.Workload) bool { return len(w.OwnerReferences) > 0 }
