package plan

import (
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// schedulingPolicy is the path of the field that selects whether the Pods of a Job start together
// or one by one (kubernetes: batch/v1 types.go, JobSchedulingConfiguration, since 1.37).
func schedulingPolicy() []string { return []string{"spec", "scheduling", "schedulingPolicy"} }

// gang sets minCount, the number of Pods that have to start together. This is the only mutable
// scheduling field of a Job (kubernetes: pkg/apis/batch/validation, validateJobSchedulingUpdate).
// It must not exceed parallelism, which the same write changes. If that write first sets
// parallelism to completions, a second one follows.
func (d *drifter) gang() {
	path := append(schedulingPolicy(), "gang")
	if content.MapAt(d.mirror, path...) == nil {
		return
	}
	path = append(path, "minCount")
	wanted, now := content.At(d.planned, path...), content.At(d.mirror, path...)
	if wanted == nil && content.At(d.before, path...) == nil {
		wanted = now
	}
	if most, ok := content.At(d.desired, "spec", "parallelism").(int64); ok {
		if count, isCount := wanted.(int64); isCount && count > most {
			wanted = most
		}
		if most < 1 {
			wanted = nil
		}
	}
	if !content.IsSame(wanted, now) {
		d.put(wanted, path...)
	}
}

// fixedScheduling finds differences in immutable scheduling fields. A mirror without any of them
// is on a server that does not know them.
func (d *drifter) fixedScheduling() {
	planned, now := content.MapAt(d.planned, "spec", "scheduling"), content.MapAt(d.mirror, "spec", "scheduling")
	d.compare("spec.scheduling.", planned, now, func(field string) bool { return field == "schedulingPolicy" })
	// The name of the field identifies the policy. Its value may be empty.
	policy, policyNow := content.MapAt(d.planned, schedulingPolicy()...), content.MapAt(d.mirror, schedulingPolicy()...)
	if len(policy) > 0 && len(policyNow) > 0 && !slices.Equal(slices.Sorted(maps.Keys(policy)), slices.Sorted(maps.Keys(policyNow))) {
		d.immutable.Insert(content.Dotted(schedulingPolicy()))
	}
	mode, _ := planned["disruptionMode"].(map[string]any)
	modeNow, _ := now["disruptionMode"].(map[string]any)
	if len(mode) > 0 && len(modeNow) > 0 && !slices.Equal(slices.Sorted(maps.Keys(mode)), slices.Sorted(maps.Keys(modeNow))) {
		d.immutable.Insert("spec.scheduling.disruptionMode")
	}
}
