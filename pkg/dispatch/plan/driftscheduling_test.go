package plan_test

import (
	"fmt"
	"testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

const (
	gangPolicy = "spec.scheduling.schedulingPolicy.gang"
	gangCount  = gangPolicy + ".minCount"
)

// gang returns edits that make the Pods of a Job start together.
func gang(minCount, parallelism int64) []edit {
	return []edit{
		{"spec.scheduling.schedulingPolicy", fmt.Sprintf("yaml:{gang: {minCount: %d}}", minCount)},
		{"spec.parallelism", parallelism},
	}
}

// TestDriftOfGangs checks minCount, which must not exceed parallelism in any write.
func TestDriftOfGangs(t *testing.T) {
	for name, tt := range map[string]driftCase{
		"nothing":                {origin: gang(2, 4)},
		"nothing, after a crash": {origin: gang(2, 4), again: true},
		"fewer":                  {origin: gang(4, 4), user: gang(2, 4), want: fields(gangCount + "=2")},
		"with parallelism, in one write": {
			origin: gang(4, 4), user: gang(2, 2), want: fields("spec.parallelism=2", gangCount+"=2"),
			patch: `{"spec":{"parallelism":2,"scheduling":{"schedulingPolicy":{"gang":{"minCount":2}}}}}`,
		},
		"more with parallelism": {origin: gang(2, 2), user: gang(4, 5), want: fields("spec.parallelism=5", gangCount+"=4")},
		"none to all fields": {
			origin: gang(2, 4), user: []edit{{gangCount, nil}}, want: fields(gangPolicy + "={}"),
			patch: `{"spec":{"scheduling":{"schedulingPolicy":{"gang":{"minCount":null}}}}}`,
		},
		"all fields to none": {
			origin: gang(2, 4), user: []edit{{gangCount, nil}, {"spec.parallelism", int64(0)}}, want: fields("spec.parallelism=0", gangPolicy+"={}"),
		},
		"what only the worker has, as long as it is valid": {
			origin: []edit{{"spec.scheduling.schedulingPolicy", "yaml:{gang: {}}"}, {"spec.parallelism", int64(4)}}, again: true,
			worker: []edit{{gangCount, int64(4)}}, user: []edit{{"spec.parallelism", int64(3)}}, want: fields("spec.parallelism=3", gangCount+"=3"),
		},
		"where no field is allowed": {
			origin: []edit{{"spec.scheduling.schedulingPolicy", "yaml:{gang: {}}"}, {"spec.parallelism", int64(4)}}, again: true,
			worker: []edit{{gangCount, int64(4)}}, user: []edit{{"spec.parallelism", int64(0)}}, want: fields("spec.parallelism=0", gangPolicy+"={}"),
		},
		"completions come first": {
			origin: append(indexed(), gang(2, 4)...), user: append(gang(6, 6), edit{"spec.completions", int64(3)}),
			want: fields("spec.completions=3", "spec.parallelism=3", gangCount+"=3"), nextFields: []string{"spec.parallelism=6", gangCount + "=6"},
		},
		"a worker that does not know it": {origin: gang(2, 4), user: gang(3, 4), worker: []edit{{"spec.scheduling", nil}}},
		"together here, one by one there": {
			origin: gang(2, 4), worker: []edit{{"spec.scheduling.schedulingPolicy", "yaml:{basic: {}}"}},
			want: plan.Drift{Immutable: []string{"spec.scheduling.schedulingPolicy"}},
		},
		"the rest can never change": {
			origin: []edit{{"spec.scheduling", "yaml:{schedulingConstraints: {topology: [{key: rack}]}, disruptionMode: {all: {}}, resourceClaims: [{name: a, resourceClaimName: x}]}"}},
			worker: []edit{{"spec.scheduling", "yaml:{schedulingConstraints: {topology: [{key: zone}]}, disruptionMode: {single: {}}, resourceClaims: [{name: a, resourceClaimName: y}]}"}},
			want:   plan.Drift{Immutable: []string{"spec.scheduling.disruptionMode", "spec.scheduling.resourceClaims", "spec.scheduling.schedulingConstraints"}},
		},
	} {
		t.Run(name, tt.run)
	}
}
