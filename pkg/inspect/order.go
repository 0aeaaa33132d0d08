package inspect

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// sort sorts what was read, so that no output depends on which answer came first, or on the order
// of a server's cache. Lists that are already sorted, as API servers send them, stay as they are.
// Others may be shared, so they are copied.
func (f *Facts) sort() {
	f.Jobs = sorted(f.Jobs, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.UID, b.UID))
	})
	f.Pods = sorted(f.Pods, func(a, b *Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	f.Events = sorted(f.Events, byTime)
	if f.Kueue == nil {
		return
	}
	k := *f.Kueue
	k.Workloads = sorted(k.Workloads, func(a, b *kueue.Workload) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	k.LocalQueues = sorted(k.LocalQueues, func(a, b *kueue.LocalQueue) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	k.ClusterQueues = sorted(k.ClusterQueues, func(a, b *kueue.ClusterQueue) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	k.Checks = sorted(k.Checks, func(a, b *kueue.AdmissionCheck) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	k.Configs = sorted(k.Configs, func(a, b *kueue.MultiKueueConfig) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	k.Clusters = sorted(k.Clusters, func(a, b *kueue.MultiKueueCluster) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	f.Kueue = &k
}

func byMeta(a, b *metav1.ObjectMeta) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// byTime sorts events. Times are whole seconds, so events of one second are sorted by name, as API
// servers list them.
func byTime(a, b *Event) int {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
}

// sorted returns the list in order, as a copy if it was not.
func sorted[T any](list []*T, compare func(a, b *T) int) []*T {
	if !slices.IsSortedFunc(list, compare) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, compare)
	}
	return list
}
