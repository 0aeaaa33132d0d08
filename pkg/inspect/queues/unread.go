package queues

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// AwaitsWorkers reports whether a Workload of a LocalQueue has quota on a manager and waits for quota on
// workers. No names mean all LocalQueues.
func AwaitsWorkers(v *inspect.Inventory, localQueues []string) bool {
	return slices.ContainsFunc(v.Clusters, func(f *inspect.Facts) bool { return len(awaiting(f, localQueues)) > 0 })
}

// UnreadWorkers returns the workers whose queues were not read, and on which Workloads of LocalQueues may
// wait that have quota on their manager. No names mean all LocalQueues.
func UnreadWorkers(v *inspect.Inventory, localQueues []string) []inspect.Unchecked {
	unread := []inspect.Unchecked{}
	for _, manager := range v.Clusters {
		var workers []string
		var offers []inspect.Offer
		for _, c := range awaiting(manager, localQueues) {
			workers = append(workers, c.Nominated...)
			if contexts := copiesOf(v, manager, c); len(contexts) > 0 {
				offers = append(offers, inspect.Offer{Clusters: c.Nominated, Contexts: contexts})
			}
		}
		if len(workers) == 0 {
			continue
		}
		v.AddOffers(manager, offers)
		slices.Sort(workers)
		for _, name := range slices.Compact(workers) {
			if u := v.UnreadWorker(manager, name); u != nil && !isFailed(v, manager, name) {
				unread = append(unread, *u)
			}
		}
	}
	return unread
}

// isFailed reports whether the context of a worker did not answer. An error reports it.
func isFailed(v *inspect.Inventory, manager *inspect.Facts, worker string) bool {
	f := v.Facts(v.ContextOf(manager, worker))
	return f != nil && f.Err != nil
}

// awaiting returns the Workloads that have quota on a manager and wait for quota on workers.
func awaiting(f *inspect.Facts, localQueues []string) []*kueue.Claim {
	var found []*kueue.Claim
	for _, c := range claimsOf(f) {
		isWanted := len(localQueues) == 0 || slices.Contains(localQueues, c.LocalQueue)
		// Only MultiKueue nominates clusters.
		if isWanted && len(c.Nominated) > 0 && c.AdmittedAt.IsZero() && !c.Evicted {
			found = append(found, c)
		}
	}
	return found
}

// copiesOf returns the contexts with a copy of a manager's Workload.
func copiesOf(v *inspect.Inventory, manager *inspect.Facts, c *kueue.Claim) []string {
	var contexts []string
	for _, f := range v.Clusters {
		isCopy := func(o *kueue.Claim) bool { return o.Origin != "" && o.Namespace == c.Namespace && o.Name == c.Name }
		if f != manager && slices.ContainsFunc(claimsOf(f), isCopy) {
			contexts = append(contexts, f.Context)
		}
	}
	return contexts
}

// claimsOf returns the Workloads that were read of a cluster: in all namespaces, or otherwise in one.
func claimsOf(f *inspect.Facts) []*kueue.Claim {
	if f.Err != nil || f.Kueue == nil || f.Kueue.Capacity == nil {
		return nil
	}
	c := f.Kueue.Capacity
	claims := c.Claims
	if c.Gaps[inspect.PartClaims] != nil {
		claims = c.ClaimsWithin
	}
	if f.Namespace == "" {
		return claims
	}
	return slices.DeleteFunc(slices.Clone(claims), func(o *kueue.Claim) bool { return o.Namespace != f.Namespace })
}
