package bundle

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// redacted stands where something was taken away.
const redacted = "REDACTED"

// clean takes away what nobody reads: which fields a manager owns, except those
// of Workloads, for they tell who wrote what of a status; and what Secrets hold
// that stand within an object, as they may in an AppWrapper.
func clean(object map[string]any, of schema.GroupVersionResource, redact bool) {
	if cutWithin(object) {
		// There they stand once more.
		unstructured.RemoveNestedField(object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	}
	metadata, _ := object["metadata"].(map[string]any)
	managers, _ := metadata["managedFields"].([]any)
	for _, m := range managers {
		if entry, ok := m.(map[string]any); ok && (of.Group != kueue.Group || of.Resource != "workloads") {
			delete(entry, "fieldsV1")
		}
	}
	if redact {
		redactValue(object)
		if of == leases().GroupVersionResource {
			redactHolder(object)
		}
	}
}

// redactValue redacts an object, and all pod templates in it.
func redactValue(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			redactValue(item)
		}
	case map[string]any:
		for key, inner := range v {
			switch key {
			case "managedFields":
				continue
			case "metadata":
				redactAnnotations(inner)
			case "env":
				// Of containers, and of what becomes one, such as a TrainJob's trainer.
				redactEnv(inner)
			case "runtimeEnvYAML", "redis-password":
				// Where Ray has environment variables too, and its password.
				redactText(v, key)
			case "redisPassword":
				redactEntry(inner)
			}
			redactValue(inner)
		}
	}
}

// redactHolder takes away who holds a Lease, which tends to be a user and a
// machine, but not whether anybody does.
func redactHolder(object map[string]any) {
	spec, _ := object["spec"].(map[string]any)
	if holder, _ := spec["holderIdentity"].(string); holder != "" {
		spec["holderIdentity"] = redacted
	}
}

func redactAnnotations(metadata any) {
	m, _ := metadata.(map[string]any)
	annotations, _ := m["annotations"].(map[string]any)
	for key := range annotations {
		domain, _, _ := strings.Cut(key, "/")
		switch domain {
		case kueue.Group, "jobmanagedby.github.io", "batch.kubernetes.io":
		default:
			delete(annotations, key)
		}
	}
	if annotations != nil && len(annotations) == 0 {
		delete(m, "annotations")
	}
}

func redactEnv(env any) {
	list, _ := env.([]any)
	for _, entry := range list {
		redactEntry(entry)
	}
}

// redactEntry redacts the value of something that has one by itself, or a reference
// to it.
func redactEntry(entry any) {
	if e, ok := entry.(map[string]any); ok && e["value"] != nil {
		e["value"] = redacted
	}
}

func redactText(of map[string]any, key string) {
	if text, ok := of[key].(string); ok && text != "" {
		of[key] = redacted
	}
}
