package delegation

import "slices"

// kueuesInTemplate are the labels and annotations that Kueue itself puts into pod
// templates as it starts them, and takes out as it stops them. It refuses to start what
// has them with other values: "conflict for key=kueue.x-k8s.io/workload" (kueue:
// pkg/podset, apis/kueue/v1beta2, pkg/controller/constants). Its other keys there, such
// as those of topologies, are their author's.
var kueuesInTemplate = []string{
	"kueue.x-k8s.io/workload", "kueue.x-k8s.io/podset", "kueue.x-k8s.io/cluster-queue-name", "kueue.x-k8s.io/local-queue-name",
	"kueue.x-k8s.io/multikueue-worker-workload-pod", "kueue.x-k8s.io/tas", "kueue.x-k8s.io/workload-slice-name",
}

// IsKueuesInTemplate says whether a label or annotation of a pod template was put
// there by Kueue as it started the pods.
func IsKueuesInTemplate(key string) bool { return slices.Contains(kueuesInTemplate, key) }
