package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestAmbiguousMirrors checks that no remedy deletes the mirror that the origin
// names, even if a Job with the same mark started at the same second. If
// nothing shows which one is right, none is picked.
func TestAmbiguousMirrors(t *testing.T) {
	const first, second = "`kubectl --context kwok-w1 -n default delete job other`", "`kubectl --context kwok-w2 -n default delete job other`"
	rule, _ := rules.ByCode("JM107")
	on := func(worker, uid string) edit { return addCopy(worker, uid, "", started) }
	for name, tt := range map[string]struct {
		edits []edit
		want  string
	}{
		"the first is named":  {[]edit{on("kwok-w1", "mirror-of-other"), on("kwok-w2", "else")}, ": " + second},
		"the second is named": {[]edit{on("kwok-w1", "else"), on("kwok-w2", "mirror-of-other")}, ": " + first},
		"neither is":          {[]edit{on("kwok-w1", "a"), on("kwok-w2", "b")}, ": " + first + "; or delete the mirror on kwok-w2 (keep one): " + second},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{base: "running", edits: append([]edit{addDispatched(started)}, tt.edits...)}.make(t)
			findings := judge(t, v, []rules.Rule{rule}, 0)
			assert.Equal(t, len(findings), 1)
			assert.Assert(t, strings.HasSuffix(findings[0].Remedy, tt.want), findings[0].Remedy)
		})
	}
}

// TestMirrorOfMultiKueuesChoice checks that JM107 keeps the mirror on the cluster to which MultiKueue
// gave the Job, and picks none without a certain choice.
func TestMirrorOfMultiKueuesChoice(t *testing.T) {
	const first, second = "`kubectl --context kwok-w1 -n default delete job train`", "`kubectl --context kwok-w2 -n default delete job train`"
	rule, _ := rules.ByCode("JM107")
	chosen := func(cluster string) edit {
		return patch("kwok-mgr", "Workload/job-train-267ae", `{status: {clusterName: `+cluster+`}}`)
	}
	for name, tt := range map[string]struct {
		edits []edit
		want  string
	}{
		"the first is chosen":  {[]edit{chosen("worker1")}, "keep the mirror on kwok-w1, and delete the others: " + second},
		"the second is chosen": {[]edit{chosen("worker2")}, "keep the mirror on kwok-w2, and delete the others: " + first},
		"the context is a guess": {[]edit{
			chosen("worker2"), remove("kwok-mgr", "Secret/*"), patch("kwok-mgr", "Job/train", `{status: {startTime: null}}`),
			addWorkload("kwok-mgr", otherWorkload, "", `nominatedClusterNames: [worker1, worker2]`),
			addWorkload("kwok-w1", otherWorkload, "labels: {kueue.x-k8s.io/multikueue-origin: multikueue}", ""),
			addWorkload("kwok-w2", otherWorkload, "labels: {kueue.x-k8s.io/multikueue-origin: multikueue}", ""),
		}, "delete the mirror on kwok-w1 (keep one): " + first + "; or delete the mirror on kwok-w2 (keep one): " + second},
		"none is": {[]edit{chosen("null"), patch("kwok-mgr", "Job/train", `{status: {startTime: null}}`)}, "delete the mirror on kwok-w1 (keep one): " + first + "; or delete the mirror on kwok-w2 (keep one): " + second},
	} {
		t.Run(name, func(t *testing.T) {
			findings := judge(t, testCase{base: "cluster-removed-from-config", edits: tt.edits}.make(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(findings), 1)
			assert.Equal(t, findings[0].Remedy, tt.want)
		})
	}
}
