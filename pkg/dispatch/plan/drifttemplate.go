package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// part is a part of the Pod template that may change before Pods are created from it.
type part struct {
	path []string
	// merge returns the mirror's new value.
	merge func(planned, before, mirror any) any
}

// templateParts returns the scheduling directives (KEP-2926). The resources of containers are
// handled separately (KEP-5440).
func templateParts() []part {
	const template = "template"
	return []part{
		{[]string{"spec", template, "metadata", "labels"}, mergedPodLabels},
		{[]string{"spec", template, "metadata", "annotations"}, mergeMaps},
		{[]string{"spec", template, "spec", "nodeSelector"}, mergeMaps},
		{[]string{"spec", template, "spec", "tolerations"}, mergedSet},
		{[]string{"spec", template, "spec", "schedulingGates"}, mergedSet},
		{[]string{"spec", template, "spec", "affinity", "nodeAffinity"}, mergeMaps},
	}
}

// mergedPodLabels is mergeMaps without the labels by which the Job finds its Pods.
func mergedPodLabels(planned, before, mirror any) any {
	p, _ := planned.(map[string]any)
	b, _ := before.(map[string]any)
	return mergeMaps(without(p, object.IsGenerated), without(b, object.IsGenerated), mirror)
}

func (d *drifter) template() {
	open := d.templateIsOpen()
	for _, p := range templateParts() {
		planned, before, now := content.At(d.planned, p.path...), content.At(d.before, p.path...), content.At(d.mirror, p.path...)
		to := p.merge(planned, before, now)
		switch {
		case content.IsSame(now, to):
		case open:
			d.put(to, p.path...)
		default:
			d.deferred.Insert(content.Dotted(p.path))
		}
	}
	if affinity := content.MapAt(d.desired, "spec", "template", "spec", "affinity"); affinity != nil && len(affinity) == 0 {
		d.put(nil, "spec", "template", "spec", "affinity")
	}
	for _, field := range []string{"containers", "initContainers"} {
		d.resources(field, open)
	}
}

// templateIsOpen reports whether the worker allows changes of the Pod template (kubernetes:
// pkg/registry/batch/job/strategy.go, shouldAllowMutablePodTemplate).
func (d *drifter) templateIsOpen() bool {
	active, _ := content.At(d.mirror, "status", "active").(int64)
	if !content.IsTrueAt(d.mirror, "spec", "suspend") || active > 0 {
		return false
	}
	conditions, _ := content.At(d.mirror, "status", "conditions").([]any)
	isSuspended := slices.ContainsFunc(content.Objects(conditions), func(c map[string]any) bool {
		return c["type"] == "Suspended" && c["status"] == "True"
	})
	return isSuspended || content.StringAt(d.mirror, "status", "startTime") == ""
}

// resources compares the resources of the containers in a list. A merge patch replaces the whole
// list, so the other fields keep the mirror's values.
func (d *drifter) resources(field string, open bool) {
	path := []string{"spec", "template", "spec", field}
	list, now := content.At(d.planned, path...), content.At(d.mirror, path...)
	if !areSameContainers(list, now) {
		return
	}
	containers, _ := runtime.DeepCopyJSONValue(now).([]any)
	before := map[any]map[string]any{}
	for _, c := range content.Objects(content.At(d.before, path...)) {
		before[c["name"]] = c
	}
	var differs bool
	for i, c := range content.Objects(list) {
		container, _ := containers[i].(map[string]any)
		to := mergedResources(c["resources"], before[c["name"]]["resources"], container["resources"])
		if content.IsSame(container["resources"], to) {
			continue
		}
		differs = true
		if !open {
			d.deferred.Insert(containerPath(field, i) + ".resources")
		}
		if to == nil {
			to = map[string]any{}
		}
		container["resources"] = to
	}
	if differs && open {
		d.put(containers, path...)
	}
}

// areSameContainers reports whether two lists have containers with the same names in the same
// order. Otherwise they cannot be compared one by one.
func areSameContainers(a, b any) bool {
	return slices.EqualFunc(content.Objects(a), content.Objects(b), func(x, y map[string]any) bool { return x["name"] == y["name"] })
}

func containerPath(field string, i int) string {
	return fmt.Sprintf("spec.template.spec.%s[%d]", field, i)
}

// templateField returns a path without its value, and whether it is in the Pod template.
func templateField(field string) (path string, inTemplate bool) {
	path, _, _ = strings.Cut(field, "=")
	return path, strings.HasPrefix(path, "spec.template.")
}

func hasTemplate(fields []string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		_, inTemplate := templateField(field)
		return inTemplate
	})
}
