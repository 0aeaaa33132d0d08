package plan_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// withStatus returns edits for a mirror with a suspend field and a status.
func withStatus(suspend bool, status string) []edit {
	return []edit{{"spec.suspend", suspend}, {"status", "yaml:" + status}}
}

// TestDriftWhenTheTemplateIsOpen checks in which states of a mirror the Pod template may change.
func TestDriftWhenTheTemplateIsOpen(t *testing.T) {
	const path = "spec.template.spec.nodeSelector"
	for name, tt := range map[string]struct {
		worker []edit
		open   bool
		more   []string
	}{
		"it runs":                 {withStatus(false, "{active: 1, startTime: '2026-03-01T09:00:00Z'}"), false, nil},
		"it has not begun to run": {withStatus(false, "{}"), false, []string{path + "[zone]=b"}},
		"never started":           {withStatus(true, "{}"), true, nil},
		"suspended":               {suspended(), true, nil},
		"about to be suspended":   {withStatus(true, "{startTime: '2026-03-01T09:00:00Z'}"), false, nil},
		"about to be suspended again": {
			withStatus(true, "{startTime: '2026-03-01T09:00:00Z', conditions: [{type: Suspended, status: 'False'}]}"), false, nil,
		},
		"Pods are left": {withStatus(true, "{active: 1, conditions: [{type: Suspended, status: 'True'}]}"), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			user := []edit{{path + ".zone", "b"}, {"spec.suspend", true}}
			test := driftCase{user: user, worker: tt.worker}
			if tt.open {
				test.want = fields(path + "[zone]=b")
			} else {
				test.want.Deferred = []string{path}
			}
			if tt.worker[0].value == false {
				test.want.Fields = []string{"spec.suspend=true"}
			}
			test.nextFields = tt.more
			test.run(t)
		})
	}
}

// TestDriftOfTemplate checks which parts of the template may change.
func TestDriftOfTemplate(t *testing.T) {
	const pod, main = "spec.template.spec.", "spec.template.spec.containers[0].resources"
	containers := func(resources string) []edit {
		return []edit{{pod + "containers", "yaml:[{name: main, image: 'i:1', env: [{name: A, value: '1'}], resources: " + resources + "}, {name: side, image: 'i:2'}]"}}
	}
	node := func(zone string) edit {
		return edit{
			pod + "affinity.nodeAffinity",
			"yaml:{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [" + zone + "]}]}]}}",
		}
	}
	for name, tt := range map[string]struct {
		origin, user, worker []edit
		fields               []string
		deferred             []string
		again                bool
	}{
		"nothing":                         {},
		"a node selector":                 {user: []edit{{pod + "nodeSelector", "yaml:{zone: b, disk: ssd}"}}, fields: []string{pod + "nodeSelector[disk]=ssd", pod + "nodeSelector[zone]=b"}, deferred: []string{pod + "nodeSelector"}},
		"a removed node selector":         {user: []edit{{pod + "nodeSelector", nil}}, fields: []string{pod + "nodeSelector=null"}, deferred: []string{pod + "nodeSelector"}},
		"a node selector of the worker's": {worker: []edit{{pod + "nodeSelector.pool", "spot"}}},
		"a missing node selector, since an unknown time": {user: []edit{{pod + "nodeSelector", nil}}, again: true},
		"tolerations": {
			user:   []edit{{pod + "tolerations", "yaml:[{key: spot, operator: Exists}, {key: gpu, operator: Exists}]"}},
			fields: []string{pod + `tolerations=[{"key":"spot","operator":"Exists"},{"key":"gpu","operator":"Exists"}]`}, deferred: []string{pod + "tolerations"},
		},
		"other tolerations": {
			user: []edit{{pod + "tolerations", "yaml:[{key: spot, operator: Exists}]"}}, worker: []edit{{pod + "tolerations", "yaml:[{key: theirs}, {key: gpu, operator: Exists}]"}},
			fields: []string{pod + "tolerations[0].key=spot", pod + "tolerations[0].operator=Exists", pod + "tolerations[1].key=theirs", pod + "tolerations[1].operator=null"}, deferred: []string{pod + "tolerations"},
		},
		"no tolerations":               {user: []edit{{pod + "tolerations", nil}}, fields: []string{pod + "tolerations=null"}, deferred: []string{pod + "tolerations"}},
		"tolerations of the worker's":  {worker: []edit{{pod + "tolerations", "yaml:[{key: theirs}, {key: gpu, operator: Exists}]"}}},
		"a scheduling gate":            {user: []edit{{pod + "schedulingGates", "yaml:[{name: hold}]"}}, fields: []string{pod + `schedulingGates=[{"name":"hold"}]`}, deferred: []string{pod + "schedulingGates"}},
		"a removed scheduling gate":    {origin: []edit{{pod + "schedulingGates", "yaml:[{name: hold}]"}}, user: []edit{{pod + "schedulingGates", nil}}, fields: []string{pod + "schedulingGates=null"}, deferred: []string{pod + "schedulingGates"}},
		"node affinity":                {user: []edit{node("b")}, fields: []string{pod + `affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms=[{"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]}]`}, deferred: []string{pod + "affinity.nodeAffinity"}},
		"another node affinity":        {origin: []edit{node("a")}, user: []edit{node("b")}, fields: []string{pod + `affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values=["b"]`}, deferred: []string{pod + "affinity.nodeAffinity"}},
		"no node affinity":             {origin: []edit{node("a")}, user: []edit{{pod + "affinity", nil}}, fields: []string{pod + "affinity=null"}, deferred: []string{pod + "affinity.nodeAffinity"}},
		"no node affinity, but others": {origin: append(affinity("podAffinity", "z"), node("a")), user: []edit{{pod + "affinity.nodeAffinity", nil}}, fields: []string{pod + "affinity.nodeAffinity=null"}, deferred: []string{pod + "affinity.nodeAffinity"}},
		"labels and annotations": {
			user:   []edit{{"spec.template.metadata.labels.app", "other"}, {"spec.template.metadata.annotations", nil}},
			fields: []string{"spec.template.metadata.annotations=null", "spec.template.metadata.labels[app]=other"},
			deferred: []string{
				"spec.template.metadata.annotations", "spec.template.metadata.labels",
			},
		},
		"labels of the worker's": {worker: []edit{{"spec.template.metadata.labels[kueue.x-k8s.io/podset]", "main"}}},
		"resources": {
			user: containers("{limits: {cpu: '2', gpu: '1'}, requests: {memory: 1Gi}}"), deferred: []string{main},
			fields: []string{main + ".limits[cpu]=2", main + ".limits[gpu]=1", main + ".limits[memory]=null", main + ".requests[memory]=1Gi"},
		},
		"no resources":                  {user: containers("{}"), deferred: []string{main}, fields: []string{main + "={}"}},
		"resources of the worker's":     {worker: containers("{limits: {cpu: '1', memory: 1Gi}, requests: {cpu: '1'}}")},
		"resources written differently": {user: containers("{limits: {cpu: 1, memory: 1024Mi}}")},
		"resources of an init container": {
			origin: []edit{{pod + "initContainers", "yaml:[{name: init, image: 'i:3'}]"}},
			user:   []edit{{pod + "initContainers", "yaml:[{name: init, image: 'i:3', resources: {requests: {cpu: 1}}}]"}}, deferred: []string{pod + "initContainers[0].resources"},
			fields: []string{pod + "initContainers[0].resources.requests[cpu]=1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			// The mirror runs.
			running := driftCase{origin: tt.origin, user: tt.user, worker: tt.worker, again: tt.again, want: plan.Drift{Deferred: tt.deferred}}
			running.run(t)
			// The mirror is suspended.
			waiting := running
			waiting.origin = append(slices.Clone(tt.origin), edit{"spec.suspend", true})
			waiting.worker = append(suspended(), tt.worker...)
			waiting.want = fields(tt.fields...)
			waiting.run(t)
			// The user resumes it at the same time. The API server allows both in one write.
			resumed := waiting
			resumed.user = append(slices.Clone(tt.user), edit{"spec.suspend", false})
			resumed.want = fields(append([]string{"spec.suspend=false"}, tt.fields...)...)
			slices.Sort(resumed.want.Fields)
			resumed.run(t)
		})
	}
}

// TestDriftHoldsBack checks that a mirror does not start from an outdated template.
func TestDriftHoldsBack(t *testing.T) {
	const selector = "spec.template.spec.nodeSelector"
	test := driftCase{
		origin: []edit{{"spec.suspend", true}}, worker: withStatus(true, "{active: 1, startTime: '2026-03-01T09:00:00Z'}"),
		user: []edit{{"spec.suspend", false}, {selector, nil}, {"spec.parallelism", int64(3)}},
		want: plan.Drift{Fields: []string{"spec.parallelism=3"}, Deferred: []string{selector}},
	}
	test.run(t)

	// A field that was removed meanwhile is removed later.
	origin := driftJob(t, test.origin...)
	before := planFor(t, origin, into).Mirror
	mirror := edited(t, asStored(t, before, "u2"), test.worker...)
	planned := planFor(t, edited(t, origin, test.user...), into).Mirror
	drift := driftOf(t, planned, before, mirror)
	mirror = edited(t, applied(t, mirror, drift.Patch), suspended()...)
	drift = driftOf(t, planned, drift.Written(planned, before), mirror)
	assert.DeepEqual(t, drift.Fields, []string{"spec.suspend=false", selector + "=null"})
	assert.Equal(t, len(driftOf(t, planned, drift.Written(planned, before), applied(t, mirror, drift.Patch)).Fields), 0)
}

func TestDriftWritten(t *testing.T) {
	before := planFor(t, driftJob(t), into).Mirror
	planned := edited(t, before, edit{"metadata.labels.team", "ops"}, edit{"spec.template.spec.nodeSelector.zone", "b"})
	all := plan.Drift{}.Written(planned, before)
	assert.DeepEqual(t, all, planned)
	part := plan.Drift{Deferred: []string{"spec.template.spec.nodeSelector"}}.Written(planned, before)
	assert.DeepEqual(t, part, edited(t, before, edit{"metadata.labels.team", "ops"}))
	none := plan.Drift{Deferred: []string{"spec.template.spec.nodeSelector"}}.Written(planned, nil)
	assert.DeepEqual(t, none, edited(t, planned, edit{"spec.template", nil}))
}

func TestDriftWithoutTemplate(t *testing.T) {
	const selector = "spec.template.spec.nodeSelector"
	origin := driftJob(t, edit{"spec.suspend", true})
	before := planFor(t, origin, into).Mirror
	mirror := edited(t, asStored(t, before, "u2"), suspended()...)
	for name, tt := range map[string]struct {
		user []edit
		want plan.Drift
	}{
		"all of it": {[]edit{{selector + ".zone", "b"}}, plan.Drift{Deferred: []string{selector + "[zone]"}}},
		"some of it": {
			[]edit{{selector + ".zone", "b"}, {"spec.parallelism", int64(1)}},
			plan.Drift{Patch: map[string]any{"spec": map[string]any{"parallelism": int64(1)}}, Fields: []string{"spec.parallelism=1"}, Deferred: []string{selector + "[zone]"}},
		},
		"a label too": {
			[]edit{{selector + ".zone", "b"}, {"metadata.labels.team", "ops"}},
			plan.Drift{
				Patch:  map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "ops"}}},
				Fields: []string{"metadata.labels[team]=ops"}, Deferred: []string{selector + "[zone]"},
			},
		},
		"none of it": {
			[]edit{{"spec.parallelism", int64(1)}},
			plan.Drift{Patch: map[string]any{"spec": map[string]any{"parallelism": int64(1)}}, Fields: []string{"spec.parallelism=1"}},
		},
		"nothing": {nil, plan.Drift{}},
	} {
		t.Run(name, func(t *testing.T) {
			planned := planFor(t, edited(t, origin, tt.user...), into).Mirror
			assert.DeepEqual(t, driftOf(t, planned, before, mirror).WithoutTemplate(), tt.want)
		})
	}
}
