package podtemplate

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// Key is a label, an annotation or a scheduling gate of a Pod template. Value is the name of a
// gate.
type Key struct{ Field, Value string }

// KueueKeys returns the labels and annotations that Kueue added to the Pod templates of an object
// when it started the object.
func KueueKeys(k delegation.Kind, o *unstructured.Unstructured) []Key {
	return eachKueueKey(k, o, func(map[string]any, string) {})
}

// RemoveKueueKeys removes Kueue's labels, annotations and scheduling gates from the Pod templates
// of an object, and maps that are empty afterwards. Kueue refuses to start an object that is
// created with its labels and annotations. It adds its scheduling gates itself when needed, and
// no other controller opens them.
func RemoveKueueKeys(k delegation.Kind, o *unstructured.Unstructured) []Key {
	removed := eachKueueKey(k, o, func(values map[string]any, key string) { delete(values, key) })
	for _, t := range Of(k, o) {
		removed = append(removed, removeGates(t)...)
	}
	if len(removed) == 0 {
		return nil
	}
	for _, t := range Of(k, o) {
		t.dropEmpty()
	}
	return removed
}

func eachKueueKey(k delegation.Kind, o *unstructured.Unstructured, do func(values map[string]any, key string)) []Key {
	var found []Key
	for _, t := range Of(k, o) {
		for _, field := range []string{"annotations", "labels"} {
			values, _ := content.In(t.Object, "metadata", field).(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(values)) {
				if value, _ := values[key].(string); delegation.IsKueueTemplateKey(key) {
					found = append(found, Key{content.Keyed(t.Path+".metadata."+field, key), value})
					do(values, key)
				}
			}
		}
	}
	return found
}

// dropEmpty removes empty maps from the template's metadata.
func (p Template) dropEmpty() {
	metadata, _ := p.Object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if values, ok := metadata[field].(map[string]any); ok && len(values) == 0 {
			delete(metadata, field)
		}
	}
	if metadata != nil && len(metadata) == 0 {
		delete(p.Object, "metadata")
	}
}

func removeGates(t Template) []Key {
	gates, _ := t.Pod()["schedulingGates"].([]any)
	var removed []Key
	rest := slices.DeleteFunc(slices.Clone(gates), func(gate any) bool {
		name, _ := content.In(map[string]any{"gate": gate}, "gate", "name").(string)
		isKueues := delegation.IsKueueKey(name)
		if isKueues {
			removed = append(removed, Key{t.Path + ".spec.schedulingGates", name})
		}
		return isKueues
	})
	switch {
	case len(removed) == 0:
	case len(rest) == 0:
		delete(t.Pod(), "schedulingGates")
	default:
		t.Pod()["schedulingGates"] = rest
	}
	return removed
}
