package delegation

import "k8s.io/apimachinery/pkg/runtime/schema"

func tektonKinds() []Kind {
	return []Kind{
		tektonKind("pipelinerun", "PipelineRun", []string{"pr", "prs"}, "tekton.dev/pipelineRun"),
		tektonKind("taskrun", "TaskRun", []string{"tr", "trs"}, "tekton.dev/taskRun"),
	}
}

// tektonKind returns what the two kinds of Tekton have in common (tekton:
// pkg/apis/pipeline/register.go:61, pipelinerun_validation.go:142).
func tektonKind(name, kind string, shortNames []string, podLabel string) Kind {
	pending := field("spec.status", kind+"Pending")
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
			Running:  []Indicator{{Condition: "Succeeded", ConditionStatus: "Unknown", NoneOf: []Indicator{pending}}},
			Start:    []string{"status", "startTime"},
			End:      []string{"status", "completionTime"},
		},
		PodLabel: podLabel,
	}
}
