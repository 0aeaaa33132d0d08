package plan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// randomEdits returns random changes of a Job. Servers allow changes of the Pod template only
// while the Job is suspended.
func randomEdits(r *rand.Rand, isIndexed, isOrigin bool) []edit {
	number := func() any { return int64(r.IntN(5) + 1) }
	word := func() any { return string(rune('a' + r.IntN(4))) }
	maybe := func(value any) any {
		if r.IntN(3) == 0 {
			return nil
		}
		return value
	}
	pod := "spec.template.spec."
	resources := func() string {
		return fmt.Sprintf("{limits: {cpu: %d00m}, requests: {memory: %dMi}}", r.IntN(20), r.IntN(3))
	}
	all := []func() []edit{
		func() []edit { return []edit{{"spec.suspend", r.IntN(2) == 0}} },
		func() []edit { return []edit{{"spec.parallelism", number()}} },
		func() []edit { return []edit{{"spec.backoffLimit", number()}} },
		func() []edit { return []edit{{"spec.activeDeadlineSeconds", maybe(number())}} },
		func() []edit { return []edit{{"metadata.labels." + word().(string), maybe(word())}} },
		func() []edit { return []edit{{"metadata.annotations." + word().(string), maybe(word())}} },
		func() []edit { return []edit{{pod + "nodeSelector." + word().(string), maybe(word())}} },
		func() []edit { return []edit{{pod + "nodeSelector", nil}} },
		func() []edit {
			return []edit{{pod + "tolerations", maybe(fmt.Sprintf("yaml:[{key: %s}, {key: %s}]", word(), word()))}}
		},
		func() []edit {
			return []edit{{pod + "schedulingGates", maybe(fmt.Sprintf("yaml:[{name: %s}]", word()))}}
		},
		func() []edit {
			return []edit{{pod + "affinity", maybe(fmt.Sprintf(
				"yaml:{nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: %s, operator: Exists}]}}]}}", word()))}}
		},
		func() []edit { return []edit{{"spec.template.metadata.annotations." + word().(string), maybe(word())}} },
		func() []edit { return []edit{{"spec.template.metadata.labels." + word().(string), maybe(word())}} },
		func() []edit {
			return []edit{{pod + "containers", "yaml:[{name: main, image: 'i:1', resources: " + resources() + "}, {name: side, image: 'i:2'}]"}}
		},
	}
	all = append(all, func() []edit {
		n := number().(int64)
		return []edit{{"spec.parallelism", n}, {gangCount, maybe(n - int64(r.IntN(int(n))))}}
	})
	if isIndexed {
		all = append(all, func() []edit {
			n := number()
			return []edit{{"spec.completions", n}, {"spec.parallelism", n}}
		}, func() []edit { return []edit{{"spec.maxFailedIndexes", maybe(int64(1))}} })
	}
	if isOrigin {
		all = append(all, func() []edit { return []edit{{"spec.ttlSecondsAfterFinished", maybe(number())}} })
	}
	var edits []edit
	for range r.IntN(6) {
		edits = append(edits, all[r.IntN(len(all))]()...)
	}
	return edits
}

// TestDriftConverges makes random changes on both sides. After a few writes nothing is left to
// write, the mirror matches its plan, and the worker's changes are preserved.
func TestDriftConverges(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkConvergence(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func checkConvergence(t *testing.T, r *rand.Rand) {
	t.Helper()
	isIndexed := r.IntN(2) == 0
	origin := []edit{{"spec.parallelism", int64(2)}, {"spec.completions", int64(4)}, {"spec.suspend", r.IntN(2) == 0}}
	if isIndexed {
		origin = append(append(origin, indexed()...), edit{"spec.maxFailedIndexes", int64(1)})
	}
	stored := limitMinCount(t, driftJob(t, append(origin, randomEdits(r, isIndexed, true)...)...))
	before := planFor(t, stored, into).Mirror
	mirror := edited(t, asStored(t, before, "u2"), randomEdits(r, isIndexed, false)...)
	mirror = afterController(t, limitMinCount(t, mirror))
	fresh := asStored(t, before, "u2")
	assert.Assert(t, driftOf(t, before, before, fresh).Patch == nil)
	assert.Assert(t, driftOf(t, before, nil, fresh).Patch == nil)

	planned := planFor(t, limitMinCount(t, edited(t, stored, randomEdits(r, isIndexed, true)...)), into).Mirror
	drift := driftOf(t, planned, before, mirror)
	for writes := 0; drift.Patch != nil; writes++ {
		assert.Assert(t, writes < 4, "%v", drift.Fields)
		next := applied(t, mirror, drift.Patch)
		if count, has := at(next, gangCount).(int64); has {
			assert.Assert(t, count <= at(next, "spec.parallelism").(int64), "the server refuses %v", drift.Fields)
		}
		before, mirror = drift.Written(planned, before), next
		drift = driftOf(t, planned, before, mirror)
		if drift.Patch == nil && len(drift.Deferred) > 0 {
			// This is the part of the worker's controller.
			next = afterController(t, mirror)
			drift = driftOf(t, planned, before, next)
			mirror = next
		}
	}
	for _, field := range []string{"parallelism", "backoffLimit", "activeDeadlineSeconds", "suspend"} {
		if value := at(planned, "spec."+field); value != nil {
			assert.DeepEqual(t, at(mirror, "spec."+field), value)
		}
	}
	for key, value := range planned.GetLabels() {
		assert.Equal(t, mirror.GetLabels()[key], value)
	}
	labels, _, _ := unstructured.NestedStringMap(mirror.Object, "spec", "template", "metadata", "labels")
	assert.Equal(t, labels["batch.kubernetes.io/controller-uid"], "u2")
	assert.Equal(t, len(drift.Immutable) > 0, !isIndexed && at(planned, "spec.completions") != at(mirror, "spec.completions"), "%v", drift.Immutable)
}

// limitMinCount reduces a gang's minCount to parallelism, because servers refuse more.
func limitMinCount(t *testing.T, job *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	count, has := at(job, gangCount).(int64)
	if most, _ := at(job, "spec.parallelism").(int64); has && count > most {
		return edited(t, job, edit{gangCount, most})
	}
	return job
}

// afterController returns a mirror after its controller has seen it.
func afterController(t *testing.T, mirror *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	if at(mirror, "spec.suspend") == true {
		return edited(t, mirror, edit{"status", "yaml:{conditions: [{type: Suspended, status: 'True'}]}"})
	}
	return edited(t, mirror, edit{"status", "yaml:{active: 1, startTime: '2026-03-01T09:00:00Z'}"})
}
