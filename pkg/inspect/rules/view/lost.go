package view

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// finderKey is the key under which the finder of quotas is kept for all rules.
type finderKey struct{}

// lackOn returns what the quota of a worker lacks for a submission that waits: see queues.Finder.
func (v *View) lackOn(s Submission, cluster string) (lack *kueue.Lack, known bool) {
	if s.Workload == nil || slices.ContainsFunc(s.Workload.Spec.PodSets, func(p kueue.PodSet) bool { return p.MinCount != nil }) {
		// It may start with fewer Pods on the worker.
		return nil, false
	}
	finder := Once(v, finderKey{}, func() *queues.Finder { return v.Quotas() })
	return finder.Lack(s.Manager, cluster, s.Workload)
}

// IsTooLarge returns the lack of a submission that never fits on a worker, nil if it fits or if that
// is unknown.
func (v *View) IsTooLarge(s Submission, cluster string) *kueue.Lack {
	if lack, known := v.lackOn(s, cluster); known && lack != nil && lack.Reason == kueue.ReasonOverLimit {
		return lack
	}
	return nil
}

// isUnusable reports whether a manager certainly cannot use a MultiKueueCluster: it does not exist, or its condition says so.
func (v *View) isUnusable(manager *inspect.Facts, cluster string) bool {
	return v.LacksCluster(manager, cluster) || IsFalse(v.Connection(manager, cluster))
}

// LacksCluster reports whether a manager certainly has no MultiKueueCluster of a name.
func (v *View) LacksCluster(manager *inspect.Facts, name string) bool {
	c, isKnown := v.MultiKueueCluster(manager, name)
	return isKnown && c == nil
}

// Missed returns the MultiKueueClusters that might run a submission that waits for a worker, if its
// manager could use them. These have free quota for it. If all workers that have a copy of it hold
// the copy until something changes, the other clusters whose quota is large enough count too.
func (v *View) Missed(s Submission) []string {
	if !s.WaitsForWorkers() {
		return nil
	}
	var lost []string
	for _, name := range v.ClustersOf(s) {
		if v.isUnusable(s.Manager, name) && !s.Workload.Excludes(name) {
			lost = append(lost, name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	isHeld := v.isHeldEverywhere(s)
	return slices.DeleteFunc(lost, func(name string) bool {
		if v.isHeldForGood(s, name) {
			return true
		}
		lack, known := v.lackOn(s, name)
		hasRoom := known && lack == nil
		return !hasRoom && (!isHeld || v.IsTooLarge(s, name) != nil)
	})
}

// isHeldForGood reports whether the copy of a submission on a worker lacks quota until something changes. Kueue there evaluates
// a copy that it has, whether or not the manager can use the worker.
func (v *View) isHeldForGood(s Submission, cluster string) bool {
	c, ok := v.CopyOn(s, cluster)
	if !ok || c.Workload == nil {
		return false
	}
	wait, held := HoldOf(c.Workload)
	return held && wait.IsForQuota() && wait.IsPermanent()
}

// ClustersOf returns the clusters of the MultiKueueConfig of a submission, as far as it was read.
func (v *View) ClustersOf(s Submission) []string {
	if s.Check == nil {
		return nil
	}
	check, _ := v.Check(s.Manager, s.Check.Name)
	return v.clustersOf(s.Manager, check)
}

func (v *View) clustersOf(f *inspect.Facts, check *kueue.AdmissionCheck) []string {
	if check == nil {
		return nil
	}
	config, _ := v.ConfigOf(f, check)
	if config == nil {
		return nil
	}
	return config.Spec.Clusters
}

// PossibleClusters returns the MultiKueueClusters that may have something of a submission. It leaves
// out those that only other configs name. Those that no config names may have been removed from its
// config. If its config is unknown, it returns all.
func (v *View) PossibleClusters(s Submission) []string {
	configured := v.ClustersOf(s)
	if s.Workload == nil {
		if q := v.QueueBehind(s.Manager, s.Job().Namespace, s.Job().Queue()); q != nil {
			configured = v.clustersOf(s.Manager, v.lookup(s.Manager).MultiKueue(q).Object)
		}
	}
	configs, _ := v.Configs(s.Manager)
	named := append(slices.Clone(s.Nominated()), s.Chosen())
	var names []string
	for _, w := range v.Workers(s.Manager) {
		isForeign := len(configured) > 0 && !slices.Contains(configured, w.Cluster) && !slices.Contains(named, w.Cluster)
		if !isForeign || len(ConfigsNaming(configs, w.Cluster)) == 0 {
			names = append(names, w.Cluster)
		}
	}
	return names
}

// WorkersOf returns the workers of the manager of a submission. A worker that has several names
// has only those of PossibleClusters.
func (v *View) WorkersOf(s Submission) []NamedWorker {
	workers, names := v.Workers(s.Manager), v.PossibleClusters(s)
	if len(names) == len(workers) {
		return workers
	}
	found := make([]NamedWorker, 0, len(workers))
	for _, w := range workers {
		isOtherName := w.Facts != nil && !slices.Contains(names, w.Cluster) && slices.ContainsFunc(workers, func(o NamedWorker) bool {
			return o.Facts == w.Facts && slices.Contains(names, o.Cluster)
		})
		if !isOtherName {
			found = append(found, w)
		}
	}
	return found
}

// isHeldEverywhere reports whether the workers that have a copy of a submission hold it for reasons
// that do not pass by themselves.
func (v *View) isHeldEverywhere(s Submission) bool {
	copies := 0
	for _, name := range s.Nominated() {
		c, ok := v.CopyOn(s, name)
		switch {
		case ok && c.Workload != nil:
		case v.isUnusable(s.Manager, name):
			continue
		default:
			return false
		}
		if wait, held := HoldOf(c.Workload); !held || wait.IsTransient() {
			return false
		}
		copies++
	}
	return copies > 0
}
