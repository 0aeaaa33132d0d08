package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// outside returns whether a finding is about a ClusterQueue, or about a part of MultiKueue's
// configuration, on which no LocalQueue of a namespace depends. Parts that were not read exclude none.
func outside(v *inspect.Inventory, namespace string) func(inspect.Finding) bool {
	if namespace == "" {
		return func(inspect.Finding) bool { return false }
	}
	used := sets.New[link]()
	unread := sets.New[string]()
	for _, f := range v.Clusters {
		if f.Kueue == nil || slices.ContainsFunc([]inspect.Part{inspect.PartQueues, inspect.PartChecks, inspect.PartConfigs}, func(p inspect.Part) bool { return f.Unread(p) != nil }) {
			unread.Insert(f.Context)
			continue
		}
		addUsed(used, f, namespace)
	}
	return func(f inspect.Finding) bool {
		isScoped := slices.Contains([]string{"JM008", "JM011", "JM128"}, f.Code)
		return isScoped && !unread.Has(f.Context) && !used.Has(link{f.Kind, "", f.Name, f.Context})
	}
}

// addUsed adds what the LocalQueues of a namespace depend on.
func addUsed(used sets.Set[link], f *inspect.Facts, namespace string) {
	add := func(kind, name string) { used.Insert(link{kind, "", name, f.Context}) }
	for _, local := range f.Kueue.LocalQueues {
		q := f.Kueue.ClusterQueueNamed(local.Spec.ClusterQueue)
		if local.Namespace != namespace || q == nil {
			continue
		}
		add("ClusterQueue", q.Name)
		for _, check := range q.Checks() {
			add("AdmissionCheck", check)
			if config, ok := f.Kueue.ConfigOf(check); ok {
				add("MultiKueueConfig", config)
			}
		}
		for _, cluster := range f.Kueue.ClustersBehind(q.Checks()) {
			add("MultiKueueCluster", cluster)
		}
	}
}
