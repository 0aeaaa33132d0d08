package delegation

import "k8s.io/apimachinery/pkg/runtime/schema"

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
