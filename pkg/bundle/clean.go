package bundle

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// redacted replaces removed values.
const redacted = "REDACTED"

// clean removes what no command reads: the managed fields of all objects except Workloads, where
// they show who wrote which part of a status; and the data of Secrets inside an object, such as
// an AppWrapper.
func clean(object map[string]any, of schema.GroupVersionResource, redact bool) {
	if removeSecrets(object) {
		// The annotation contains the Secrets again.
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

// redactValue redacts an object, and all Pod templates in it.
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
				// In containers, and in fields that become containers, such as a TrainJob's
				// trainer.
				redactEnv(inner)
			case "runtimeEnvYAML", "redis-password":
				// Ray also has environment variables and its password here.
				redactText(v, key)
			case "redisPassword":
				redactEntry(inner)
			}
			redactValue(inner)
		}
	}
}

// redactHolder removes the holder of a Lease, which is often a user and a machine, but not the
// fact that there is one.
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

// redactEntry redacts the value of an entry that contains one instead of a reference.
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
