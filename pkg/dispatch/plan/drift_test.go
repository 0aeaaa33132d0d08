package plan_test

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// driftJob returns a stored origin with many fields.
func driftJob(t *testing.T, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	return asStored(t, smallJob(t, append([]edit{
		{"metadata.labels", "yaml:{team: research}"},
		{"spec.completions", int64(4)},
		{"spec.parallelism", int64(2)},
		{"spec.activeDeadlineSeconds", int64(600)},
		{"spec.template.metadata", "yaml:{labels: {app: train}, annotations: {profile: large}}"},
		{"spec.template.spec.nodeSelector", "yaml:{zone: a}"},
		{"spec.template.spec.tolerations", "yaml:[{key: gpu, operator: Exists}]"},
		{"spec.template.spec.containers", "yaml:[{name: main, image: 'i:1', env: [{name: A, value: '1'}], " +
			"resources: {limits: {cpu: 1000m, memory: 1Gi}}}, {name: side, image: 'i:2'}]"},
	}, edits...)...), "u1")
}

func indexed() []edit {
	return []edit{{"spec.completionMode", "Indexed"}, {"spec.backoffLimitPerIndex", int64(1)}, {"spec.maxFailedIndexes", int64(2)}}
}

// applied returns a mirror after a merge patch.
func applied(t *testing.T, mirror *unstructured.Unstructured, patch map[string]any) *unstructured.Unstructured {
	t.Helper()
	was, err := mirror.MarshalJSON()
	assert.NilError(t, err)
	change, err := json.Marshal(patch)
	assert.NilError(t, err)
	now, err := jsonpatch.MergePatch(was, change)
	assert.NilError(t, err)
	result := &unstructured.Unstructured{}
	assert.NilError(t, result.UnmarshalJSON(now))
	return result
}

// driftOf returns the drift, and checks that DriftOf changes none of its arguments.
func driftOf(t *testing.T, planned, before, mirror *unstructured.Unstructured) plan.Drift {
	t.Helper()
	copies := []*unstructured.Unstructured{planned.DeepCopy(), before.DeepCopy(), mirror.DeepCopy()}
	drift := plan.DriftOf(delegation.Job(), planned, before, mirror)
	assert.Assert(t, equality.Semantic.DeepEqual(copies, []*unstructured.Unstructured{planned, before, mirror}))
	return drift
}

// suspended returns edits for a suspended mirror without Pods.
func suspended() []edit {
	return []edit{{"spec.suspend", true}, {"status", "yaml:{startTime: '2026-03-01T09:00:00Z', conditions: [{type: Suspended, status: 'True'}]}"}}
}

type driftCase struct {
	// origin are edits of driftJob before the mirror was created. user and worker are later edits
	// on either side.
	origin, user, worker []edit
	// again is whether another process created the mirror.
	again bool
	want  plan.Drift
	// patch is the expected patch as JSON; "" skips the comparison.
	patch string
	// nextFields are the expected fields of the next write.
	nextFields []string
}

func (tt driftCase) run(t *testing.T) {
	t.Helper()
	origin := driftJob(t, tt.origin...)
	before := planFor(t, origin, into).Mirror
	mirror := edited(t, asStored(t, before, "u2"), tt.worker...)
	planned := planFor(t, edited(t, origin, tt.user...), into).Mirror
	if tt.again {
		before = nil
	}
	drift := driftOf(t, planned, before, mirror)
	assert.Equal(t, drift.Patch == nil, len(tt.want.Fields) == 0, "%v", drift.Patch)
	if tt.patch != "" {
		text, err := json.Marshal(drift.Patch)
		assert.NilError(t, err)
		assert.Equal(t, string(text), tt.patch)
	}
	patch := drift.Patch
	drift.Patch = nil
	assert.DeepEqual(t, drift, tt.want)
	if patch == nil {
		return
	}
	drift = driftOf(t, planned, drift.Written(planned, before), applied(t, mirror, patch))
	assert.DeepEqual(t, drift.Fields, tt.nextFields)
	assert.DeepEqual(t, drift.Immutable, tt.want.Immutable)
}

// fields returns a drift that has only changes.
func fields(f ...string) plan.Drift { return plan.Drift{Fields: f} }

// TestDriftAtAnyTime checks the fields that may change in a running Job.
func TestDriftAtAnyTime(t *testing.T) {
	for name, tt := range map[string]driftCase{
		"nothing":                 {},
		"nothing, after a crash":  {again: true},
		"suspend":                 {user: []edit{{"spec.suspend", true}}, want: fields("spec.suspend=true"), patch: `{"spec":{"suspend":true}}`},
		"resume":                  {worker: suspended(), want: fields("spec.suspend=false")},
		"suspended by the worker": {user: []edit{{"spec.suspend", true}}, worker: suspended()},
		"parallelism":             {user: []edit{{"spec.parallelism", int64(3)}}, want: fields("spec.parallelism=3"), patch: `{"spec":{"parallelism":3}}`},
		"scaled on the worker":    {worker: []edit{{"spec.parallelism", int64(9)}}, want: fields("spec.parallelism=2")},
		"scaled equally on both":  {user: []edit{{"spec.parallelism", int64(9)}}, worker: []edit{{"spec.parallelism", int64(9)}}},
		"backoffLimit":            {user: []edit{{"spec.backoffLimit", int64(0)}}, want: fields("spec.backoffLimit=0")},
		"podReplacementPolicy":    {user: []edit{{"spec.podReplacementPolicy", "Failed"}}, want: fields("spec.podReplacementPolicy=Failed")},
		"podReplacementPolicy that the worker does not know": {
			user: []edit{{"spec.podReplacementPolicy", "Failed"}}, worker: []edit{{"spec.podReplacementPolicy", nil}},
		},
		"deadline":           {user: []edit{{"spec.activeDeadlineSeconds", int64(60)}}, want: fields("spec.activeDeadlineSeconds=60")},
		"a deadline is new":  {origin: []edit{{"spec.activeDeadlineSeconds", nil}}, user: []edit{{"spec.activeDeadlineSeconds", int64(60)}}, want: fields("spec.activeDeadlineSeconds=60")},
		"a deadline is gone": {user: []edit{{"spec.activeDeadlineSeconds", nil}}, want: fields("spec.activeDeadlineSeconds=null"), patch: `{"spec":{"activeDeadlineSeconds":null}}`},
		"a deadline is missing, since an unknown time": {user: []edit{{"spec.activeDeadlineSeconds", nil}}, again: true},
		"a deadline that only the worker has":          {origin: []edit{{"spec.activeDeadlineSeconds", nil}}, worker: []edit{{"spec.activeDeadlineSeconds", int64(5)}}},
		"maxFailedIndexes":                             {origin: indexed(), user: []edit{{"spec.maxFailedIndexes", int64(3)}}, want: fields("spec.maxFailedIndexes=3")},
		"maxFailedIndexes is gone":                     {origin: indexed(), user: []edit{{"spec.maxFailedIndexes", nil}}, want: fields("spec.maxFailedIndexes=null")},
		"maxFailedIndexes that the worker does not know": {
			origin: indexed(), user: []edit{{"spec.maxFailedIndexes", int64(3)}},
			worker: []edit{{"spec.maxFailedIndexes", nil}, {"spec.backoffLimitPerIndex", nil}},
		},
		"fields that an old origin does not know": {
			user: []edit{{"spec.podReplacementPolicy", nil}, {"spec.suspend", nil}, {"spec.completionMode", nil}, {"spec.backoffLimit", nil}},
		},
		"time to live":          {worker: []edit{{"spec.ttlSecondsAfterFinished", int64(5)}}, user: []edit{{"spec.ttlSecondsAfterFinished", int64(7)}}},
		"what is Kueue's to do": {worker: []edit{{"spec.suspend", true}, {"metadata.labels[kueue.x-k8s.io/queue-name]", "q"}}, want: plan.Drift{Foreign: []string{"spec.suspend"}}},
		"several": {
			user: []edit{{"spec.parallelism", int64(1)}, {"spec.suspend", true}, {"metadata.labels.team", "ops"}},
			want: fields("metadata.labels[team]=ops", "spec.parallelism=1", "spec.suspend=true"),
		},
	} {
		t.Run(name, tt.run)
	}
}

// TestDriftOfCompletions checks the rule that changes two fields together, and may need two
// writes.
func TestDriftOfCompletions(t *testing.T) {
	pods := func(completions, parallelism int64) []edit {
		return []edit{{"spec.completions", completions}, {"spec.parallelism", parallelism}}
	}
	for name, tt := range map[string]driftCase{
		"completions and parallelism together": {origin: indexed(), user: pods(6, 6), want: fields("spec.completions=6", "spec.parallelism=6")},
		"fewer":                                {origin: indexed(), user: pods(2, 2), want: fields("spec.completions=2")},
		"fewer afterwards":                     {origin: indexed(), user: pods(6, 3), want: fields("spec.completions=6", "spec.parallelism=6"), nextFields: []string{"spec.parallelism=3"}},
		"by the worker":                        {origin: indexed(), worker: pods(7, 7), want: fields("spec.completions=4", "spec.parallelism=4"), nextFields: []string{"spec.parallelism=2"}},
		"not Indexed":                          {user: pods(6, 6), want: plan.Drift{Fields: []string{"spec.parallelism=6"}, Immutable: []string{"spec.completions"}}},
		"Indexed on the worker only": {
			user: pods(6, 6), worker: []edit{{"spec.completionMode", "Indexed"}},
			want: plan.Drift{Fields: []string{"spec.parallelism=6"}, Immutable: []string{"spec.completionMode", "spec.completions"}},
		},
		"none": {origin: []edit{{"spec.completions", nil}}, worker: []edit{{"spec.completions", int64(1)}}},
	} {
		t.Run(name, tt.run)
	}
}

// TestDriftOfMetadata checks labels and annotations.
func TestDriftOfMetadata(t *testing.T) {
	for name, tt := range map[string]driftCase{
		"new":                            {user: []edit{{"metadata.labels.tier", "1"}, {"metadata.annotations.note", "n"}}, want: fields("metadata.annotations[note]=n", "metadata.labels[tier]=1")},
		"changed":                        {user: []edit{{"metadata.labels.team", "ops"}}, want: fields("metadata.labels[team]=ops"), patch: `{"metadata":{"labels":{"team":"ops"}}}`},
		"gone":                           {user: []edit{{"metadata.labels", nil}}, want: fields("metadata.labels[team]=null"), patch: `{"metadata":{"labels":{"team":null}}}`},
		"missing, since an unknown time": {user: []edit{{"metadata.labels", nil}}, again: true},
		"changed on the worker":          {worker: []edit{{"metadata.labels.team", "ops"}}, want: fields("metadata.labels[team]=research")},
		"of another controller":          {worker: []edit{{"metadata.labels.theirs", "x"}, {"metadata.annotations.theirs", "x"}}},
		"long":                           {user: []edit{{"metadata.annotations.note", string(make([]rune, 3)) + longText}}, want: fields("metadata.annotations[note]=\x00\x00\x00" + longText[:96] + "…")},
		"a label of a tool": {
			user: []edit{{"metadata.labels[kueue.x-k8s.io/queue-name]", "q"}, {"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]", "{}"}},
		},
		"our marks are put back": {
			worker: []edit{
				{"metadata.labels[jobmanagedby.github.io/origin-uid]", nil},
				{"metadata.annotations[jobmanagedby.github.io/origin]", "elsewhere/ml/other"},
			},
			want: fields("metadata.annotations[jobmanagedby.github.io/origin]=cluster-1/ml/small", "metadata.labels[jobmanagedby.github.io/origin-uid]=u1"),
		},
		"all labels are gone on the worker": {
			worker: []edit{{"metadata.labels", nil}},
			want:   fields("metadata.labels[jobmanagedby.github.io/origin-uid]=u1", "metadata.labels[team]=research"),
		},
		"the worker's own labels": {worker: []edit{{"metadata.labels[batch.kubernetes.io/controller-uid]", "u9"}, {"metadata.labels.job-name", "small"}}},
	} {
		t.Run(name, tt.run)
	}
	t.Run("marks are never taken off", func(t *testing.T) {
		before := planFor(t, driftJob(t), into).Mirror
		unmarked := edited(t, before, edit{"metadata.labels", nil}, edit{"metadata.annotations", nil})
		drift := driftOf(t, unmarked, before, asStored(t, before, "u2"))
		assert.DeepEqual(t, drift.Fields, []string{"metadata.labels[team]=null"})
	})
}

const longText = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"

// TestDriftNever checks fields that can never change.
func TestDriftNever(t *testing.T) {
	const container = "spec.template.spec.containers"
	never := func(paths ...string) plan.Drift { return plan.Drift{Immutable: paths} }
	for name, tt := range map[string]driftCase{
		"an image": {
			worker: []edit{{container, "yaml:[{name: main, image: 'mirror.example/i:1', env: [{name: A, value: '2'}], resources: {limits: {cpu: '1', memory: 1Gi}}}, {name: side, image: 'i:2'}]"}},
			want:   never(container+"[0].env", container+"[0].image"),
		},
		"an added container": {
			worker: []edit{{container, "yaml:[{name: main, image: 'i:1'}, {name: side, image: 'i:2'}, {name: injected, image: 'i:3'}]"}},
			want:   never(container),
		},
		"completionMode":        {worker: []edit{{"spec.completionMode", "Indexed"}}, want: never("spec.completionMode")},
		"backoffLimitPerIndex":  {origin: indexed(), worker: []edit{{"spec.backoffLimitPerIndex", int64(7)}}, want: never("spec.backoffLimitPerIndex")},
		"priorityClassName":     {origin: []edit{{"spec.template.spec.priorityClassName", "low"}}, worker: []edit{{"spec.template.spec.priorityClassName", "high"}}, want: never("spec.template.spec.priorityClassName")},
		"Pods next to others":   {origin: affinity("podAffinity", "a"), worker: affinity("podAffinity", "b"), want: never("spec.template.spec.affinity.podAffinity")},
		"a field of the future": {origin: []edit{{"spec.novelty", "yaml:{gang: 1}"}}, worker: []edit{{"spec.novelty", "yaml:{gang: 2}"}}, want: never("spec.novelty")},
		"what one side lacks": {
			origin: []edit{{"spec.novelty", "yaml:{gang: 1}"}, {"spec.template.spec.hostUsers", false}},
			worker: []edit{{"spec.novelty", nil}, {"spec.template.spec.hostUsers", nil}, {"spec.template.spec.enableServiceLinks", true}},
		},
		"the same quantities": {
			origin: []edit{{"spec.template.spec.volumes", "yaml:[{name: a, emptyDir: {sizeLimit: 1024Mi}}]"}},
			worker: []edit{{"spec.template.spec.volumes", "yaml:[{name: a, emptyDir: {sizeLimit: 1Gi, medium: Memory}}]"}},
		},
		"other quantities": {
			origin: []edit{{"spec.template.spec.volumes", "yaml:[{name: a, emptyDir: {sizeLimit: 1Mi}}]"}},
			worker: []edit{{"spec.template.spec.volumes", "yaml:[{name: a, emptyDir: {sizeLimit: 1Gi}}]"}},
			want:   never("spec.template.spec.volumes"),
		},
		"a selector of its own": {
			origin: []edit{{"spec.manualSelector", true}, {"spec.selector", "yaml:{matchLabels: {app: train}}"}},
			worker: []edit{{"spec.selector", "yaml:{matchLabels: {app: other}}"}},
			want:   never("spec.selector"),
		},
	} {
		t.Run(name, tt.run)
	}
}

func affinity(kind, key string) []edit {
	return []edit{{"spec.template.spec.affinity." + kind, "yaml:{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: " + key + "}]}"}}
}
