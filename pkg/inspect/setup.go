package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// The parts of Setup. Only doctor asks for them.
const (
	PartInstallation    Part = "the installation of Kueue"
	PartPriorityClasses Part = "WorkloadPriorityClasses"
	PartCredentials     Part = "the credentials of the manager"
	PartAccess          Part = "the rights of the manager"
)

// SetupParts returns the parts of Setup.
func SetupParts() []Part {
	return []Part{PartInstallation, PartPriorityClasses, PartCredentials, PartAccess}
}

// Setup is how a cluster is set up, as far as no Job depends on it.
type Setup struct {
	// Installation is nil where it could not be found.
	Installation *kueue.Installation
	// PriorityClasses are the values of the WorkloadPriorityClasses by their names.
	PriorityClasses map[string]int32
	// Credentials are those in the kubeconfigs of the MultiKueueClusters, by their names, as far
	// as they have public facts.
	Credentials map[string]kubecontext.Credential
	// Denied are the rights that the user of each MultiKueueCluster lacks on its worker. A
	// MultiKueueCluster without an entry was not checked.
	Denied map[string][]Access
	// Own is what whoever reads may not do here, nil where that was not asked.
	Own []Access
}

// with returns what either of two readings of one cluster knows.
func (s *Setup) with(other *Setup) *Setup {
	if s == nil || other == nil {
		return cmp.Or(s, other)
	}
	return &Setup{
		Installation: cmp.Or(s.Installation, other.Installation), PriorityClasses: union(s.PriorityClasses, other.PriorityClasses),
		Credentials: union(s.Credentials, other.Credentials), Denied: union(s.Denied, other.Denied), Own: s.Own,
	}
}

// SetDenied keeps which rights the user of a MultiKueueCluster lacks.
func (s *Setup) SetDenied(cluster string, denied []Access) {
	if s.Denied == nil {
		s.Denied = map[string][]Access{}
	}
	s.Denied[cluster] = denied
}

// Access is something that a user may do with a resource, or not.
type Access struct {
	// Group and Resource are such as "batch" and "jobs/status".
	Group, Resource string
	// Verbs are such as "get".
	Verbs []string
	// Namespace is where, "" for all.
	Namespace string
}

// Sorted returns the access with its verbs in order.
func (a Access) Sorted() Access {
	a.Verbs = slices.Sorted(slices.Values(a.Verbs))
	return a
}

// String is the access for people: verbs, and the resource with its group.
func (a Access) String() string {
	text := strings.Join(a.Verbs, ",") + " " + a.Resource
	if a.Group != "" {
		text += "." + a.Group
	}
	if a.Namespace != "" {
		text += " in " + a.Namespace
	}
	return text
}

// QueueOf is a LocalQueue of a manager with the ClusterQueue behind it.
type QueueOf struct {
	Local *kueue.LocalQueue
	// Cluster is nil if there is none.
	Cluster *kueue.ClusterQueue
	// Workers are the MultiKueueClusters that it leads to.
	Workers []string
}

// MultiKueueQueues returns the LocalQueues that lead to MultiKueue, in the order of their
// namespaces and names.
func (k *KueueFacts) MultiKueueQueues() []QueueOf {
	var found []QueueOf
	for _, local := range k.LocalQueues {
		q := k.ClusterQueueNamed(local.Spec.ClusterQueue)
		if q == nil || local.DeletionTimestamp != nil || !slices.ContainsFunc(q.Checks(), k.isMultiKueue) {
			continue
		}
		workers := k.ClustersBehind(q.Checks())
		slices.Sort(workers)
		found = append(found, QueueOf{local, q, slices.Compact(workers)})
	}
	slices.SortFunc(found, func(a, b QueueOf) int {
		return cmp.Or(cmp.Compare(a.Local.Namespace, b.Local.Namespace), cmp.Compare(a.Local.Name, b.Local.Name))
	})
	return found
}

func (k *KueueFacts) isMultiKueue(check string) bool {
	c := k.CheckNamed(check)
	return c != nil && c.IsMultiKueue()
}
