package delegation

// IsKueuesInTemplate says whether a label or annotation of a pod template is one of
// those that Kueue itself puts there as it starts the pods, and takes out as it stops
// them. It refuses to start what has them with other values: "conflict for
// key=kueue.x-k8s.io/workload" (kueue: pkg/podset, apis/kueue/v1beta2,
// pkg/controller/constants). Its other keys there, such as those of topologies, are
// their author's.
func IsKueuesInTemplate(key string) bool {
	switch key {
	case "kueue.x-k8s.io/workload", "kueue.x-k8s.io/podset", "kueue.x-k8s.io/cluster-queue-name", "kueue.x-k8s.io/local-queue-name",
		"kueue.x-k8s.io/multikueue-worker-workload-pod", "kueue.x-k8s.io/tas", "kueue.x-k8s.io/workload-slice-name":
		return true
	}
	return false
}
