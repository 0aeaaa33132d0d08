package plan

import (
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// schedulingPolicy says whether the pods of a Job start together or one by one
// (kubernetes: batch/v1 types.go, JobSchedulingConfiguration, from 1.37 on).
func schedulingPolicy() []string { return []string{"spec", "scheduling", "schedulingPolicy"} }

// gang is how many pods have to start together, all that can be changed of how a Job
// is scheduled (kubernetes: pkg/apis/batch/validation, validateJobSchedulingUpdate). It
// must not be greater than parallelism, which is written with it; a mirror that gets
// the parallelism of its completions first has the rest to come.
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

// fixedScheduling finds what differs in how the Job is scheduled, and can never be
// changed. A mirror without any of it is on a server that does not know it.
func (d *drifter) fixedScheduling() {
	planned, now := content.MapAt(d.planned, "spec", "scheduling"), content.MapAt(d.mirror, "spec", "scheduling")
	d.compare("spec.scheduling.", planned, now, func(field string) bool { return field == "schedulingPolicy" })
	// Policies are told apart by which of them is there, empty as it may be.
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
