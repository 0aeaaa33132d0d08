package inspect

import "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"

// FixTargetOf returns the target of fixes for the Workload of a Job, or for a copy of it, on the cluster, with its queues
// as far as they were read. flavors are those of all clusters.
func (f *Facts) FixTargetOf(j *Job, w *kueue.Workload, flavors []kueue.FlavorOn) kueue.FixTarget {
	target, route := j.FixTarget(f.FixTarget(flavors)), f.LookupAll().Route(w.Namespace, w.Spec.QueueName)
	target.Workload, target.LocalQueue, target.ClusterQueue = w, route.Local.Object, route.Cluster.Object
	return target
}

// FixTarget returns a target of fixes with the Job. A nil Job was not submitted yet.
func (j *Job) FixTarget(target kueue.FixTarget) kueue.FixTarget {
	if target.IsNew = j == nil; target.IsNew {
		return target
	}
	target.Kind, target.Name = j.Kind, j.Name
	target.Template, _ = j.Template()
	return target
}
