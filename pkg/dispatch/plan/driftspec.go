package plan

import (
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// spec compares the fields that may change at any time (kubernetes: ValidateJobSpecUpdate in
// pkg/apis/batch/validation/validation.go checks none of them).
func (d *drifter) spec() {
	for _, field := range []string{"parallelism", "backoffLimit", "podReplacementPolicy"} {
		d.defaulted(field)
	}
	d.optional("activeDeadlineSeconds")
	if d.mirrorField("backoffLimitPerIndex") != nil {
		// A server that did not store backoffLimitPerIndex knows neither field.
		d.optional("maxFailedIndexes")
	}
	d.completions()
	d.gang()
	d.suspend()
}

func (d *drifter) plannedField(field string) any { return content.At(d.planned, "spec", field) }
func (d *drifter) mirrorField(field string) any  { return content.At(d.mirror, "spec", field) }

// defaulted compares a field that every server which knows it sets.
func (d *drifter) defaulted(field string) {
	planned, now := d.plannedField(field), d.mirrorField(field)
	if planned != nil && now != nil && !content.IsSame(planned, now) {
		d.put(planned, "spec", field)
	}
}

// optional compares a field that users may remove.
func (d *drifter) optional(field string) {
	planned, now := d.plannedField(field), d.mirrorField(field)
	switch {
	case planned != nil && !content.IsSame(planned, now):
		d.put(planned, "spec", field)
	case planned == nil && now != nil && content.At(d.before, "spec", field) != nil:
		d.put(nil, "spec", field)
	}
}

// completions of an Indexed Job change only together with parallelism, to the same value
// (kubernetes: validateCompletions). If the origin's parallelism differs, two writes are needed.
func (d *drifter) completions() {
	planned := d.plannedField("completions")
	if planned == nil || content.IsSame(planned, d.mirrorField("completions")) {
		return
	}
	if d.plannedField("completionMode") != "Indexed" || d.mirrorField("completionMode") != "Indexed" {
		if d.mirrorField("completions") != nil {
			d.immutable.Insert("spec.completions")
		}
		return
	}
	d.put(planned, "spec", "completions")
	if !content.IsSame(content.At(d.desired, "spec", "parallelism"), planned) {
		d.put(planned, "spec", "parallelism")
	}
}

// suspend follows the origin. If the mirror is in a queue, Kueue decides, and would revert a
// write. A mirror whose Pods would start from an outdated template remains suspended until the
// template can change.
func (d *drifter) suspend() {
	planned, isSet := d.plannedField("suspend").(bool)
	now := content.IsTrueAt(d.mirror, "spec", "suspend")
	if !isSet || planned == now {
		return
	}
	switch isQueued := content.StringsAt(d.mirror, "metadata", "labels")[delegation.QueueNameLabel] != ""; {
	case isQueued:
		d.foreign.Insert("spec.suspend")
	case planned || !hasTemplate(d.deferred.UnsortedList()):
		d.put(planned, "spec", "suspend")
	}
}

// fixed finds differences in immutable fields. It compares only fields that both sides have: the
// others are defaults.
func (d *drifter) fixed() {
	planned, now := content.MapAt(d.planned, "spec"), content.MapAt(d.mirror, "spec")
	d.compare("spec.", planned, now, func(field string) bool {
		switch field {
		case "template", "managedBy", "manualSelector", "ttlSecondsAfterFinished", "suspend", "parallelism", "completions",
			"activeDeadlineSeconds", "backoffLimit", "maxFailedIndexes", "podReplacementPolicy", "scheduling":
			return true
		case "selector":
			// The worker generates the selector.
			return !content.IsTrueAt(d.planned, "spec", "manualSelector")
		}
		return false
	})
	d.fixedScheduling()
	pod, mirrorPod := content.MapAt(d.planned, "spec", "template", "spec"), content.MapAt(d.mirror, "spec", "template", "spec")
	d.compare("spec.template.spec.", pod, mirrorPod, func(field string) bool {
		switch field {
		case "nodeSelector", "tolerations", "schedulingGates", "affinity":
			return true
		case "containers", "initContainers":
			return areSameContainers(pod[field], mirrorPod[field])
		}
		return false
	})
	affinity, _ := pod["affinity"].(map[string]any)
	affinityNow, _ := mirrorPod["affinity"].(map[string]any)
	d.compare("spec.template.spec.affinity.", affinity, affinityNow, func(field string) bool { return field == "nodeAffinity" })
	for _, field := range []string{"containers", "initContainers"} {
		if !areSameContainers(pod[field], mirrorPod[field]) {
			continue
		}
		containersNow := content.Objects(mirrorPod[field])
		for i, c := range content.Objects(pod[field]) {
			d.compare(containerPath(field, i)+".", c, containersNow[i], func(field string) bool { return field == "resources" })
		}
	}
}

// compare records the fields whose values contradict each other.
func (d *drifter) compare(prefix string, planned, now map[string]any, skip func(field string) bool) {
	for _, field := range slices.Sorted(maps.Keys(planned)) {
		if !skip(field) && isContradiction(planned[field], now[field], isQuantity(field)) {
			d.immutable.Insert(prefix + field)
		}
	}
}
