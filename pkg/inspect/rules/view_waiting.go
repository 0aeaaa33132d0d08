package rules

import (
	"iter"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// waiter is a submission that has quota on its management cluster, and waits for
// a worker to take it.
type waiter struct {
	Submission
	// since is when the management cluster began to look for a worker.
	since time.Time
	// offers are what became of it on each of the clusters that it was nominated for, or
	// that have a copy of its Workload. The Worker is nil where Workloads of that cluster
	// could not be read, or it is not known which context reaches it, and the Workload where
	// there is no copy.
	offers []Copy
	// copies are those offers of which there is a copy.
	copies []Copy
}

// waiters are the submissions that wait for a worker, and for nothing else. They are found
// once for all rules, and nobody may change them.
func (v *View) waiters() []waiter {
	v.read.Insert(inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets)
	if !v.shared.hasWaiters {
		v.shared.waiters, v.shared.hasWaiters = v.findWaiters(), true
	}
	return v.shared.waiters
}

func (v *View) findWaiters() []waiter {
	var found []waiter
	for _, s := range v.Submissions() {
		// While it is evicted, nobody offers it to anyone.
		if !s.WaitsForWorkers() || !isQueued(s) || s.Workload.Is(kueue.Evicted) {
			continue
		}
		offers := v.offers(s)
		lacks := func(o Copy) bool { return o.Workload == nil }
		copies := offers
		if slices.ContainsFunc(offers, lacks) {
			copies = slices.DeleteFunc(slices.Clone(offers), lacks)
		}
		found = append(found, waiter{Submission: s, since: offeredSince(s), offers: offers, copies: copies})
	}
	return found
}

// isQueued says whether a submission is meant to be run: not deleted, not
// deactivated, and not a bigger size of what runs already.
func isQueued(s Submission) bool {
	j := s.Job()
	isGrowing := j.IsElastic() && j.Status == delegation.Running
	return j.DeletedAt == nil && s.Workload.DeletionTimestamp == nil && s.Workload.IsActive() && !isGrowing
}

// offeredSince is when quota had been reserved and MultiKueue's check was pending.
func offeredSince(s Submission) time.Time {
	since := s.Check.LastTransitionTime.Time
	if quota := s.Workload.Condition(kueue.QuotaReserved); quota != nil && quota.LastTransitionTime.After(since) {
		since = quota.LastTransitionTime.Time
	}
	return since
}

// offers looks for a submission's Workload on the workers. Only the copy of the
// Workload that waits counts: an elastic Job has others.
func (v *View) offers(s Submission) []Copy {
	var offers []Copy
	for _, worker := range v.workersOf(s.Manager) {
		o := Copy{Cluster: worker.cluster}
		if worker.facts != nil {
			if w, ok := v.Workload(worker.facts, s.Workload.Namespace, s.Workload.Name); ok {
				o.Worker, o.Workload = worker.facts, w
			}
		}
		// Before Kueue 0.13, nominations were not written down.
		if o.Workload != nil || slices.Contains(s.Nominated(), o.Cluster) {
			offers = append(offers, o)
		}
	}
	return offers
}

// untaken are the waiters that no worker has admitted, so that what others say matters.
func (v *View) untaken() iter.Seq[*waiter] {
	return func(yield func(*waiter) bool) {
		waiters := v.waiters()
		for i := range waiters {
			if w := &waiters[i]; !w.isTaken() && !yield(w) {
				return
			}
		}
	}
}

// isTaken says whether some worker has admitted it, so that what others say no
// longer matters.
func (w *waiter) isTaken() bool {
	return slices.ContainsFunc(w.offers, func(o Copy) bool {
		return o.Workload != nil && (o.Workload.Is(kueue.Admitted) || o.Workload.Is(kueue.Finished))
	})
}

// isStuck says whether every worker that it was offered to holds it for a reason
// that does not pass by itself.
func (w *waiter) isStuck() bool {
	if len(w.offers) == 0 || len(w.offers) < len(w.Nominated()) {
		return false
	}
	return !slices.ContainsFunc(w.offers, func(o Copy) bool {
		if o.Workload == nil {
			return true
		}
		wait, held := holdOf(o.Workload)
		return !held || !wait.IsForGood()
	})
}

// notOffered are the usable clusters of its MultiKueueConfig that it was not
// offered to, of how many usable ones; known is false where that cannot be told.
func (v *View) notOffered(w *waiter) (config *kueue.MultiKueueConfig, rest []string, known bool) {
	check, _ := v.Check(w.Manager, w.Check.Name)
	if check == nil {
		return nil, nil, false
	}
	if config, known = v.configOf(w.Manager, check); !known || config == nil {
		return nil, nil, false
	}
	for _, name := range config.Spec.Clusters {
		wasOffered := slices.ContainsFunc(w.offers, func(o Copy) bool { return o.Cluster == name })
		if isTrue(v.activeOf(w.Manager, name)) && !wasOffered {
			rest = append(rest, name)
		}
	}
	return config, rest, true
}

// LocalQueues are those of a namespace.
func (v *View) LocalQueues(f *inspect.Facts, namespace string) ([]*kueue.LocalQueue, bool) {
	k, ok := v.kueue(f, inspect.PartQueues)
	var found []*kueue.LocalQueue
	for _, q := range k.LocalQueues {
		if q.Namespace == namespace {
			found = append(found, q)
		}
	}
	return found, ok
}
