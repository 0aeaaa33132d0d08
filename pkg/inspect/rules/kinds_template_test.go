package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestConsequences checks that the effect of Jobs without a controller
// depends on the concurrencyPolicy of the CronJob.
func TestConsequences(t *testing.T) {
	for policy, want := range map[string]string{
		"Forbid": "no later run starts", "Replace": "none ever runs", "Allow": "each run adds one more",
	} {
		t.Run(policy, func(t *testing.T) {
			c := testCase{base: recordedRunning, kinds: everyKind(), edits: []edit{
				add("kwok-mgr", `{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, namespace: default, uid: its-cronjob, creationTimestamp: "2026-11-20T23:00:00Z"},
					spec: {suspend: false, concurrencyPolicy: `+policy+`, jobTemplate: {spec: {managedBy: `+runner+`}}}, status: {active: [{kind: Job, name: nightly-1}]}}`),
				addOwned(runner, "nightly-1", newerUID, `ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: its-cronjob, controller: true}]`, ""),
			}}
			rule, _ := rules.ByCode("JM307")
			found := judge(t, c.make(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(found), 1, "%+v", found)
			assert.Assert(t, strings.HasSuffix(found[0].Message, want), found[0].Message)
			assert.Assert(t, strings.Contains(strings.Join(found[0].Evidence, " "), "spec.concurrencyPolicy of CronJob default/nightly is "+policy), "%q", found[0].Evidence)
		})
	}
}
