package podtemplate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// Restored is a field of a Pod template that was reset to its value before Kueue started the
// Pods.
type Restored struct {
	// Field is the path in the object.
	Field string
	// Before is the restored value. After is the value that Kueue had set.
	Before, After any
}

// placementFields returns the fields of a Pod spec through which Kueue places Pods: node labels
// and tolerations of ResourceFlavors, and the gates of topologies (kueue: pkg/podset).
func placementFields() []string { return []string{"nodeSelector", "tolerations", "schedulingGates"} }

// Restore reverts what Kueue added to the Pod templates of an object when it started the object.
// It resets the fields that place Pods to the pod sets of the object's Workload, which are copies
// of the original templates. It removes the labels and annotations that the Workload's admission
// checks added. Templates without an identifiable pod set stay unchanged, and are returned as
// unidentified.
func Restore(k delegation.Kind, o, workload *unstructured.Unstructured) (restored []Restored, unidentified []Template) {
	sets := content.Objects(content.At(workload, "spec", "podSets"))
	for _, t := range Of(k, o) {
		set := podSetOf(t, sets)
		if set == nil {
			unidentified = append(unidentified, t)
			continue
		}
		restored = append(restored, restorePlacing(t, set)...)
		if dropped := removeAdded(t, set, workload); len(dropped) > 0 {
			restored = append(restored, dropped...)
			t.dropEmpty()
		}
	}
	return restored, unidentified
}

// podSetOf returns the pod set of a template; nil if it cannot be identified. Each kind names its
// pod sets differently, so podSetOf compares the containers, and the names only if several sets
// match.
func podSetOf(t Template, sets []map[string]any) map[string]any {
	var matching []map[string]any
	for _, set := range sets {
		template, _ := set["template"].(map[string]any)
		if pod, _ := template["spec"].(map[string]any); slices.Equal(imagesOf(pod), imagesOf(t.Pod())) {
			matching = append(matching, set)
		}
	}
	isNamed := func(set map[string]any) bool {
		name, _ := set["name"].(string)
		return slices.ContainsFunc(strings.Split(t.Path, "."), func(part string) bool { return strings.EqualFold(part, name) })
	}
	switch {
	case len(matching) == 0:
		return nil
	case !slices.ContainsFunc(matching[1:], func(set map[string]any) bool { return !havePlacement(matching[0], set) }):
		return matching[0]
	}
	if i := slices.IndexFunc(matching, isNamed); i >= 0 {
		return matching[i]
	}
	return nil
}

func imagesOf(pod map[string]any) []string {
	var images []string
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range content.Objects(pod[field]) {
			images = append(images, fmt.Sprintf("%s %v %v", field, c["name"], c["image"]))
		}
	}
	return images
}

func havePlacement(a, b map[string]any) bool {
	for _, field := range placementFields() {
		if !content.IsSame(content.In(a, "template", "spec", field), content.In(b, "template", "spec", field)) {
			return false
		}
	}
	return true
}

func restorePlacing(t Template, set map[string]any) []Restored {
	var restored []Restored
	for _, field := range placementFields() {
		was, is := content.In(set, "template", "spec", field), t.Pod()[field]
		if content.IsSame(was, is) {
			continue
		}
		restored = append(restored, Restored{t.Path + ".spec." + field, was, is})
		if was == nil {
			delete(t.Pod(), field)
		} else {
			t.Pod()[field] = runtime.DeepCopyJSONValue(was)
		}
	}
	return restored
}

// removeAdded removes the labels and annotations that admission checks added.
func removeAdded(t Template, set map[string]any, workload *unstructured.Unstructured) []Restored {
	var restored []Restored
	for _, check := range content.Objects(content.At(workload, "status", "admissionChecks")) {
		for _, update := range content.Objects(check["podSetUpdates"]) {
			if update["name"] != set["name"] {
				continue
			}
			for _, field := range []string{"annotations", "labels"} {
				added, _ := update[field].(map[string]any)
				values, _ := content.In(t.Object, "metadata", field).(map[string]any)
				for _, key := range slices.Sorted(maps.Keys(added)) {
					if content.In(set, "template", "metadata", field, key) == nil && values[key] != nil && values[key] == added[key] {
						restored = append(restored, Restored{content.Keyed(t.Path+".metadata."+field, key), nil, added[key]})
						delete(values, key)
					}
				}
			}
		}
	}
	return restored
}

// PlacementFields returns the fields of a template that place its Pods and that Kueue may have
// set. Scheduling gates are not included: their names show who set them.
func (p Template) PlacementFields() []string {
	return slices.DeleteFunc(placementFields(), func(field string) bool {
		return field == "schedulingGates" || content.IsSame(p.Pod()[field], nil)
	})
}
