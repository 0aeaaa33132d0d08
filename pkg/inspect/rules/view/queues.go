package view

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// ConfigOf returns the MultiKueueConfig that a MultiKueue check names, nil if it names none or
// if that does not exist.
func (v *View) ConfigOf(f *inspect.Facts, check *kueue.AdmissionCheck) (*kueue.MultiKueueConfig, bool) {
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

// QueueBehind returns the ClusterQueue of a LocalQueue, nil if there is none or if it is
// unknown.
func (v *View) QueueBehind(f *inspect.Facts, namespace, localQueue string) *kueue.ClusterQueue {
	return v.lookup(f).Route(namespace, localQueue).Cluster.Object
}

// WorkersWithoutQueue returns the workers that get the Jobs of a LocalQueue, if all of them certainly lack a
// LocalQueue of its name; otherwise nil. Only remedies depend on it, so it notes no parts: a finding
// does not need them.
func (v *View) WorkersWithoutQueue(manager *inspect.Facts, namespace, localQueue string) []*inspect.Facts {
	queue := manager.Lookup().Route(namespace, localQueue).Cluster.Object
	if queue == nil {
		return nil
	}
	return v.workersWithoutQueue(manager, namespace, localQueue, queue.Checks())
}

// workersWithoutQueue returns the workers behind AdmissionChecks, if all of them certainly lack a LocalQueue;
// otherwise nil.
func (v *View) workersWithoutQueue(manager *inspect.Facts, namespace, localQueue string, checks []string) []*inspect.Facts {
	var workers []*inspect.Facts
	for _, name := range manager.Kueue.ClustersBehind(checks) {
		worker, ok := v.Facts(v.inventory.ContextOf(manager, name))
		if !ok || worker.Kueue == nil {
			return nil
		}
		if local, err := worker.Lookup().LocalQueue(namespace, localQueue); local != nil || err != nil {
			return nil
		}
		workers = append(workers, worker)
	}
	return workers
}

// MayDispatch reports whether a LocalQueue would give its Jobs to workers if its ClusterQueue had the
// AdmissionCheck of MultiKueue: not all workers behind it lack the LocalQueue. As WorkersWithoutQueue, it notes
// no parts.
func (v *View) MayDispatch(manager *inspect.Facts, namespace, localQueue string) bool {
	check := manager.Kueue.MultiKueueCheck()
	return check == nil || len(v.workersWithoutQueue(manager, namespace, localQueue, []string{check.Name})) == 0
}

// HasOtherWorkloads reports whether a ClusterQueue has or may have Workloads of Jobs that are not delegated to
// MultiKueue: its status counts more than the delegated ones. MultiKueue rejects the others, and Kueue stops them, once
// the queue has its check (kueue: pkg/controller/admissionchecks/multikueue/workload.go). As WorkersWithoutQueue, it
// notes no parts.
func (v *View) HasOtherWorkloads(f *inspect.Facts, q *kueue.ClusterQueue) bool {
	return int(q.Status.ReservingWorkloads+q.Status.PendingWorkloads) > v.delegatedWorkloads(f)[q.Name].counted
}

// HasDelegatedWorkloads reports whether a ClusterQueue certainly has unfinished Workloads of Jobs that are delegated to
// MultiKueue. As WorkersWithoutQueue, it notes no parts.
func (v *View) HasDelegatedWorkloads(f *inspect.Facts, q *kueue.ClusterQueue) bool {
	return v.delegatedWorkloads(f)[q.Name].all > 0
}

// workloadCount is how many unfinished Workloads of a ClusterQueue are of Jobs that are delegated to MultiKueue. counted
// are those among them that the status of the ClusterQueue certainly counts.
type workloadCount struct{ all, counted int }

// delegatedKey is the key of Once for the delegated Workloads of a cluster.
type delegatedKey struct{ context string }

// delegatedWorkloads counts the delegated Workloads of a cluster that were read, by ClusterQueue.
func (v *View) delegatedWorkloads(f *inspect.Facts) map[string]workloadCount {
	return Once(v, delegatedKey{f.Context}, func() map[string]workloadCount {
		counts := map[string]workloadCount{}
		for _, p := range v.inventory.Pairs.Pairs {
			if p.Origin == nil || p.Origin.Context != f.Context || p.Origin.ManagedBy != delegation.MultiKueue {
				continue
			}
			for _, w := range v.inventory.WorkloadsOf(p, f) {
				local, _ := f.Lookup().LocalQueue(w.Namespace, w.Spec.QueueName)
				if local == nil || !w.IsActive() || w.Is(kueue.Finished) {
					continue
				}
				count := counts[local.Spec.ClusterQueue]
				count.all++
				if isCounted(w, local) {
					count.counted++
				}
				counts[local.Spec.ClusterQueue] = count
			}
		}
		return counts
	})
}

// isCounted reports whether the status of a ClusterQueue certainly counts an unfinished Workload: those with quota, and
// those in its queue (kueue: pkg/cache/scheduler, Usage; pkg/cache/queue, Pending).
func isCounted(w *kueue.Workload, local *kueue.LocalQueue) bool {
	return w.Is(kueue.QuotaReserved) || w.DeletionTimestamp == nil && w.IsQueuedIn(local)
}

// IsInMultiKueue reports whether a Job is in a LocalQueue that certainly gives its Jobs to MultiKueue. Only
// remedies depend on it, so it notes no parts: a finding does not need them.
func (v *View) IsInMultiKueue(j *inspect.Job) bool {
	f, ok := v.Facts(j.Context)
	if !ok || f.Kueue == nil || j.Queue() == "" {
		return false
	}
	queue := f.Lookup().Route(j.Namespace, j.Queue()).Cluster.Object
	return queue != nil && f.Lookup().MultiKueue(queue).Object != nil
}

// lookup finds queues and checks of a cluster, and notes the parts that the rule reads.
func (v *View) lookup(f *inspect.Facts) kueue.Lookup {
	l := f.Lookup()
	return kueue.Lookup{
		LocalQueue: func(namespace, name string) (*kueue.LocalQueue, error) {
			v.CanRead(f, inspect.PartQueues)
			return l.LocalQueue(namespace, name)
		},
		ClusterQueue: func(name string) (*kueue.ClusterQueue, error) {
			v.CanRead(f, inspect.PartQueues)
			return l.ClusterQueue(name)
		},
		Check: func(name string) (*kueue.AdmissionCheck, error) {
			v.CanRead(f, inspect.PartChecks)
			return l.Check(name)
		},
	}
}

// IsDispatched reports whether the ClusterQueue of a LocalQueue has a MultiKueue check. known
// is false if one of the two queues does not exist or could not be read.
func (v *View) IsDispatched(f *inspect.Facts, namespace, localQueue string) (dispatched, known bool) {
	queue := v.QueueBehind(f, namespace, localQueue)
	if queue == nil {
		return false, false
	}
	dispatched, _ = v.QueueDispatches(f, queue)
	return dispatched, true
}

// QueueDispatches reports whether a ClusterQueue has a MultiKueue check. known is false if one
// of its checks was not found.
func (v *View) QueueDispatches(f *inspect.Facts, q *kueue.ClusterQueue) (is, known bool) {
	check := v.lookup(f).MultiKueue(q)
	return check.Object != nil, check.Unread == nil
}

// MultiKueueCheck returns the AdmissionCheck by which a cluster dispatches, the zero Object if
// it has none.
func (v *View) MultiKueueCheck(context string) Object {
	f, _ := v.Facts(context)
	k, _ := v.Kueue(f, inspect.PartChecks)
	if check := k.MultiKueueCheck(); check != nil {
		return OfKueue(f, "AdmissionCheck", "", check.Name)
	}
	return Object{}
}

// ConfigsNaming returns the names of those configs that name one of some clusters.
func ConfigsNaming(configs []*kueue.MultiKueueConfig, clusters ...string) []string {
	var found []string
	for _, c := range configs {
		if slices.ContainsFunc(clusters, func(name string) bool { return slices.Contains(c.Spec.Clusters, name) }) {
			found = append(found, c.Name)
		}
	}
	return found
}

// IsManager reports whether a cluster has objects of MultiKueue: a check, a config or a
// MultiKueueCluster.
func (v *View) IsManager(f *inspect.Facts) bool {
	v.CanRead(f, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters)
	return f != nil && f.Kueue.HasMultiKueue()
}

// QuotaKey returns a key for the quota of a resource in a ClusterQueue of a manager. Rules use
// it as the cause of a finding.
func QuotaKey(manager *inspect.Facts, queue, resource string) string {
	return strings.Join([]string{manager.Context, queue, resource}, " ")
}

// ChainReasons returns the reasons for an inactive ClusterQueue that JM008 and JM009 report.
func ChainReasons() []string {
	return []string{
		"AdmissionCheckNotFound", "AdmissionCheckInactive", "MultipleMultiKueueAdmissionChecks",
		"MultiKueueAdmissionCheckAppliedPerFlavor", "MultiKueueWithProvisioningRequest",
	}
}

// LocalQueues returns the LocalQueues of a namespace.
func (v *View) LocalQueues(f *inspect.Facts, namespace string) ([]*kueue.LocalQueue, bool) {
	k, ok := v.Kueue(f, inspect.PartQueues)
	var found []*kueue.LocalQueue
	for _, q := range k.LocalQueues {
		if q.Namespace == namespace {
			found = append(found, q)
		}
	}
	return found, ok
}

// ClusterQueueOf returns the name of the ClusterQueue that a Workload waits in, "" if neither
// its LocalQueue nor Kueue's message names it.
func (v *View) ClusterQueueOf(f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait) string {
	if local, _ := v.LocalQueue(f, w.Namespace, w.Spec.QueueName); local != nil {
		return local.Spec.ClusterQueue
	}
	if wait.Reason == kueue.ReasonClusterQueueMissing || wait.Reason == kueue.ReasonClusterQueueInactive {
		return wait.Queue
	}
	return ""
}

// IsSelected reports whether a selector certainly matches a namespace, which is nil if
// unknown.
func IsSelected(selector *metav1.LabelSelector, namespace *inspect.Namespace) bool {
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false
	}
	return matcher.Empty() || namespace != nil && matcher.Matches(labels.Set(namespace.Labels))
}
