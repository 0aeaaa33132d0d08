package rules

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Setup returns how a cluster is set up, of which a rule reads a part. ok is false where that
// part was not read, and so for every command but doctor.
func (v *View) Setup(f *inspect.Facts, part inspect.Part) (s *inspect.Setup, ok bool) {
	if ok = v.note(f, part); f == nil || f.Setup == nil {
		return &v.shared.noSetup, false
	}
	return f.Setup, ok
}

// managers returns the clusters that dispatch by MultiKueue, of those that doctor read.
func (v *View) managers() []*inspect.Facts {
	return slices.DeleteFunc(v.Clusters(), func(f *inspect.Facts) bool { return f.Setup == nil || !isManager(v, f) })
}

// readsOfLinks are the parts that links reads.
func readsOfLinks(more ...inspect.Part) []inspect.Part {
	return append([]inspect.Part{inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets}, more...)
}

// link is a manager with one of its workers.
type link struct {
	manager *inspect.Facts
	cluster *kueue.MultiKueueCluster
	worker  *inspect.Facts
}

// object is the worker as the manager names it.
func (l link) object() Object { return OfKueue(l.manager, "MultiKueueCluster", "", l.cluster.Name) }

// name is the worker for people: by the manager's name and, where that differs, the context.
func (l link) name() string {
	if l.cluster.Name == l.worker.Context {
		return l.cluster.Name
	}
	return l.cluster.Name + " (context " + l.worker.Context + ")"
}

// links returns the managers with those of their workers that a MultiKueueConfig names and that
// were read.
func (v *View) links() []link {
	var found []link
	for _, manager := range v.managers() {
		configs, _ := v.Configs(manager)
		clusters, _ := v.MultiKueueClusters(manager)
		for _, c := range clusters {
			worker, _ := v.Worker(manager, c.Name)
			isUsed := c.DeletionTimestamp == nil && len(naming(configs, c.Name)) > 0
			if isUsed && worker != nil && worker != manager && worker.Setup != nil {
				found = append(found, link{manager, c, worker})
			}
		}
	}
	return found
}

// dispatchedQueues returns the LocalQueues of a manager that lead to a worker, as far as
// they are known.
func (v *View) dispatchedQueues(l link) (found []inspect.QueueOf) {
	k, _ := v.kueue(l.manager, inspect.PartQueues)
	for _, q := range k.MultiKueueQueues() {
		if slices.Contains(q.Workers, l.cluster.Name) {
			found = append(found, q)
		}
	}
	return found
}
