package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// The parts of Setup. Only doctor requests them.
const (
	PartInstallation    Part = "the installation of Kueue"
	PartPriorityClasses Part = "WorkloadPriorityClasses"
	PartCredentials     Part = "worker credentials"
	PartAccess          Part = "worker rights"
)

// setupParts returns the parts of Setup.
func setupParts() []Part {
	return []Part{PartInstallation, PartPriorityClasses, PartCredentials, PartAccess}
}

// Setup is the configuration of a cluster that no single Job depends on.
type Setup struct {
	// Installation is the installation of Kueue; nil if not found.
	Installation *kueue.Installation
	// PriorityClasses are the values of the WorkloadPriorityClasses, by name.
	PriorityClasses map[string]int32
	// Credentials are the public facts of the credentials in the MultiKueueClusters' kubeconfigs,
	// by the clusters' names.
	Credentials map[string]kubecontext.Credential
	// NoCredentials says why a MultiKueueCluster without an entry in Credentials has none.
	NoCredentials map[string]error
	// Denied are the rights that the user of each MultiKueueCluster lacks on its worker. A
	// MultiKueueCluster without an entry was not checked.
	Denied map[string][]Access
	// Void says why the worker of a MultiKueueCluster rejects the manager's token, by the
	// clusters' names. Clusters without an entry have no known reason.
	Void map[string]string
}

// with merges what two contexts read of one cluster.
func (s *Setup) with(other *Setup) *Setup {
	if s == nil || other == nil {
		return cmp.Or(s, other)
	}
	return &Setup{
		Installation: cmp.Or(s.Installation, other.Installation), PriorityClasses: union(s.PriorityClasses, other.PriorityClasses),
		Credentials: union(s.Credentials, other.Credentials), Denied: union(s.Denied, other.Denied),
		Void: union(s.Void, other.Void), NoCredentials: union(s.NoCredentials, other.NoCredentials),
	}
}

// SetCredential sets the credential of a MultiKueueCluster.
func (s *Setup) SetCredential(cluster string, c kubecontext.Credential) {
	if s.Credentials == nil {
		s.Credentials = map[string]kubecontext.Credential{}
	}
	s.Credentials[cluster] = c
}

// SetNoCredential sets why a MultiKueueCluster has no known credential.
func (s *Setup) SetNoCredential(cluster string, why error) {
	if s.NoCredentials == nil {
		s.NoCredentials = map[string]error{}
	}
	s.NoCredentials[cluster] = why
}

// SetDenied sets the rights that the user of a MultiKueueCluster lacks.
func (s *Setup) SetDenied(cluster string, denied []Access) {
	if s.Denied == nil {
		s.Denied = map[string][]Access{}
	}
	s.Denied[cluster] = denied
}

// SetVoid sets why the worker of a MultiKueueCluster rejects the manager's token.
func (s *Setup) SetVoid(cluster, why string) {
	if s.Void == nil {
		s.Void = map[string]string{}
	}
	s.Void[cluster] = why
}

// Access is a set of verbs on a resource.
type Access struct {
	// Group and Resource are, for example, "batch" and "jobs/status".
	Group, Resource string
	// Verbs are, for example, "get" and "list".
	Verbs []string
	// Namespace is the namespace, "" for all.
	Namespace string
}

// Sorted returns the access with its verbs in order.
func (a Access) Sorted() Access {
	a.Verbs = slices.Sorted(slices.Values(a.Verbs))
	return a
}

// String returns the access as text: verbs, and the resource with its group.
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

// QueueOf is a LocalQueue of a manager and its ClusterQueue.
type QueueOf struct {
	Local *kueue.LocalQueue
	// Cluster is nil if there is none.
	Cluster *kueue.ClusterQueue
	// Workers are the MultiKueueClusters that the queue dispatches to.
	Workers []string
}

// MultiKueueQueues returns the LocalQueues whose ClusterQueues use MultiKueue, sorted by namespace
// and name.
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
