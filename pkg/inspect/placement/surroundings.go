package placement

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Surroundings is what is known about the fleet around a request: the same for all clusters and requests.
type Surroundings struct {
	inventory *inspect.Inventory
	// flavors are the ResourceFlavors of all clusters, as far as they were read.
	flavors []kueue.FlavorOn
	// managed are the Workloads on all management clusters; nil if some may not
	// have been read.
	managed sets.Set[types.NamespacedName]
	// unreadManagers are the contexts that were not read and may be management
	// clusters.
	unreadManagers []string
}

// Around returns what is known about the fleet of an inventory. Build it once for many requests.
func Around(v *inspect.Inventory) *Surroundings {
	around := &Surroundings{inventory: v, flavors: v.Flavors()}
	around.managed, around.unreadManagers = managedWorkloads(v)
	return around
}

// managedWorkloads returns the names of the Workloads on the management
// clusters, nil if some could not be read. Workloads of other clusters do not
// matter. unread are the contexts that were not read and may be management
// clusters too.
func managedWorkloads(v *inspect.Inventory) (names sets.Set[types.NamespacedName], unread []string) {
	isWorker := func(context string) bool {
		return slices.ContainsFunc(v.Clusters, func(f *inspect.Facts) bool {
			return f.Kueue != nil && slices.ContainsFunc(f.Kueue.Clusters, func(c *kueue.MultiKueueCluster) bool { return v.ContextOf(f, c.Name) == context })
		})
	}
	unread = slices.DeleteFunc(slices.Clone(v.UnreadContexts()), isWorker)
	names = sets.New[types.NamespacedName]()
	for _, f := range v.Clusters {
		switch {
		case f.Err != nil || f.NoKueue:
		case f.Kueue == nil, f.Gaps[inspect.PartClusters] != nil:
			return nil, unread
		case len(f.Kueue.Clusters) == 0:
		case !hasCapacity(f), f.Kueue.Capacity.Gaps[inspect.PartClaims] != nil:
			return nil, unread
		default:
			for _, name := range f.Kueue.Capacity.Places {
				names.Insert(name)
			}
			for _, w := range f.Kueue.Capacity.Workloads {
				names.Insert(types.NamespacedName{Namespace: w.Namespace, Name: w.Name})
			}
		}
	}
	return names, unread
}

// role is the part of a cluster in the way of a request.
type role struct {
	// isNew is whether the request is not submitted yet.
	isNew bool
	// isEntry is whether the request is submitted to the cluster.
	isEntry bool
	// isGiven is whether the cluster gives the request to workers, so that its Pods do
	// not run on its own nodes.
	isGiven bool
	// clusterQueue is the ClusterQueue of the request on the cluster that it is submitted to, "" if unknown.
	clusterQueue string
	// owners are the objects that Workloads were made for on the cluster of submission, by namespace and
	// name of the Workload.
	owners map[string]owner
	// assumed is the LocalQueue of the request if that does not exist, for the question what it would
	// change; otherwise nil.
	assumed *kueue.LocalQueue
	// namespace is the same for the namespace of the request.
	namespace *inspect.Namespace
	// isChanged is whether the request is one with a suggested change, which gets no further suggestions.
	isChanged bool
}

// owner is the object that a Workload was made for.
type owner struct{ kind, name string }

// ownersOn returns the objects that the Workloads of a cluster were made for.
func ownersOn(f *inspect.Facts) map[string]owner {
	owners := map[string]owner{}
	for _, c := range f.Kueue.Capacity.Claims {
		owners[c.Namespace+"/"+c.Name] = owner{c.Kind, c.Owner}
	}
	return owners
}
