package podtemplate

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// Key is a label or an annotation of a pod template, with its value, or a scheduling
// gate by its name.
type Key struct{ Field, Value string }

// KueuesOf are the labels and annotations of an object's pod templates that Kueue put
// there as it started the object.
func KueuesOf(k delegation.Kind, o *unstructured.Unstructured) []Key {
	return eachOfKueues(k, o, func(map[string]any, string) {})
}

// TakeKueues removes them, and what then is empty. What is created again with them, Kueue
// refuses to start. Its scheduling gates go, too: it puts them there itself where it is to
// open them, and nobody else opens them.
func TakeKueues(k delegation.Kind, o *unstructured.Unstructured) []Key {
	taken := eachOfKueues(k, o, func(values map[string]any, key string) { delete(values, key) })
	for _, t := range Of(k, o) {
		taken = append(taken, takeGates(t)...)
	}
	if len(taken) == 0 {
		return nil
	}
	for _, t := range Of(k, o) {
		t.dropEmpty()
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

// dropEmpty removes what has nothing in it any more of a template's metadata.
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

func takeGates(t Template) []Key {
	gates, _ := t.Pod()["schedulingGates"].([]any)
	var taken []Key
	rest := slices.DeleteFunc(slices.Clone(gates), func(gate any) bool {
		name, _ := content.In(map[string]any{"gate": gate}, "gate", "name").(string)
		isKueues := delegation.IsKueues(name)
		if isKueues {
			taken = append(taken, Key{t.Path + ".spec.schedulingGates", name})
		}
		return isKueues
	})
	switch {
	case len(taken) == 0:
	case len(rest) == 0:
		delete(t.Pod(), "schedulingGates")
	default:
		t.Pod()["schedulingGates"] = rest
	}
	return taken
}
