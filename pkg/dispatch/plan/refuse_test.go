package plan_test

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

func TestPlanRefuses(t *testing.T) {
	const recreate = "`kubectl jobs-managedby recreate train-28391 -n ml --context management --managed-by jobmanagedby.github.io/dispatch`"
	const recreateOutside = "`kubectl jobs-managedby recreate train-28391 -n ml --context management --managed-by jobmanagedby.github.io/dispatch --queue ''`"
	inQueue, pinned := edit{"metadata.labels[kueue.x-k8s.io/queue-name]", "gpu"}, edit{"metadata.annotations[jobmanagedby.github.io/mirror]", "c/ml/train-28391/u1"}
	ended := func(kind string) edit {
		return edit{"status", "yaml:{conditions: [{type: Suspended, status: 'False'}, {type: " + kind + ", status: 'True', lastTransitionTime: '2026-03-01T10:00:00Z'}]}"}
	}
	for name, tt := range map[string]struct {
		edits  []edit
		reason string
		remedy string
	}{
		"another kind": {
			[]edit{{"kind", "CronJob"}},
			"is a CronJob of batch/v1", "only Jobs of batch/v1 can be dispatched",
		},
		"another group": {
			[]edit{{"apiVersion", "batch.volcano.sh/v1alpha1"}},
			"is a Job of batch.volcano.sh/v1alpha1", "only Jobs of batch/v1 can be dispatched",
		},
		"no managedBy": {
			[]edit{{"spec.managedBy", nil}},
			"is not delegated, so its own cluster runs it, and managedBy is immutable",
			recreate + " creates it again; dispatch -f FILE creates one that does not exist yet",
		},
		"the built-in controller": {
			[]edit{{"spec.managedBy", "kubernetes.io/job-controller"}},
			"is not delegated, so its own cluster runs it, and managedBy is immutable",
			recreate + " creates it again; dispatch -f FILE creates one that does not exist yet",
		},
		"no managedBy, in a file": {
			[]edit{{"spec.managedBy", nil}, {"metadata.uid", nil}},
			"is not delegated, so its own cluster would run it too", "set spec.managedBy to jobmanagedby.github.io/dispatch",
		},
		"MultiKueue": {
			[]edit{{"spec.managedBy", "kueue.x-k8s.io/multikueue"}},
			"is managed by kueue.x-k8s.io/multikueue: MultiKueue and dispatch would both write its status",
			"leave it to MultiKueue, or take it over: " + recreate,
		},
		"another controller": {
			[]edit{{"spec.managedBy", "acme.example/runner"}},
			"is managed by acme.example/runner, whose controller would write its status too",
			"leave it to that controller, or take it over: " + recreate,
		},
		"another controller, in a file": {
			[]edit{{"spec.managedBy", "acme.example/runner"}, {"metadata.uid", nil}},
			"is managed by acme.example/runner, whose controller would write its status too",
			"leave it to that controller, or take it over: set spec.managedBy to jobmanagedby.github.io/dispatch",
		},
		"MultiKueue, in a queue": {
			[]edit{{"spec.managedBy", "kueue.x-k8s.io/multikueue"}, inQueue},
			"is managed by kueue.x-k8s.io/multikueue: MultiKueue and dispatch would both write its status",
			"leave it to MultiKueue, or take it over: " + recreateOutside,
		},
		"no managedBy, in a queue": {
			[]edit{{"spec.managedBy", nil}, inQueue},
			"is not delegated, so its own cluster runs it, and managedBy is immutable",
			recreateOutside + " creates it again; dispatch -f FILE creates one that does not exist yet",
		},
		"complete, in a queue": {
			[]edit{ended("Complete"), inQueue},
			"is Complete since 2026-03-01T10:00:00Z", "to run it again: " + recreateOutside,
		},
		"dispatched with another owner": {
			[]edit{{"spec.managedBy", "acme.example/runner"}, pinned},
			"is managed by acme.example/runner, not by jobmanagedby.github.io/dispatch, but names a mirror of dispatch",
			"if it was dispatched with --managed-by, resume it with the same flag, or end the dispatch: " +
				"`kubectl jobs-managedby cancel train-28391 -n ml --context management --managed-by acme.example/runner`",
		},
		"dispatched with another owner, and complete": {
			[]edit{{"spec.managedBy", "acme.example/runner"}, pinned, ended("Complete")},
			"is managed by acme.example/runner, whose controller would write its status too",
			"leave it to that controller, or take it over: " + recreate,
		},
		"complete": {
			[]edit{ended("Complete")},
			"is Complete since 2026-03-01T10:00:00Z", "to run it again: " + recreate,
		},
		"failed": {
			[]edit{ended("Failed")},
			"is Failed since 2026-03-01T10:00:00Z", "to run it again: " + recreate,
		},
		"being deleted": {
			[]edit{{"metadata.deletionTimestamp", "2026-03-01T10:00:00Z"}},
			"has been terminating since 2026-03-01T10:00:00Z", "create it again once it is gone",
		},
		"our mirror": {
			[]edit{{"metadata.labels[jobmanagedby.github.io/origin-uid]", "u1"}},
			"is itself the mirror of a dispatched Job (UID u1)",
			"dispatch that one, or remove the label jobmanagedby.github.io/origin-uid if this is a copy",
		},
		"our mirror, not delegated, as it should be": {
			[]edit{{"metadata.labels[jobmanagedby.github.io/origin-uid]", "u1"}, {"spec.managedBy", nil}},
			"is itself the mirror of a dispatched Job (UID u1)",
			"dispatch that one, or remove the label jobmanagedby.github.io/origin-uid if this is a copy",
		},
		"MultiKueue's mirror": {
			[]edit{{"metadata.labels[kueue.x-k8s.io/multikueue-origin]", "multikueue"}},
			"is itself a mirror of MultiKueue (origin multikueue)",
			"leave it to MultiKueue, or remove the label kueue.x-k8s.io/multikueue-origin if this is a copy",
		},
		"a node": {
			[]edit{{"spec.template.spec.nodeName", "node-7"}},
			"pins its Pods to the node node-7 of its own cluster",
			"create it again without spec.template.spec.nodeName, or use a nodeSelector",
		},
		"a name with dots, of an Indexed Job": {
			[]edit{{"metadata.name", "train.v1"}},
			"has a name from which no hostnames can be made for its Pods, such as train.v1-3: ",
			"create it again with another name",
		},
		"a long name": {
			[]edit{{"metadata.name", strings.Repeat("n", 64)}, {"spec.completionMode", "NonIndexed"}},
			"has a name that its Pods cannot have as a label: must be no more than 63", "create it again with another name",
		},
		"a name that is long with an index": {
			[]edit{{"metadata.name", strings.Repeat("n", 60)}, {"spec.completions", int64(1001)}},
			"has a name from which no hostnames can be made for its Pods, such as " + strings.Repeat("n", 60) + "-1000: must be no more than 63",
			"create it again with another name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := plan.New(originJob(t, neverDispatched(tt.edits...)...), into)
			assert.Assert(t, made == nil)
			var refused *plan.RefusedError
			assert.Assert(t, errors.As(err, &refused), "%v", err)
			assert.Assert(t, strings.HasPrefix(refused.Reason, tt.reason), refused.Reason)
			assert.Equal(t, string(refused.Remedy), tt.remedy)
			assert.Assert(t, strings.HasPrefix(refused.Origin, "ml/"))
		})
	}
	_, err := plan.New(originJob(t, neverDispatched(edit{"spec.managedBy", "acme.example/runner"})...), into)
	assert.Error(t, err, "job ml/train-28391 is managed by acme.example/runner, whose controller would write its status too; "+
		"leave it to that controller, or take it over: "+recreate)
	acme := into
	acme.Owner = "acme.example/runner"
	_, err = plan.New(originJob(t), acme)
	assert.Error(t, err, "job ml/train-28391 is managed by jobmanagedby.github.io/dispatch, not by acme.example/runner; "+
		"to dispatch it, use --managed-by jobmanagedby.github.io/dispatch")
	_, err = plan.New(originJob(t, edit{"metadata.name", nil}), into)
	assert.Error(t, err, "job ml/train-* has no name; give it a metadata.name, which its mirror will have too")
}

// TestPlanAccepts checks origins that look like ones to refuse, and are accepted.
func TestPlanAccepts(t *testing.T) {
	acme := into
	acme.Owner = "acme.example/runner"
	queue := into
	queue.Owner = delegation.MultiKueue
	for name, tt := range map[string]struct {
		options plan.Options
		edits   []edit
	}{
		"suspended":          {into, []edit{{"spec.suspend", true}}},
		"an owner by choice": {acme, []edit{{"spec.managedBy", "acme.example/runner"}}},
		// Preflight checks whether MultiKueue is running and writes to the status, too.
		"MultiKueue by choice":  {queue, []edit{{"spec.managedBy", "kueue.x-k8s.io/multikueue"}}},
		"the default owner":     {plan.Options{OriginCluster: delegation.Cluster{UID: "c"}}, nil},
		"about to fail":         {into, []edit{{"status", "yaml:{conditions: [{type: FailureTarget, status: 'True'}]}"}}},
		"a status in a file":    {into, []edit{{"metadata.uid", nil}, {"status", "yaml:{conditions: [{type: Complete, status: 'True'}]}"}}},
		"a name of 63":          {into, []edit{{"metadata.name", strings.Repeat("n", 63)}, {"spec.completionMode", "NonIndexed"}}},
		"a name with dots":      {into, []edit{{"metadata.name", "train.v1"}, {"spec.completionMode", "NonIndexed"}}},
		"an index that is long": {into, []edit{{"metadata.name", strings.Repeat("n", 60)}, {"spec.completions", int64(100)}}},
		"no completions":        {into, []edit{{"metadata.name", strings.Repeat("n", 63)}, {"spec.completions", int64(0)}}},
		"a long name, manual":   {into, []edit{{"metadata.name", strings.Repeat("n", 64)}, {"spec.completionMode", "NonIndexed"}, {"spec.manualSelector", true}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := planFor(t, originJob(t, tt.edits...), tt.options)
			assert.Assert(t, at(p.Mirror, "spec.managedBy") == nil)
		})
	}
	// The owner of the built-in controller does not allow dispatching Jobs that are not
	// delegated.
	builtIn := into
	builtIn.Owner = delegation.BuiltIn
	_, err := plan.New(originJob(t, edit{"spec.managedBy", nil}), builtIn)
	assert.ErrorContains(t, err, "is not delegated")
}

func TestPlanRejectsMalformed(t *testing.T) {
	for want, e := range map[string]edit{
		"job ml/small is invalid: spec is missing, or not an object":               {"spec", nil},
		"job ml/small is invalid: spec.template is missing, or not an object":      {"spec.template", "x"},
		"job ml/small is invalid: spec.template.spec is missing, or not an object": {"spec.template.spec", "yaml:[]"},
		"job ml/small is invalid: spec.managedBy is 7, not a string":               {"spec.managedBy", int64(7)},
		"metadata.labels accessor error":                                           {"metadata.labels", "yaml:{a: 1}"},
		"spec.template.metadata.labels accessor error":                             {"spec.template.metadata", "yaml:{labels: [a]}"},
	} {
		_, err := plan.New(smallJob(t, e), into)
		assert.ErrorContains(t, err, want)
		var refused *plan.RefusedError
		assert.Assert(t, !errors.As(err, &refused))
	}
	// Empty fields in a file count as missing.
	p := planFor(t, smallJob(t,
		edit{"metadata.labels", "yaml:null"}, edit{"metadata.annotations", "yaml:{a: null}"},
		edit{"spec.selector", "yaml:null"}, edit{"spec.ttlSecondsAfterFinished", "yaml:null"},
	), into)
	assert.Equal(t, len(p.Changes), 2, "%v", p.Changes)
	assert.Equal(t, p.Mirror.GetAnnotations()["a"], "")
}
