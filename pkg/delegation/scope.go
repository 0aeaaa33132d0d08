package delegation

import "strings"

// IsClusterScoped reports whether a resource that commands read, or a subresource of it, has no namespaces.
func IsClusterScoped(resource string) bool {
	resource, _, _ = strings.Cut(resource, "/")
	switch resource {
	case "namespaces", "nodes", "persistentvolumes", "priorityclasses", "runtimeclasses", "storageclasses", "customresourcedefinitions",
		"clusterqueues", "cohorts", "resourceflavors", "topologies", "admissionchecks", "multikueueclusters", "multikueueconfigs", "workloadpriorityclasses",
		"validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicies", "mutatingadmissionpolicies":
		return true
	}
	return false
}
