package delegation

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const rayOperator = "ray.io/kuberay-operator"

func rayKinds() []Kind {
	job := rayKind("rayjob", "RayJob", "KubeRay v1.3.0")
	// Its ttlSecondsAfterFinished deletes its RayCluster (kuberay: rayjob_types.go).
	job.OtherTTL = true
	job.Indicators.Complete = []Indicator{{
		Path: []string{"status", "jobDeploymentStatus"}, Values: []string{"Complete"}, AllOf: []Indicator{field("status.jobStatus", "SUCCEEDED")},
	}}
	// ValidationFailed is no end (kuberay: ray-operator/apis/ray/v1/rayjob_types.go, IsJobDeploymentTerminal;
	// kueue: pkg/controller/jobs/rayjob/rayjob_controller.go, IsOnHold).
	job.Indicators.Invalid = []Indicator{field("status.jobDeploymentStatus", "ValidationFailed")}
	job.Indicators.Failed = []Indicator{field("status.jobDeploymentStatus", "Failed"), {
		Path: []string{"status", "jobDeploymentStatus"}, Values: []string{"Complete"}, AllOf: []Indicator{field("status.jobStatus", "FAILED", "STOPPED")},
	}}
	job.Indicators.Suspended = []Indicator{field("status.jobDeploymentStatus", "Suspended")}
	// The cluster also exists while the RayJob waits for a submission, and until it is suspended.
	// Before a retry it has run (kuberay: ray-operator/apis/ray/v1/rayjob_types.go,
	// JobDeploymentStatus).
	job.Indicators.Running = []Indicator{field("status.jobDeploymentStatus", "Running", "Waiting", "Suspending", "Retrying")}
	job.Indicators.Explanation = Explanation{Reason: []string{"status", "reason"}, Message: []string{"status", "message"}}
	// Each retry creates another RayCluster, and counts in status.failed (kuberay:
	// ray-operator/controllers/ray/rayjob_controller.go, checkBackoffLimitAndUpdateStatusIfNeeded).
	job.Indicators.Restarts = RestartFields{
		Now:    []Indicator{field("status.jobDeploymentStatus", "Retrying")},
		Counts: [][]string{{"status", "failed"}},
		Limit:  []string{"spec", "backoffLimit"},
	}
	job.Indicators.Start, job.Indicators.End = []string{"status", "startTime"}, []string{"status", "endTime"}
	job.PodCounts = workerGroups("rayClusterSpec")
	job.PodValue = []string{"status", "rayClusterName"}
	job.HasSubmitter, job.CreatesJobs = true, true
	job.RayCluster = []string{"spec", "rayClusterSpec"}

	// A RayJob may be suspended only if it is shut down after it has finished, and a RayService
	// only since KubeRay 1.7.
	cluster := rayKind("raycluster", "RayCluster", "KubeRay v1.3.0")
	cluster.CanStartSuspended = true
	cluster.PodCounts = workerGroups()
	cluster.Indicators.Failed = []Indicator{field("status.state", "failed"), condition("ReplicaFailure")}
	// Its reason is a message (kuberay: ray-operator/apis/ray/v1/raycluster_types.go).
	cluster.Indicators.Explanation.Message = []string{"status", "reason"}
	cluster.Indicators.Suspended = []Indicator{field("status.state", "suspended"), condition("RayClusterSuspended")}
	cluster.Indicators.Running = []Indicator{field("status.state", "ready"), condition("RayClusterProvisioned"), condition("HeadPodReady")}
	cluster.RayCluster = []string{"spec"}

	service := rayKind("rayservice", "RayService", "KubeRay v1.6.0")
	service.Indicators.Suspended = []Indicator{condition("Suspended")}
	service.Indicators.Running = []Indicator{condition("Ready"), field("status.serviceStatus", "Running")}
	service.PodCounts = workerGroups("rayClusterConfig")
	service.PodValue = []string{"status", "activeServiceStatus", "rayClusterName"}
	service.RayCluster = []string{"spec", "rayClusterConfig"}
	// Before KubeRay 1.7 a RayService cannot be suspended itself, and Kueue up to 0.19 suspends
	// its cluster (kueue: pkg/controller/jobs/rayservice/rayservice_controller.go).
	service.Indicators.Suspend = append(service.Indicators.Suspend, field("spec.rayClusterConfig.suspend", "true"))

	return []Kind{job, cluster, service, {
		Name:       "raycronjob",
		Kind:       "RayCronJob",
		Resource:   schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "raycronjobs"},
		ManagedBy:  []string{"spec", "jobTemplate", "managedBy"},
		Template:   true,
		Reserved:   rayOperator,
		Allowed:    []Owner{rayOperator, MultiKueue},
		Change:     WhileSet,
		Since:      "KubeRay v1.6.0",
		Indicators: Indicators{Suspend: []Indicator{field("spec.suspend", "true")}},
	}}
}

// workerGroups returns the paths of the sizes of a RayCluster's worker groups, for the path of
// its spec (kuberay: ray-operator/apis/ray/v1/raycluster_types.go).
func workerGroups(path ...string) [][]string {
	groups := append(append([]string{"spec"}, path...), "workerGroupSpecs")
	return [][]string{append(slices.Clone(groups), "replicas"), append(slices.Clone(groups), "numOfHosts")}
}

// rayKind returns what the Ray kinds have in common (kuberay:
// ray-operator/apis/ray/v1/rayjob_types.go:232).
func rayKind(name, kind, since string) Kind {
	return Kind{
		Name:                 name,
		Kind:                 kind,
		Resource:             schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: name + "s"},
		ManagedBy:            []string{"spec", "managedBy"},
		Reserved:             rayOperator,
		Allowed:              []Owner{rayOperator, MultiKueue},
		Change:               WhileSet,
		Since:                since,
		VersionsWithoutField: []string{"v1alpha1"},
		Indicators:           Indicators{Suspend: []Indicator{field("spec.suspend", "true")}},
		PodLabel:             "ray.io/cluster",
	}
}
