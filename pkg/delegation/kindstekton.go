package delegation

import "k8s.io/apimachinery/pkg/runtime/schema"

func tektonKinds() []Kind {
	return []Kind{
		tektonKind("pipelinerun", "PipelineRun", []string{"pr", "prs"}, "tekton.dev/pipelineRun", "ResolvingPipelineRef"),
		// tekton: pkg/pod/status.go:625, pkg/reconciler/taskrun/taskrun.go:471.
		tektonKind("taskrun", "TaskRun", []string{"tr", "trs"}, "tekton.dev/taskRun",
			"ResolvingTaskRef", "ResolvingStepActionRef", "Pending", "ExceededNodeResources", "ExceededResourceQuota", "PullImageFailed"),
	}
}

// tektonKind returns what the two kinds of Tekton have in common (tekton:
// pkg/apis/pipeline/register.go:61, pipelinerun_validation.go:142). waits are the reasons with which
// an unfinished object has had no running Pod, besides those of both kinds.
func tektonKind(name, kind string, shortNames []string, podLabel string, waits ...string) Kind {
	pending := field("spec.status", kind+"Pending")
	waiting := Sign{Condition: "Succeeded", Is: "Unknown", Reasons: append(waits, "Started", kind+"Pending")}
	return Kind{
		Name:       name,
		ShortNames: shortNames,
		Kind:       kind,
		Resource:   schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: name + "s"},
		ManagedBy:  []string{"spec", "managedBy"},
		Reserved:   "tekton.dev/pipeline",
		Change:     ByWebhook,
		Since:      "Tekton Pipelines v1.5.0",
		Reading: Reading{
			Held:     []Sign{pending},
			Complete: []Sign{condition("Succeeded")},
			Failed:   []Sign{{Condition: "Succeeded", Is: "False"}},
			Running:  []Sign{{Condition: "Succeeded", Is: "Unknown", Unless: []Sign{pending, waiting}}},
			Start:    []string{"status", "startTime"},
			End:      []string{"status", "completionTime"},
		},
		PodLabel: podLabel,
		// tekton: pkg/pod/entrypoint.go:60.
		Steps: "step-",
	}
}
