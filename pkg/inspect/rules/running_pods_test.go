package rules_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// ungrouped is a worker's Job controller that cannot create the group of a
// mirror's Pods.
func ungrouped(reason, at string) edit {
	return add("kwok-w2", fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: ungrouped, namespace: default}, type: Warning, reason: %s,
		message: "workloads.scheduling.k8s.io is forbidden",
		involvedObject: {kind: Job, namespace: default, name: train, uid: c395595b-c78e-4f4f-905d-5d70ab44fa5f}, lastTimestamp: %q}`, reason, at))
}

// TestRefusedIsNotIgnored checks that a controller that reports why it cannot
// create Pods counts as having picked up the mirror.
func TestRefusedIsNotIgnored(t *testing.T) {
	c := testCase{base: ignoredMirror, edits: []edit{ungrouped("FailedWorkloadCreate", "2026-11-22T04:38:40Z")}}
	var codes []string
	for _, f := range judge(t, c.make(t), rules.All(), 0) {
		codes = append(codes, f.Code)
	}
	assert.DeepEqual(t, codes, []string{"JM049"})
}
