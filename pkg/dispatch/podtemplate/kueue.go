package podtemplate

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// Key is a label or an annotation of a pod template, with its value.
type Key struct{ Field, Value string }

// KueuesOf are the labels and annotations of an object's pod templates that Kueue put
// there as it started the object.
func KueuesOf(k delegation.Kind, o *unstructured.Unstructured) []Key {
	return eachOfKueues(k, o, func(map[string]any, string) {})
}

// TakeKueues removes them, and what then is empty. What is created again with them, Kueue
// refuses to start.
func TakeKueues(k delegation.Kind, o *unstructured.Unstructured) []Key {
	taken := eachOfKueues(k, o, func(values map[string]any, key string) { delete(values, key) })
	if len(taken) == 0 {
		return nil
	}
	for _, t := range Of(k, o) {
		metadata, _ := t.Object["metadata"].(map[string]any)
		for _, field := range []string{"labels", "annotations"} {
			if values, ok := metadata[field].(map[string]any); ok && len(values) == 0 {
				delete(metadata, field)
			}
		}
		if metadata != nil && len(metadata) == 0 {
			delete(t.Object, "metadata")
		}
	}
	return taken
}

func eachOfKueues(k delegation.Kind, o *unstructured.Unstructured, do func(values map[string]any, key string)) []Key {
	var found []Key
	for _, t := range Of(k, o) {
		for _, field := range []string{"annotations", "labels"} {
			values, _ := content.In(t.Object, "metadata", field).(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(values)) {
				if value, _ := values[key].(string); delegation.IsKueuesInTemplate(key) {
					found = append(found, Key{content.Keyed(t.Path+".metadata."+field, key), value})
					do(values, key)
				}
			}
		}
	}
	return found
}
