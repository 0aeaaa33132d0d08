package bundle

import (
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// resource is a resource whose objects a snapshot may have.
type resource struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
}

func leases() resource {
	return resource{coordinationv1.SchemeGroupVersion.WithResource("leases"), "Lease", true}
}

func jobs() resource {
	return resource{batchv1.SchemeGroupVersion.WithResource("jobs"), "Job", true}
}

func coreResource(plural, kind string) resource {
	return resource{corev1.SchemeGroupVersion.WithResource(plural), kind, !delegation.IsClusterScoped(plural)}
}

func pods() resource    { return coreResource("pods", "Pod") }
func events() resource  { return coreResource("events", "Event") }
func secrets() resource { return coreResource("secrets", "Secret") }
func clusterProfiles() resource {
	gv := schema.GroupVersion{Group: "multicluster.x-k8s.io", Version: "v1alpha1"}
	return resource{gv.WithResource("clusterprofiles"), "ClusterProfile", true}
}
func namespaces() resource { return coreResource("namespaces", "Namespace") }

// kueueResources returns the resources of Kueue.
func kueueResources(version string) []resource {
	return []resource{
		kueueResource(version, "workloads", "Workload"),
		kueueResource(version, "localqueues", "LocalQueue"),
		kueueResource(version, "clusterqueues", "ClusterQueue"),
		kueueResource(version, "admissionchecks", "AdmissionCheck"),
		kueueResource(version, "multikueueconfigs", "MultiKueueConfig"),
		kueueResource(version, "multikueueclusters", "MultiKueueCluster"),
	}
}

// capacityResources returns the resources that show the capacity of queues, and what a Job
// requests there. Snapshots of earlier versions of this plugin lack some of them.
func capacityResources(version string) []resource {
	return []resource{
		kueueResource(version, "cohorts", "Cohort"),
		kueueResource(version, "resourceflavors", "ResourceFlavor"),
		kueueResource(version, "topologies", "Topology"),
		coreResource("limitranges", "LimitRange"),
		kueueResource(version, "workloadpriorityclasses", "WorkloadPriorityClass"),
		{schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"), "PriorityClass", false},
		{nodev1.SchemeGroupVersion.WithResource("runtimeclasses"), "RuntimeClass", false},
	}
}

func kueueResource(version, plural, kind string) resource {
	gv := schema.GroupVersion{Group: kueue.Group, Version: version}
	return resource{gv.WithResource(plural), kind, !delegation.IsClusterScoped(plural)}
}

// known returns the resources that every snapshot has if the API is served, so that missing
// objects mean that there were none.
func known(gv schema.GroupVersion) []resource {
	switch {
	case gv == corev1.SchemeGroupVersion:
		return []resource{events(), namespaces(), pods(), secrets()}
	case gv == batchv1.SchemeGroupVersion:
		return []resource{jobs()}
	case gv == coordinationv1.SchemeGroupVersion:
		return []resource{leases()}
	case gv.Group == kueue.Group:
		return kueueResources(gv.Version)
	}
	return nil
}
