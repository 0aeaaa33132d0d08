package view

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Copy is the Workload that MultiKueue made of a submission on a worker.
type Copy struct {
	// Cluster is the MultiKueueCluster, Worker what was read of it.
	Cluster  string
	Worker   *inspect.Facts
	Workload *kueue.Workload
}

// Copies returns the Workloads of a submission on all workers that could be read. They are
// found once for all rules, and callers must not change them.
func (v *View) Copies(s Submission) []Copy {
	v.read.Insert(inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets)
	copies, known := v.shared.copies[s.Job()]
	if !known {
		copies = v.findCopies(s)
		if v.shared.copies == nil {
			v.shared.copies = map[*inspect.Job][]Copy{}
		}
		v.shared.copies[s.Job()] = copies
	}
	return copies
}

func (v *View) findCopies(s Submission) []Copy {
	var copies []Copy
	for _, worker := range v.WorkersOf(s) {
		workloads, _ := v.WorkloadsOf(s.Pair, worker.Facts)
		for _, w := range workloads {
			copies = append(copies, Copy{worker.Cluster, worker.Facts, w})
		}
	}
	return copies
}

// CopyOn returns the copy of a submission's Workload on a worker. Its Workload is nil if there
// is none. ok is false if the worker could not be read.
func (v *View) CopyOn(s Submission, cluster string) (c Copy, ok bool) {
	worker, _ := v.Worker(s.Manager, cluster)
	if worker == nil || s.Workload == nil {
		return Copy{Cluster: cluster}, false
	}
	w, ok := v.Workload(worker, s.Workload.Namespace, s.Workload.Name)
	return Copy{Cluster: cluster, Worker: worker, Workload: w}, ok
}

// NamedWorker is a MultiKueueCluster of a manager with what was read of it. Facts is nil if
// nothing was read, or if the worker is the manager itself.
type NamedWorker struct {
	Cluster string
	Facts   *inspect.Facts
}

// Workers returns the MultiKueueClusters of a manager. If they could not be read, it returns those
// that Workloads name. They are found once for all rules.
func (v *View) Workers(manager *inspect.Facts) []NamedWorker {
	clusters, isRead := v.MultiKueueClusters(manager)
	v.read.Insert(inspect.PartSecrets)
	workers, known := v.shared.workers[manager]
	if !known {
		var names []string
		for _, c := range clusters {
			names = append(names, c.Name)
		}
		if !isRead && manager.Kueue != nil {
			names = manager.Kueue.ClusterNames()
		}
		for _, name := range names {
			facts, _ := v.Worker(manager, name)
			if facts == manager {
				facts = nil
			}
			workers = append(workers, NamedWorker{name, facts})
		}
		if v.shared.workers == nil {
			v.shared.workers = map[*inspect.Facts][]NamedWorker{}
		}
		v.shared.workers[manager] = workers
	}
	return workers
}

// UnreadWorker describes why the worker of a MultiKueueCluster was not read, nil if it was read.
func (v *View) UnreadWorker(f *inspect.Facts, cluster string) *inspect.Unchecked {
	v.CanRead(f, inspect.PartSecrets, inspect.PartClusters)
	return v.inventory.UnreadWorker(f, cluster)
}

// Connection returns the condition Active of a MultiKueueCluster, by which the manager says
// whether it is connected. It is nil if there is no such condition or cluster.
func (v *View) Connection(manager *inspect.Facts, cluster string) *metav1.Condition {
	c, _ := v.MultiKueueCluster(manager, cluster)
	if c == nil {
		return nil
	}
	return meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
}

// IsTrue reports whether a condition exists and is true.
func IsTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

// IsFalse reports whether a condition exists and is false.
func IsFalse(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionFalse }

// ConnectionCodes returns the codes about a MultiKueueCluster that its manager cannot use: those of
// ClusterFault.
func ConnectionCodes() []string {
	return []string{"JM001", "JM002", "JM003", "JM004", "JM005", "JM006", "JM007", "JM010"}
}

// ClusterFault returns the code of the rule that reports an inactive MultiKueueCluster. It is
// the most specific one, so that one cluster is one finding (kueue:
// pkg/controller/admissionchecks/multikueue/multikueuecluster.go).
func ClusterFault(active *metav1.Condition) string {
	switch active.Reason {
	case "BadKubeConfig", "BadConfig":
		// BadConfig is what Kueue said before 0.14.
		return "JM001"
	case "InsecureKubeConfig":
		return "JM002"
	case "BadClusterProfile", "BadRestConfig", "MultiKueueClusterProfileFeatureDisabled":
		return "JM010"
	}
	return ConnectionFault(strings.ToLower(active.Message))
}

// ConnectionFault returns the code of the rule for a failed connection to a worker, according
// to the message in lower case. JM004, an unreachable worker, is for all messages that the
// worker's API server did not write.
func ConnectionFault(message string) string {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(message, p) {
				return true
			}
		}
		return false
	}
	missing := has("no matches for ", "could not find the requested resource")
	switch {
	case missing && has(`in version "kueue.x-k8s.io/`, "no matches for kueue.x-k8s.io/", ".kueue.x-k8s.io)"):
		return "JM007"
	case missing:
		return "JM005"
	case has("unauthorized", "provide credentials", `user "system:anonymous"`,
		"tls: bad certificate", "tls: expired certificate", "tls: certificate required", "tls: unknown certificate"):
		return "JM003"
	case has("forbidden"):
		return "JM006"
	}
	return "JM004"
}

// IsName reports whether a word of a message can be the name of an object or a resource.
func IsName(word string) bool { return len(validation.IsDNS1123Subdomain(word)) == 0 }

// Reaches reports whether a manager is connected to a MultiKueueCluster, or at least does not
// deny it.
func (v *View) Reaches(s Submission, cluster string) bool {
	active := v.Connection(s.Manager, cluster)
	return active == nil || IsTrue(active)
}

// WorkerLostTimeout is the default of Kueue's workerLostTimeout: after this time, MultiKueue
// gives the Jobs of a lost worker to others (docs/reference/multikueue.md#setup).
const WorkerLostTimeout = 15 * time.Minute

// ServerOf returns the API server that the Secret of a MultiKueueCluster names, "" if unknown.
func (v *View) ServerOf(manager *inspect.Facts, cluster string) string {
	k, _ := v.Kueue(manager, inspect.PartSecrets)
	return k.Addresses[cluster].Server
}

// IsItself reports whether a MultiKueueCluster of a manager is the manager itself. One address
// can be two servers, seen from two networks. Only the certificate authority, or the
// connection of the manager, makes it certain.
func (v *View) IsItself(manager *inspect.Facts, cluster *kueue.MultiKueueCluster) bool {
	v.CanRead(manager, inspect.PartSecrets)
	address, known := manager.Kueue.Addresses[cluster.Name]
	if !known {
		return false
	}
	if u, err := url.Parse(address.Server); err == nil && (u.Hostname() == "kubernetes.default.svc" || strings.HasPrefix(u.Hostname(), "kubernetes.default.svc.")) {
		// Every cluster calls itself by that name.
		return true
	}
	return slices.ContainsFunc(v.inventory.Addresses, func(a kubecontext.Address) bool {
		if a.Context != manager.Context || !kubecontext.SameServer(a.Server, address.Server) {
			return false
		}
		if a.CA != "" && address.CA != "" {
			return a.CA == address.CA
		}
		return meta.IsStatusConditionTrue(cluster.Status.Conditions, kueue.Active)
	})
}

// SameClusterEvidence returns the evidence that two MultiKueueClusters of a manager are one cluster, ""
// if there is none. One address can be two servers, seen from two networks. Only with the
// certificate authority it is certain.
func (v *View) SameClusterEvidence(manager *inspect.Facts, a, b string) string {
	if a == b || manager.Kueue == nil {
		return ""
	}
	v.CanRead(manager, inspect.PartSecrets)
	x, atX := v.Worker(manager, a)
	y, atY := v.Worker(manager, b)
	if x != nil && y != nil && x.Cluster().Compare(y.Cluster()) == delegation.CertainlyOther {
		return ""
	}
	one, other := manager.Kueue.Addresses[a], manager.Kueue.Addresses[b]
	if one.CA != "" && one.CA == other.CA && kubecontext.SameServer(one.Server, other.Server) {
		return fmt.Sprintf("their kubeconfigs have the server %s and the same certificate authority", one.Server)
	}
	switch {
	case x != nil && y != nil && x.ClusterUID != "" && x.ClusterUID == y.ClusterUID:
		return fmt.Sprintf("the namespace kube-system of both has the UID %s", x.ClusterUID)
	case atX != "" && atX == atY:
		return "both are reached by context " + atX
	}
	return ""
}

// OriginNames returns the names with which a manager has labeled mirrors and copies of its Workloads.
func (v *View) OriginNames(manager *inspect.Facts) inspect.OriginNames {
	v.Reads(inspect.PartJobs, inspect.PartWorkloads)
	return v.inventory.OriginNames(manager)
}
