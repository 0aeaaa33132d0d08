package delegation

import "k8s.io/apimachinery/pkg/runtime/schema"

func tektonKinds() []Kind {
	pipelines := schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "pipelines"}
	tasks := schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "tasks"}
	accounts := schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	claims := schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	claim := reference("spec.workspaces.persistentVolumeClaim.claimName", "PersistentVolumeClaim", claims)

	run := tektonKind("pipelinerun", "PipelineRun", []string{"pr", "prs"}, "tekton.dev/pipelineRun", "ResolvingPipelineRef")
	run.References = []Reference{
		reference("spec.pipelineRef.name", "Pipeline", pipelines),
		reference("spec.pipelineSpec.tasks.taskRef.name", "Task", tasks),
		reference("spec.pipelineSpec.finally.taskRef.name", "Task", tasks),
		reference("spec.taskRunTemplate.serviceAccountName", "ServiceAccount", accounts),
		reference("spec.taskRunSpecs.serviceAccountName", "ServiceAccount", accounts),
		claim,
	}
	// tekton: pkg/pod/status.go:625, pkg/reconciler/taskrun/taskrun.go:471.
	task := tektonKind("taskrun", "TaskRun", []string{"tr", "trs"}, "tekton.dev/taskRun",
		"ResolvingTaskRef", "ResolvingStepActionRef", "Pending", "ExceededNodeResources", "ExceededResourceQuota", "PullImageFailed")
	task.References = []Reference{
		reference("spec.taskRef.name", "Task", tasks),
		reference("spec.serviceAccountName", "ServiceAccount", accounts),
		claim,
	}
	return []Kind{run, task}
}

// tektonKind returns what the two kinds of Tekton have in common (tekton:
// pkg/apis/pipeline/register.go:61, pipelinerun_validation.go:142). waits are the reasons with which
// an unfinished object has had no running Pod, besides those of both kinds.
func tektonKind(name, kind string, shortNames []string, podLabel string, waits ...string) Kind {
	pending := field("spec.status", kind+"Pending")
	waiting := Indicator{Condition: "Succeeded", ConditionStatus: "Unknown", Reasons: append(waits, "Started", kind+"Pending")}
	return Kind{
		Name:       name,
		ShortNames: shortNames,
		Kind:       kind,
		Resource:   schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: name + "s"},
		ManagedBy:  []string{"spec", "managedBy"},
		Reserved:   "tekton.dev/pipeline",
		Change:     ByWebhook,
		Since:      "Tekton Pipelines v1.5.0",
		Indicators: Indicators{
			Suspend:  []Indicator{pending},
			Complete: []Indicator{condition("Succeeded")},
			Failed:   []Indicator{{Condition: "Succeeded", ConditionStatus: "False"}},
			Running:  []Indicator{{Condition: "Succeeded", ConditionStatus: "Unknown", NoneOf: []Indicator{pending, waiting}}},
			Start:    []string{"status", "startTime"},
			End:      []string{"status", "completionTime"},
		},
		PodLabel: podLabel,
		// Kueue knows PipelineRuns only by multiKueue.externalFrameworks (kueue:
		// pkg/controller/admissionchecks/multikueue/externalframeworks).
		Integration: "tekton-kueue",
		// tekton: pkg/pod/entrypoint.go:60.
		Steps: "step-",
	}
}
