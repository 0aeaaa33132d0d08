package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestChangesOnWorker checks that a changed number of Pods is shown, and
// that other changes are called invisible.
func TestChangesOnWorker(t *testing.T) {
	rule, _ := rules.ByCode("JM036")
	for _, c := range []struct {
		edits []edit
		want  string
	}{
		{nil, "kwok-w1: Job default/train has as many Pods as on kwok-mgr: its Pod template was changed, or Kueue there reads it differently"},
		{[]edit{patch("kwok-w1", "Job/train", `{spec: {parallelism: 3}}`)}, "spec.parallelism of Job default/train is 3 on kwok-w1, and 2 on kwok-mgr: the number of Pods was changed"},
	} {
		found := judge(t, testCase{base: recordedMutated, edits: c.edits}.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1)
		assert.Assert(t, strings.Contains(strings.Join(found[0].Evidence, "\n"), c.want), "%q", found[0].Evidence)
	}
}

// TestLeftoversOfChangedMirror checks that the remedy deletes the copy and the
// mirror that it owns, and no Job of another Workload.
func TestLeftoversOfChangedMirror(t *testing.T) {
	rule, _ := rules.ByCode("JM037")
	for name, tt := range map[string]struct {
		edits []edit
		left  string
	}{
		"its own":         {nil, "delete --ignore-not-found job/train workloads.kueue.x-k8s.io/job-train-97fc9`"},
		"somebody else's": {[]edit{patch("kwok-w1", "Job/train", `{metadata: {annotations: {kueue.x-k8s.io/prebuilt-workload-name: job-train-other}}}`)}, "delete --ignore-not-found workloads.kueue.x-k8s.io/job-train-97fc9`"},
	} {
		t.Run(name, func(t *testing.T) {
			findings := judge(t, testCase{base: recordedMutated, edits: tt.edits}.make(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(findings), 1)
			assert.Assert(t, strings.Contains(findings[0].Remedy, tt.left), findings[0].Remedy)
		})
	}
}
