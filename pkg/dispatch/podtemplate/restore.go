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

// Restored is a part of a pod template that was set back to what it was before Kueue
// started the pods.
type Restored struct {
	// Field is its path in the object.
	Field string
	// Before and Kueues are what it was, and what Kueue had made of it.
	Before, Kueues any
}

// placing are the fields of a pod's spec by which Kueue says where the pods go: the node
// labels and tolerations of the ResourceFlavors, and the gates of topologies (kueue:
// pkg/podset).
func placing() []string { return []string{"nodeSelector", "tolerations", "schedulingGates"} }

// Restore sets back what Kueue has put into the pod templates of an object as it started
// it: to the pod sets of its Workload, which are the templates as they were then, and by
// what the Workload's admission checks have added to them. Templates of which no pod set
// can be told to be theirs stay as they are, and are returned beside.
func Restore(k delegation.Kind, o, workload *unstructured.Unstructured) (restored []Restored, untold []Template) {
	sets := content.Objects(content.At(workload, "spec", "podSets"))
	for _, t := range Of(k, o) {
		set := setOf(t, sets)
		if set == nil {
			untold = append(untold, t)
			continue
		}
		restored = append(restored, restorePlacing(t, set)...)
		if dropped := dropAdded(t, set, workload); len(dropped) > 0 {
			restored = append(restored, dropped...)
			t.dropEmpty()
		}
	}
	return restored, untold
}

// setOf is the pod set that was made of a template; nil if none can be told. Their names
// follow from the object's fields in a way of each kind's own, so they are compared by
// the containers that they have, and by name only where that leaves a choice.
func setOf(t Template, sets []map[string]any) map[string]any {
	var alike []map[string]any
	for _, set := range sets {
		template, _ := set["template"].(map[string]any)
		if pod, _ := template["spec"].(map[string]any); slices.Equal(imagesOf(pod), imagesOf(t.Pod())) {
			alike = append(alike, set)
		}
	}
	isNamed := func(set map[string]any) bool {
		name, _ := set["name"].(string)
		return slices.ContainsFunc(strings.Split(t.Path, "."), func(part string) bool { return strings.EqualFold(part, name) })
	}
	switch {
	case len(alike) == 0:
		return nil
	case !slices.ContainsFunc(alike[1:], func(set map[string]any) bool { return !isPlacedAlike(alike[0], set) }):
		return alike[0]
	}
	if i := slices.IndexFunc(alike, isNamed); i >= 0 {
		return alike[i]
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

func isPlacedAlike(a, b map[string]any) bool {
	for _, field := range placing() {
		if !content.IsSame(content.In(a, "template", "spec", field), content.In(b, "template", "spec", field)) {
			return false
		}
	}
	return true
}

func restorePlacing(t Template, set map[string]any) []Restored {
	var restored []Restored
	for _, field := range placing() {
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

// dropAdded takes off the labels and annotations that admission checks have added.
func dropAdded(t Template, set map[string]any, workload *unstructured.Unstructured) []Restored {
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

// Placed are the fields of a template that say where its pods go, and that Kueue may
// have set. Its gates are none of them: they tell by their names whose they are.
func (p Template) Placed() []string {
	return slices.DeleteFunc(placing(), func(field string) bool {
		return field == "schedulingGates" || content.IsSame(p.Pod()[field], nil)
	})
}
