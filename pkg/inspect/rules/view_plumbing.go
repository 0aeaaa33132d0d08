package rules

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// ServerOf is the API server that the Secret of a MultiKueueCluster leads to, ""
// if that is not known.
func (v *View) ServerOf(manager *inspect.Facts, cluster string) string {
	k, _ := v.kueue(manager, inspect.PartSecrets)
	return k.Addresses[cluster].Server
}

// IsItself is whether a MultiKueueCluster of a manager is the manager. One address
// can be two servers, seen from two networks: only the certificate authority, or
// that the manager is connected, makes it certain.
func (v *View) IsItself(manager *inspect.Facts, cluster *kueue.MultiKueueCluster) bool {
	v.note(manager, inspect.PartSecrets)
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

// configOf is the MultiKueueConfig that a check of MultiKueue's names; nil if it
// names none, or one that does not exist.
func (v *View) configOf(f *inspect.Facts, check *kueue.AdmissionCheck) (*kueue.MultiKueueConfig, bool) {
	configs, ok := v.Configs(f)
	p := check.Spec.Parameters
	if !ok || p == nil || p.APIGroup != kueue.Group || p.Kind != "MultiKueueConfig" {
		return nil, ok
	}
	for _, c := range configs {
		if c.Name == p.Name {
			return c, ok
		}
	}
	return nil, ok
}

// queueBehind is the ClusterQueue behind a LocalQueue; nil if there is none, or if that is
// not known.
func (v *View) queueBehind(f *inspect.Facts, namespace, localQueue string) *kueue.ClusterQueue {
	local, ok := v.LocalQueue(f, namespace, localQueue)
	if !ok || local == nil {
		return nil
	}
	queue, _ := v.ClusterQueue(f, local.Spec.ClusterQueue)
	return queue
}

// isDispatched says whether the ClusterQueue behind a LocalQueue has a check of
// MultiKueue's; known is false where there is no such LocalQueue or ClusterQueue,
// or they could not be read.
func (v *View) isDispatched(f *inspect.Facts, namespace, localQueue string) (dispatched, known bool) {
	queue := v.queueBehind(f, namespace, localQueue)
	if queue == nil {
		return false, false
	}
	dispatched, _ = v.dispatches(f, queue)
	return dispatched, true
}

// dispatches is whether a ClusterQueue gives what it admits to MultiKueue. known is
// false where a check that it names cannot be found.
func (v *View) dispatches(f *inspect.Facts, q *kueue.ClusterQueue) (is, known bool) {
	known = true
	for _, name := range q.Checks() {
		check, ok := v.Check(f, name)
		if check != nil && check.IsMultiKueue() {
			return true, true
		}
		known = known && ok && check != nil
	}
	return false, known
}

// isLive is whether a submission still wants something.
func isLive(s Submission) bool {
	return !s.IsFinished() && s.Job().Status != delegation.Terminating
}

// heldIn are the submissions of a manager that wait at a ClusterQueue: it has no
// quota for them yet.
func (v *View) heldIn(f *inspect.Facts, queue *kueue.ClusterQueue) []*inspect.Job {
	return v.submitted(f, func(q *kueue.ClusterQueue, s *Submission) bool { return q == queue && !s.HasQuota() })
}

// undispatched are those that wait at the ClusterQueues that name a check, and the ones
// that have quota there and wait for a worker.
func (v *View) undispatched(f *inspect.Facts, check *kueue.AdmissionCheck) []*inspect.Job {
	return v.submitted(f, func(q *kueue.ClusterQueue, s *Submission) bool {
		return names(check)(q) && (!s.HasQuota() || s.WaitsForWorkers())
	})
}

func (v *View) submitted(f *inspect.Facts, is func(*kueue.ClusterQueue, *Submission) bool) []*inspect.Job {
	var jobs []*inspect.Job
	for _, s := range v.Submissions() {
		if s.Manager != f || s.Workload == nil || !s.Workload.IsActive() || !isLive(s) {
			continue
		}
		if q := v.queueBehind(f, s.Job().Namespace, s.Job().Queue()); q != nil && is(q, &s) {
			jobs = append(jobs, s.Job())
		}
	}
	return jobs
}

// LeadToOne says how it is known that two MultiKueueClusters of a manager are one
// cluster, "" if it is not. One address can be two servers, seen from two networks: only
// with the certificate authority it is certain.
func (v *View) LeadToOne(manager *inspect.Facts, a, b string) string {
	if a == b || manager.Kueue == nil {
		return ""
	}
	v.note(manager, inspect.PartSecrets)
	one, other := manager.Kueue.Addresses[a], manager.Kueue.Addresses[b]
	if one.CA != "" && one.CA == other.CA && kubecontext.SameServer(one.Server, other.Server) {
		return fmt.Sprintf("their kubeconfigs have the server %s and the same certificate authority", one.Server)
	}
	x, atX := v.Worker(manager, a)
	y, atY := v.Worker(manager, b)
	switch {
	case x != nil && y != nil && x.ClusterUID != "" && x.ClusterUID == y.ClusterUID:
		return fmt.Sprintf("the namespace kube-system of both has the uid %s", x.ClusterUID)
	case atX != "" && atX == atY:
		return "both are reached by context " + atX
	}
	return ""
}
