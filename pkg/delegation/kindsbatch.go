package delegation

import "k8s.io/apimachinery/pkg/runtime/schema"

// The rows of the table. Unless another source is named, the facts come from
// docs/reference/kinds.md#kinds, which names a file for each.

// jobKind is the built-in batch/v1 Job (reference: KEP-4368).
var jobKind = Kind{
	Name:      "job",
	Kind:      "Job",
	Resource:  schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"},
	ManagedBy: []string{"spec", "managedBy"},
	Reserved:  "kubernetes.io/job-controller",
	Change:    Never,
	Since:     "Kubernetes v1.32",
	Indicators: Indicators{
		Suspend:   []Indicator{field("spec.suspend", "true")},
		Complete:  []Indicator{condition("Complete")},
		Failed:    []Indicator{condition("Failed")},
		Suspended: []Indicator{condition("Suspended")},
		Start:     []string{"status", "startTime"},
		End:       []string{"status", "completionTime"},
	},
	PodLabel:          "batch.kubernetes.io/job-name",
	CanStartSuspended: true,
	LocalFields:       [][]string{{"spec", "selector"}},
}

func batchKinds() []Kind {
	return []Kind{jobKind, {
		Name:       "cronjob",
		ShortNames: []string{"cj"},
		Kind:       "CronJob",
		Resource:   schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"},
		ManagedBy:  []string{"spec", "jobTemplate", "spec", "managedBy"},
		Template:   true,
		QueueLabel: []string{"spec", "jobTemplate", "metadata", "labels", QueueNameLabel},
		Reserved:   jobKind.Reserved,
		Change:     Always,
		Since:      jobKind.Since,
		Indicators: Indicators{
			Suspend: []Indicator{field("spec.suspend", "true")},
			// These are references to the unfinished Jobs.
			Running: []Indicator{{Path: []string{"status", "active", "kind"}, Values: []string{jobKind.Kind}}},
		},
	}}
}

func jobSetKinds() []Kind {
	return []Kind{{
		Name:      "jobset",
		Kind:      "JobSet",
		Resource:  schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"},
		ManagedBy: []string{"spec", "managedBy"},
		Reserved:  "jobset.sigs.k8s.io/jobset-controller",
		Change:    ByWebhook,
		Since:     "JobSet v0.5.0",
		Indicators: Indicators{
			Suspend:   []Indicator{field("spec.suspend", "true")},
			Complete:  []Indicator{condition("Completed")},
			Failed:    []Indicator{condition("Failed")},
			Suspended: []Indicator{condition("Suspended")},
			Running:   countsOfJobs("status.replicatedJobsStatus"),
			// jobset: api/jobset/v1alpha2/jobset_types.go. Since 0.12, the condition shows a restart, and Jobs restart
			// one by one. A failure policy may leave restarts out of the limit (pkg/controllers/failure_policy.go).
			Restarts: RestartFields{
				Now:    []Indicator{condition("RestartingJobSet")},
				Counts: [][]string{{"status", "restarts"}, {"status", "replicatedJobsStatus", "jobRestarts"}},
				Limited: [][]string{
					{"status", "restartsCountTowardsMax"}, {"status", "replicatedJobsStatus", "jobRestartsCountTowardsMax"},
				},
				Limit: []string{"spec", "failurePolicy", "maxRestarts"},
			},
		},
		CreatesJobs: true,
		PodLabel:    "jobset.sigs.k8s.io/jobset-name",
		// jobset: api/jobset/v1alpha2/jobset_types.go, VolumeClaimPolicies, since 0.11.
		Claims: []string{"spec", "volumeClaimPolicies", "templates"},
		PodCounts: [][]string{
			{"spec", "replicatedJobs", "replicas"},
			{"spec", "replicatedJobs", "template", "spec", "parallelism"},
			{"spec", "replicatedJobs", "template", "spec", "completions"},
		},
		CanStartSuspended: true,
	}}
}

// countsOfJobs returns the indicators that Jobs in a list, which counts them by state, run or have
// run.
func countsOfJobs(path string) []Indicator {
	return []Indicator{field(path + ".active"), field(path + ".ready"), field(path + ".succeeded")}
}

func appWrapperKinds() []Kind {
	deployed := condition("ResourcesDeployed")
	return []Kind{{
		Name:       "appwrapper",
		ShortNames: []string{"aw"},
		Kind:       "AppWrapper",
		Resource:   schema.GroupVersionResource{Group: "workload.codeflare.dev", Version: "v1beta2", Resource: "appwrappers"},
		ManagedBy:  []string{"spec", "managedBy"},
		Reserved:   "workload.codeflare.dev/appwrapper-controller",
		Change:     ByWebhook,
		Since:      "AppWrapper v0.26.0",
		Indicators: Indicators{
			Suspend:  []Indicator{field("spec.suspend", "true")},
			Complete: []Indicator{field("status.phase", "Succeeded")},
			// The controller first deletes the created objects, whose Pods may run until then.
			Failed:    []Indicator{{Path: []string{"status", "phase"}, Values: []string{"Failed"}, NoneOf: []Indicator{deployed}}},
			Suspended: []Indicator{field("status.phase", "Suspended")},
			Running: []Indicator{
				field("status.phase", "Running", "Suspending", "Resetting"),
				{Path: []string{"status", "phase"}, Values: []string{"Failed"}, AllOf: []Indicator{deployed}},
			},
			// appwrapper: internal/controller/appwrapper/appwrapper_controller.go, resetOrFail.
			Explanation: Explanation{Conditions: []Indicator{condition("Unhealthy")}},
			Restarts: RestartFields{
				Now:    []Indicator{field("status.phase", "Resetting")},
				Counts: [][]string{{"status", "resettingCount"}},
			},
		},
		PodLabel:          "workload.codeflare.dev/appwrapper",
		CanStartSuspended: true,
	}}
}
