package waiting

import (
	"iter"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// waiter is a submission that has quota on its management cluster and waits
// for a worker.
type waiter struct {
	view.Submission
	// since is when the management cluster began to look for a worker.
	since time.Time
	// offers has an entry for each cluster that the submission was nominated
	// for, or that has a copy of its Workload. Worker is nil if the Workloads
	// of that cluster could not be read, or if no known context reaches it.
	// Workload is nil if there is no copy.
	offers []view.Copy
	// copies are the offers that have a copy.
	copies []view.Copy
	// used are the nominated MultiKueueClusters without the clusters that were removed from the
	// MultiKueueConfig since, or that do not exist: MultiKueue keeps the copies there, but no longer uses them.
	used []string
}

// waiters returns the submissions that wait for a worker and for nothing
// else. They are found once for all rules, and callers must not change them.
func waiters(v *view.View) []waiter {
	v.Reads(inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets)
	return view.Once(v, waitersKey{}, func() []waiter { return findWaiters(v) })
}

// waitersKey is the key under which waiters caches its result for all rules.
type waitersKey struct{}

func findWaiters(v *view.View) []waiter {
	var found []waiter
	for _, s := range v.Submissions() {
		// An evicted Workload is not offered to workers.
		if !s.WaitsForWorkers() || !isQueued(s) || s.Workload.Is(kueue.Evicted) {
			continue
		}
		used, isUsed := usedClusters(v, s)
		offers := slices.DeleteFunc(offers(v, s), func(o view.Copy) bool { return !isUsed(o.Cluster) })
		lacks := func(o view.Copy) bool { return o.Workload == nil }
		copies := offers
		if slices.ContainsFunc(offers, lacks) {
			copies = slices.DeleteFunc(slices.Clone(offers), lacks)
		}
		found = append(found, waiter{Submission: s, since: offeredSince(s), offers: offers, copies: copies, used: used})
	}
	return found
}

// usedClusters returns the nominated clusters of a submission that exist, and that its MultiKueueConfig still names, and a
// function that reports whether it names a cluster. If it is unknown, all count as named.
func usedClusters(v *view.View, s view.Submission) (used []string, isUsed func(cluster string) bool) {
	isUsed = func(string) bool { return true }
	if check, _ := v.Check(s.Manager, s.Check.Name); check != nil {
		if config, known := v.ConfigOf(s.Manager, check); known && config != nil && len(config.Spec.Clusters) > 0 {
			isUsed = func(cluster string) bool { return slices.Contains(config.Spec.Clusters, cluster) }
		}
	}
	for _, name := range s.Nominated() {
		if isUsed(name) && !v.LacksCluster(s.Manager, name) {
			used = append(used, name)
		}
	}
	return used, isUsed
}

// isQueued reports whether a submission should run: it is not deleted, not
// deactivated, and not a larger size of a running Job.
func isQueued(s view.Submission) bool {
	j := s.Job()
	isGrowing := j.IsElastic() && j.Status == delegation.Running
	return j.DeletedAt == nil && s.Workload.DeletionTimestamp == nil && s.Workload.IsActive() && !isGrowing
}

// offeredSince returns when quota was reserved and MultiKueue's check was
// pending.
func offeredSince(s view.Submission) time.Time {
	since := s.Check.LastTransitionTime.Time
	if quota := s.Workload.Condition(kueue.QuotaReserved); quota != nil && quota.LastTransitionTime.After(since) {
		since = quota.LastTransitionTime.Time
	}
	return since
}

// offers looks for a submission's Workload on the workers. Only the copy of
// the waiting Workload counts, because an elastic Job has several Workloads.
func offers(v *view.View, s view.Submission) []view.Copy {
	var offers []view.Copy
	for _, worker := range v.WorkersOf(s) {
		o := view.Copy{Cluster: worker.Cluster}
		if worker.Facts != nil {
			if w, ok := v.Workload(worker.Facts, s.Workload.Namespace, s.Workload.Name); ok {
				o.Worker, o.Workload = worker.Facts, w
			}
		}
		// Kueue before 0.13 does not record nominations.
		if o.Workload != nil || slices.Contains(s.Nominated(), o.Cluster) {
			offers = append(offers, o)
		}
	}
	return offers
}

// unadmitted returns the waiters that no worker has admitted. The other workers
// matter only for them.
func unadmitted(v *view.View) iter.Seq[*waiter] {
	return func(yield func(*waiter) bool) {
		waiters := waiters(v)
		for i := range waiters {
			if w := &waiters[i]; !w.isTaken() && !yield(w) {
				return
			}
		}
	}
}

// isTaken reports whether a worker has admitted the submission. The other
// workers no longer matter then.
func (w *waiter) isTaken() bool {
	return slices.ContainsFunc(w.offers, func(o view.Copy) bool {
		return o.Workload != nil && (o.Workload.Is(kueue.Admitted) || o.Workload.Is(kueue.Finished))
	})
}

// mayBeTaken reports whether a worker that was not read may have admitted the submission. MultiKueue then
// deletes the other copies, but only if it has a connection to the worker.
func mayBeTaken(v *view.View, w *waiter) bool {
	return slices.ContainsFunc(v.UnreadWorkersOf(w.Submission), func(u inspect.WorkerGap) bool {
		return !v.LacksCluster(w.Manager, u.Name) && !view.IsFalse(v.Connection(w.Manager, u.Name))
	})
}

// isStuck reports whether every worker that the submission can be offered to
// holds it for a reason that does not pass by itself, or lacks its namespace.
func (w *waiter) isStuck(v *view.View) bool {
	for _, o := range w.offers {
		if w.lacksNamespace(o) {
			continue
		}
		if o.Workload == nil {
			return false
		}
		if wait, held := view.HoldOf(o.Workload); !held || !wait.IsPermanent() {
			return false
		}
	}
	return w.wasOfferedToAll(v) && len(v.Missed(w.Submission)) == 0
}

// lacksNamespace reports whether the worker of an offer certainly lacks the namespace of the Workload: MultiKueue
// cannot create a copy there. Only a severity depends on it, so it notes no parts.
func (w *waiter) lacksNamespace(o view.Copy) bool {
	if o.Worker == nil || o.Workload != nil || o.Worker.Namespaces == nil {
		return false
	}
	_, exists := o.Worker.Namespaces[w.Workload.Namespace]
	return !exists
}

// isRejectedEverywhere reports whether an AdmissionCheck of every worker that the submission was offered
// to rejects it.
func (w *waiter) isRejectedEverywhere() bool {
	isRejected := func(c kueue.CheckState) bool { return c.State == kueue.CheckRejected }
	return !slices.ContainsFunc(w.offers, func(o view.Copy) bool {
		return o.Workload == nil || !slices.ContainsFunc(o.Workload.Status.AdmissionChecks, isRejected)
	})
}

// wasOfferedToAll reports whether a submission was offered to every worker that its manager can
// use. The incremental dispatcher offers it to a few at a time.
func (w *waiter) wasOfferedToAll(v *view.View) bool {
	if !w.wasOfferedToNominated() {
		return false
	}
	_, rest, known := notOffered(v, w)
	return known && len(rest) == 0
}

// wasOfferedToNominated reports whether a submission was offered to every nominated worker.
func (w *waiter) wasOfferedToNominated() bool {
	return len(w.offers) > 0 && len(w.offers) >= len(w.used)
}

// notOffered returns the MultiKueueConfig of a waiter, and its usable
// clusters that the waiter was not offered to and does not exclude. known is
// false if they cannot be determined.
func notOffered(v *view.View, w *waiter) (config *kueue.MultiKueueConfig, rest []string, known bool) {
	check, _ := v.Check(w.Manager, w.Check.Name)
	if check == nil {
		return nil, nil, false
	}
	if config, known = v.ConfigOf(w.Manager, check); !known || config == nil {
		return nil, nil, false
	}
	for _, name := range config.Spec.Clusters {
		wasOffered := slices.ContainsFunc(w.offers, func(o view.Copy) bool { return o.Cluster == name })
		if view.IsTrue(v.Connection(w.Manager, name)) && !wasOffered && !w.Workload.Excludes(name) {
			rest = append(rest, name)
		}
	}
	return config, rest, true
}
