package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestMissingQueueWithoutWorkload checks that the finding about a Job without a Workload, and its answer, name the
// LocalQueue that does not exist, and how to use another one. Kueue's webhook lets the label of a Job that is not
// suspended not change.
func TestMissingQueueWithoutWorkload(t *testing.T) {
	const missing = "LocalQueue default/user-queu does not exist on kwok-mgr"
	typo := func(spec string) []edit {
		return []edit{patch("kwok-mgr", "Job/default/train", `{metadata: {labels: {kueue.x-k8s.io/queue-name: user-queu}}, spec: {`+spec+`}}`)}
	}
	for name, tt := range map[string]struct {
		edits           []edit
		message, remedy string
	}{
		"suspended": {
			typo("suspend: true"), missing + "; did you mean user-queue?",
			"move Job default/train to LocalQueue user-queue: `kubectl --context kwok-mgr -n default label job train --overwrite kueue.x-k8s.io/queue-name=user-queue`, and then if Kueue still creates no Workload, check that Kueue runs",
		},
		"not suspended": {
			typo("suspend: false"), missing + "; did you mean user-queue?",
			"recreate Job default/train in LocalQueue user-queue: `kubectl jobs-managedby recreate train -n default --context kwok-mgr --managed-by kueue.x-k8s.io/multikueue --queue user-queue`, and then if",
		},
		"not delegated": {
			typo("suspend: true, managedBy: null"), missing + "; did you mean user-queue?",
			"recreate Job default/train in LocalQueue user-queue: `kubectl jobs-managedby recreate train -n default --context kwok-mgr --managed-by kueue.x-k8s.io/multikueue --queue user-queue`, and then if",
		},
		"no other queue": {append(typo("suspend: true"), remove("kwok-mgr", "LocalQueue/*")), missing, "create LocalQueue default/user-queu on kwok-mgr: `printf "},
	} {
		v := testCase{base: "no-queue-name", edits: tt.edits}.make(t)
		rule, _ := rules.ByCode("JM017")
		found := judge(t, v, []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1, name)
		assert.Equal(t, found[0].Predicate(), tt.message, name)
		assert.Assert(t, strings.HasPrefix(found[0].Remedy, tt.remedy), "%s: %s", name, found[0].Remedy)
		assert.Assert(t, !slices.Contains(codesOf(judge(t, v, rules.All(), 0)), "JM114"), name)

		trace := answersOf(t, v, 0)[0]
		assert.Equal(t, trace.State, inspect.StateBlocked, name)
		assert.Equal(t, strings.TrimSuffix(trace.Message, "."), tt.message, name)
		assert.Equal(t, trace.Remedy, found[0].Remedy, name)
	}
}
