package delegation

import "strings"

// KueueStopping is the annotation by which Kueue remembers, while it stops a Job, that it
// has not put everything back so far. A Job that has it counts as one that runs, though it
// is suspended, and is never started (kueue: pkg/controller/jobs/job).
const KueueStopping = "kueue.x-k8s.io/stopping"

// Annotations by which a Job lets Kueue start it with less pods than it asks for, and has
// it keep the completions at the same number (kueue: pkg/controller/jobs/job).
const (
	MinParallelism             = "kueue.x-k8s.io/job-min-parallelism"
	CompletionsLikeParallelism = "kueue.x-k8s.io/job-completions-equal-parallelism"
)

// IsKueues says whether a scheduling gate or a finalizer is Kueue's, by its name.
func IsKueues(name string) bool { return strings.HasPrefix(name, "kueue.x-k8s.io/") }

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
