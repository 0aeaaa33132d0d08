package view

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Setup returns how a cluster is set up, of which the rule reads a part. ok is false if that
// part was not read. Only doctor reads it.
func (v *View) Setup(f *inspect.Facts, part inspect.Part) (s *inspect.Setup, ok bool) {
	if ok = v.CanRead(f, part); f == nil || f.Setup == nil {
		return &v.shared.noSetup, false
	}
	return f.Setup, ok
}

// Managers returns the management clusters of MultiKueue that doctor read.
func (v *View) Managers() []*inspect.Facts {
	return slices.DeleteFunc(v.Clusters(), func(f *inspect.Facts) bool { return f.Setup == nil || !v.IsManager(f) })
}

// ReadsOfLinks returns the parts that Links reads, and more.
func ReadsOfLinks(more ...inspect.Part) []inspect.Part {
	return append([]inspect.Part{inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets}, more...)
}

// Link is a manager with one of its workers.
type Link struct {
	Manager *inspect.Facts
	Cluster *kueue.MultiKueueCluster
	Worker  *inspect.Facts
}

// Object returns the worker's MultiKueueCluster.
func (l Link) Object() Object { return OfKueue(l.Manager, "MultiKueueCluster", "", l.Cluster.Name) }

// Name names the worker for people: by its MultiKueueCluster and, if that differs, its
// context.
func (l Link) Name() string {
	if l.Cluster.Name == l.Worker.Context {
		return l.Cluster.Name
	}
	return l.Cluster.Name + " (context " + l.Worker.Context + ")"
}

// Links returns the managers with those of their workers that a MultiKueueConfig names and
// that were read.
func (v *View) Links() []Link {
	var found []Link
	for _, manager := range v.Managers() {
		configs, _ := v.Configs(manager)
		clusters, _ := v.MultiKueueClusters(manager)
		for _, c := range clusters {
			worker, _ := v.Worker(manager, c.Name)
			isUsed := c.DeletionTimestamp == nil && len(ConfigsNaming(configs, c.Name)) > 0
			if isUsed && worker != nil && worker != manager && worker.Setup != nil {
				found = append(found, Link{manager, c, worker})
			}
		}
	}
	return found
}

// DispatchedQueues returns the LocalQueues of a manager that are dispatched to a worker, as
// far as they are known.
func (v *View) DispatchedQueues(l Link) (found []inspect.QueueOf) {
	k, _ := v.Kueue(l.Manager, inspect.PartQueues)
	for _, q := range k.MultiKueueQueues() {
		if slices.Contains(q.Workers, l.Cluster.Name) {
			found = append(found, q)
		}
	}
	return found
}

// FirstWithManagedBy is the first version of Kubernetes that keeps a Job's managedBy by
// default.
const FirstWithManagedBy = "1.32.0"

// Installation returns how Kueue runs on a cluster, nil if unknown.
func (v *View) Installation(f *inspect.Facts) *kueue.Installation {
	known, _ := v.Setup(f, inspect.PartInstallation)
	return known.Installation
}
