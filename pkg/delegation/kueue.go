package delegation

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// KueueGroup is the group of Kueue's API.
const KueueGroup = "kueue.x-k8s.io"

// KueueVersions returns the versions of Kueue's API that are read, the newest first. Kueue 0.20
// no longer serves v1beta1, and before 0.15 there is no v1beta2. The fields that are read are the
// same in both.
func KueueVersions() []string { return []string{"v1beta2", OldKueueVersion} }

// OldKueueVersion is the oldest version.
const OldKueueVersion = "v1beta1"

// KueueResources returns a resource of Kueue's API in each of these versions.
func KueueResources(plural string) []schema.GroupVersionResource {
	var all []schema.GroupVersionResource
	for _, version := range KueueVersions() {
		all = append(all, schema.GroupVersionResource{Group: KueueGroup, Version: version, Resource: plural})
	}
	return all
}

// KueueStopping is the annotation that Kueue sets while it stops a Job and has not reverted all
// changes. Kueue treats such a Job as running although it is suspended, and never starts it
// (kueue: pkg/controller/jobs/job).
const KueueStopping = "kueue.x-k8s.io/stopping"

// Annotations with which a Job allows Kueue to start it with fewer Pods than requested, and to
// keep completions equal to parallelism (kueue: pkg/controller/jobs/job).
const (
	MinParallelism             = "kueue.x-k8s.io/job-min-parallelism"
	CompletionsLikeParallelism = "kueue.x-k8s.io/job-completions-equal-parallelism"
)

// IsKueueKey reports whether the name of a scheduling gate or a finalizer is one of Kueue's.
func IsKueueKey(name string) bool { return strings.HasPrefix(name, KueueGroup+"/") }

// IsKueueTemplateKey reports whether a label or annotation of a Pod template is a key that
// Kueue sets when it starts the Pods, and removes when it stops them. Kueue refuses to start a
// Job that has them with other values: "conflict for key=kueue.x-k8s.io/workload" (kueue:
// pkg/podset, apis/kueue/v1beta2, pkg/controller/constants). Its other keys there, such as those
// of topologies, belong to the author.
func IsKueueTemplateKey(key string) bool {
	switch key {
	case "kueue.x-k8s.io/workload", "kueue.x-k8s.io/podset", "kueue.x-k8s.io/cluster-queue-name", "kueue.x-k8s.io/local-queue-name",
		"kueue.x-k8s.io/multikueue-worker-workload-pod", "kueue.x-k8s.io/tas", "kueue.x-k8s.io/workload-slice-name":
		return true
	}
	return false
}
