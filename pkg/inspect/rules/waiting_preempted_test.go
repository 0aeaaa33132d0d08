package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestPreemptions checks that the finding names the owner that preempts a Job
// repeatedly, and how often, over all its Workloads. What a worker repeats
// from its manager is not counted twice. A deleted Workload is named by its
// own event.
func TestPreemptions(t *testing.T) {
	const took = "Preempted to accommodate a workload (UID: %s, JobUID: UNKNOWN) due to prioritization in the ClusterQueue"
	event := func(context, id, uid string, count int) edit {
		return add(context, fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: %s, namespace: default}, type: Normal, reason: Preempted, message: "%s", count: %d,
			involvedObject: {kind: Workload, namespace: default, name: job-low1-9b31e, uid: gone-%s}, lastTimestamp: "2026-11-22T04:43:%02dZ"}`, id, fmt.Sprintf(took, uid), count, id, 22+count))
	}
	said := func(id, uid, name string) edit {
		return add("kwok-w1", fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: %s, namespace: default}, type: Normal, reason: PreemptedWorkload, message: "Preempted workload",
			involvedObject: {kind: Workload, namespace: default, name: %s, uid: %s}, lastTimestamp: "2026-11-22T04:43:30Z"}`, id, name, uid))
	}
	high := "Job default/high"
	for name, test := range map[string]struct {
		edits []edit
		says  []string
		not   string
	}{
		"once":              {says: []string{"kwok-w1: preempted by " + high}, not: "times"},
		"the same Workload": {edits: []edit{event("kwok-w1", "e2", "5168f70e-e920-4ef5-802b-f27389b0f016", 2)}, says: []string{"by " + high + ", with priority 1000 (preempted: 10), in LocalQueue default/user-queue, 3 times so far"}},
		"an earlier Workload of the same": {
			edits: []edit{event("kwok-w1", "e2", "older", 2), said("e3", "older", "job-high-868f7")},
			says:  []string{"preempted by " + high + ", 3 times so far"},
		},
		"repeated on another cluster": {edits: []edit{event("kwok-w2", "e2", "5168f70e-e920-4ef5-802b-f27389b0f016", 1)}, says: []string{high}, not: "times"},
		"another one, often":          {edits: []edit{event("kwok-w2", "e2", "older", 3)}, says: []string{"kwok-w2: preempted by a Workload with UID older, 3 times so far"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := testCase{base: "preempted-on-worker", edits: test.edits}
			rule, _ := rules.ByCode("JM029")
			found := judge(t, c.make(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(found), 1, "%+v", found)
			for _, says := range test.says {
				assert.Assert(t, strings.Contains(found[0].Message, says), found[0].Message)
			}
			assert.Assert(t, test.not == "" || !strings.Contains(found[0].Message, test.not), found[0].Message)
		})
	}
}
