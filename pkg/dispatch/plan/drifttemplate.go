package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// part is a piece of the pod template that can be changed while no pod was made
// from it.
type part struct {
	path []string
	// merge is what the mirror's value is to become.
	merge func(planned, before, mirror any) any
}

// templateParts are the scheduling directives (KEP-2926). The resources of
// containers come beside them (KEP-5440).
func templateParts() []part {
	const template = "template"
	return []part{
		{[]string{"spec", template, "metadata", "labels"}, mergedPodLabels},
		{[]string{"spec", template, "metadata", "annotations"}, merged},
		{[]string{"spec", template, "spec", "nodeSelector"}, merged},
		{[]string{"spec", template, "spec", "tolerations"}, mergedSet},
		{[]string{"spec", template, "spec", "schedulingGates"}, mergedSet},
		{[]string{"spec", template, "spec", "affinity", "nodeAffinity"}, merged},
	}
}

// mergedPodLabels leaves those alone by which the Job finds its pods.
func mergedPodLabels(planned, before, mirror any) any {
	p, _ := planned.(map[string]any)
	b, _ := before.(map[string]any)
	return merged(without(p, object.IsGenerated), without(b, object.IsGenerated), mirror)
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

// templateIsOpen says whether the worker lets the pod template change (kubernetes:
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

// resources is about what the containers of a list ask for. A merge patch replaces
// a list as a whole, so everything else in it is what the mirror has.
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

// areSameContainers says whether two lists have containers of the same names in
// the same order. If not, there is nothing to compare one by one.
func areSameContainers(a, b any) bool {
	return slices.EqualFunc(content.Objects(a), content.Objects(b), func(x, y map[string]any) bool { return x["name"] == y["name"] })
}

func containerPath(field string, i int) string {
	return fmt.Sprintf("spec.template.spec.%s[%d]", field, i)
}

// templateField says whether a path, or a path with a value, is in the pod
// template, and returns it without the value.
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
