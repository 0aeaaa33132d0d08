package queues

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Sum returns the summary of all clusters: one row for each resource of a
// cluster, over all its ClusterQueues and flavors. A cluster without known
// quotas has one row, and so has a MultiKueueCluster that no context reaches. A
// cluster without Kueue has one only if it should be a worker.
func Sum(v *inspect.Inventory) []QueueQuota {
	s := &summary{inventory: v, workers: map[string][]workerOf{}}
	for _, f := range v.Clusters {
		s.learn(f)
		s.isPartial = s.isPartial || isUnreadManager(f)
	}
	rows := []QueueQuota{}
	known := map[*inspect.Facts]*cluster{}
	for _, f := range v.Clusters {
		if f.NoKueue && len(s.workers[f.Context]) == 0 {
			continue
		}
		state := s.stateOf(f)
		if c := clusterOf(v, f, known); c != nil {
			rows = append(rows, c.sums(state)...)
		} else {
			state.UnreadQuota = !f.NoKueue
			rows = append(rows, QueueQuota{
				Context: f.Context, ClusterUID: f.ClusterUID, Kind: KindCluster, Name: f.Context, Cohorts: []string{}, Cluster: state, Problem: problemOfCluster(f, state),
			})
		}
	}
	for _, w := range s.unreachable {
		state := w.state()
		state.UnreadQuota = true
		rows = append(rows, QueueQuota{Kind: KindCluster, Name: w.name, Cohorts: []string{}, Cluster: state, Problem: problemWith(state)})
	}
	return rows
}

// workerOf is what a manager reports about one of its workers.
type workerOf struct {
	name   string
	active *metav1.Condition
}

func (w workerOf) state() *ClusterState {
	s := &ClusterState{Names: []string{w.name}, State: ClusterUnknown}
	switch {
	case w.active == nil:
	case w.active.Status == metav1.ConditionTrue:
		s.State = ClusterActive
	case w.active.Status == metav1.ConditionFalse:
		s.State, s.Since, s.Message = ClusterLost, w.active.LastTransitionTime.DeepCopy(), w.active.Message
	}
	return s
}

// summary has what managers report about their workers.
type summary struct {
	inventory *inspect.Inventory
	// workers has the MultiKueueClusters by the context that reaches them.
	// unreachable are those that no context reaches.
	workers     map[string][]workerOf
	unreachable []workerOf
	// isPartial is whether the MultiKueueClusters of some cluster were not read.
	isPartial bool
}

// isUnreadManager reports whether a cluster may name workers that are unknown, because its MultiKueueClusters, or
// whether it has Kueue, could not be read. A cluster that does not answer at all is in the errors of the list.
func isUnreadManager(f *inspect.Facts) bool {
	return f.Err == nil && !f.NoKueue && (f.Gaps[inspect.PartClusters] != nil || f.Gaps[inspect.PartKueue] != nil)
}

// learn records what a manager reports about its workers.
func (s *summary) learn(f *inspect.Facts) {
	if f.Err != nil || f.Kueue == nil {
		return
	}
	for _, worker := range f.Kueue.Clusters {
		w := workerOf{name: worker.Name, active: meta.FindStatusCondition(worker.Status.Conditions, kueue.Active)}
		if context := s.inventory.ContextOf(f, worker.Name); context != "" {
			s.workers[context] = append(s.workers[context], w)
		} else {
			s.unreachable = append(s.unreachable, w)
		}
	}
}

// stateOf returns the state of a cluster. If one manager has lost it, it is lost.
func (s *summary) stateOf(f *inspect.Facts) *ClusterState {
	state := &ClusterState{Names: []string{}, State: ClusterNoManager, UnreadNames: s.isPartial}
	switch {
	case f.Err != nil:
		state.State = ClusterUnread
		state.Message = inspect.NewContextError(kubecontext.InContext(f.Context, "", f.Err)).Message
	case f.Kueue != nil && len(f.Kueue.Clusters) > 0, isUnreadManager(f) && f.Kueue.HasMultiKueue():
		state.State = ClusterManager
	case s.isPartial:
		state.State = ClusterUnknown
	}
	for i, w := range s.workers[f.Context] {
		workerState := w.state()
		if i == 0 || workerState.State == ClusterLost {
			workerState.Names = state.Names
			state = workerState
		}
		if !slices.Contains(state.Names, w.name) {
			state.Names = append(state.Names, w.name)
		}
	}
	if f.Kueue != nil {
		state.Kueue = f.Kueue.Release
	}
	return state
}

// problemOfCluster returns why a cluster without known quotas gets nothing.
func problemOfCluster(f *inspect.Facts, s *ClusterState) string {
	if f.NoKueue {
		return "no Kueue; install it"
	}
	return problemWith(s)
}

// problemWith returns why the manager gives nothing to a cluster. Unread
// clusters are in the errors of the list.
func problemWith(s *ClusterState) string {
	if s.State != ClusterLost {
		return ""
	}
	return s.Message
}

// sums returns the summary rows of a cluster.
func (c *cluster) sums(state *ClusterState) []QueueQuota {
	var resources []string
	for _, n := range c.tree.Queues() {
		for _, fr := range n.Resources() {
			if !slices.Contains(resources, fr.Resource) {
				resources = append(resources, fr.Resource)
			}
		}
	}
	slices.Sort(resources)
	if len(resources) == 0 {
		row := c.row(KindCluster, c.facts.Context)
		state.UnreadQuota = c.capacity.Gaps[inspect.PartClusterQueues] != nil
		row.Cluster, row.Problem = state, problemWith(state)
		return []QueueQuota{row}
	}
	var rows []QueueQuota
	for _, resource := range resources {
		row := c.row(KindCluster, c.facts.Context)
		row.Resource = resource
		c.fillSum(&row)
		counted := *state
		c.count(&counted, resource)
		row.Cluster, row.Problem = &counted, problemWith(state)
		rows = append(rows, row)
	}
	return rows
}

// count adds to the state of a cluster how its Workloads use a resource.
func (c *cluster) count(state *ClusterState, resource string) {
	if c.hasClaims() {
		running, waiting := 0, 0
		for _, claim := range c.capacity.Claims {
			switch {
			case slices.ContainsFunc(claim.Holds, func(h kueue.FlavorQuantity) bool { return h.Resource == resource }):
				// On a manager, a Workload with quota still waits for a worker.
				if claim.AdmittedAt.IsZero() {
					waiting++
					continue
				}
				running++
				if at := metav1.NewTime(claim.AdmittedAt); state.LastAdmittedAt == nil || state.LastAdmittedAt.Before(&at) {
					state.LastAdmittedAt = &at
				}
			case claim.ClusterQueue == "" && requests(claim, resource):
				waiting++
			}
		}
		state.Running, state.Waiting = &running, &waiting
	}
	largest, isKnown := c.largestFit(c.tree.Queues(), func(fr capacity.FlavorResource) bool { return fr.Resource == resource })
	if isKnown && c.capacity.Gaps[inspect.PartClusterQueues] == nil {
		state.LargestFit = text(largest, resource)
	}
}

func requests(claim *kueue.Claim, resource string) bool {
	return slices.ContainsFunc(claim.Requests, func(set kueue.PodSetRequests) bool {
		_, asks := set.Resources[corev1.ResourceName(resource)]
		return asks
	})
}
