package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// copyRejected makes the copy of the waiting Workload on a worker one that the AdmissionCheck prov
// rejected. state is the state of the check by now.
func copyRejected(context, state string) edit {
	return patch(context, waitingWorkload, `{spec: {active: false}, status: {conditions: [
		{type: QuotaReserved, status: "False", reason: Deactivated, message: The workload is deactivated, lastTransitionTime: "2026-11-20T23:24:46Z"},
		{type: Evicted, status: "True", reason: DeactivatedDueToAdmissionCheck, message: 'The workload is deactivated due to AdmissionCheck in Rejected state: "prov" (no money left)', lastTransitionTime: "2026-11-20T23:24:46Z"}],
		admissionChecks: [{name: prov, state: `+state+`, message: "Reset to Pending after eviction. Previously: Rejected", lastTransitionTime: "2026-11-20T23:24:46Z"}]}}`)
}

// TestCopiesOff checks which code and severity the copies of a Workload have that workers deactivated.
func TestCopiesOff(t *testing.T) {
	const byUser = `{spec: {active: false}}`
	for name, tt := range map[string]struct {
		edits []edit
		want  string
	}{
		"rejected on both workers":        {[]edit{copyRejected("kwok-w1", "Pending"), copyRejected("kwok-w2", "Pending")}, "error JM124"},
		"rejected on one worker":          {[]edit{copyRejected("kwok-w1", "Pending")}, "warning JM124"},
		"rejected on the only one so far": {[]edit{copyRejected("kwok-w1", "Pending"), patch("kwok-mgr", waitingWorkload, `{status: {nominatedClusterNames: [worker1]}}`)}, "warning JM124"},
		"by a user on one worker":         {[]edit{patch("kwok-w1", waitingWorkload, byUser)}, "warning JM124"},
		"by a user, and the other may run it": {[]edit{
			patch("kwok-w1", waitingWorkload, byUser),
			patch("kwok-w2", waitingWorkload, `{status: {conditions: [{type: QuotaReserved, status: "False", reason: WaitingForQuota, message: "", lastTransitionTime: "2026-11-20T23:24:46Z"}]}}`),
		}, "info JM124"},
		"by users on both workers":           {[]edit{patch("kwok-w1", waitingWorkload, byUser), patch("kwok-w2", waitingWorkload, byUser)}, "warning JM124"},
		"rejected, and by a user":            {[]edit{copyRejected("kwok-w1", "Pending"), patch("kwok-w2", waitingWorkload, byUser)}, "warning JM124, warning JM124"},
		"the check still rejects it":         {[]edit{copyRejected("kwok-w1", "Rejected")}, "warning JM030"},
		"the checks of both still reject it": {[]edit{copyRejected("kwok-w1", "Rejected"), copyRejected("kwok-w2", "Rejected")}, "error JM030, error JM030"},
	} {
		t.Run(name, func(t *testing.T) {
			var found []string
			for _, f := range judge(t, testCase{base: recordedNoQuota, edits: tt.edits}.make(t), rules.All(), 0) {
				if f.Code == "JM124" || f.Code == "JM030" {
					found = append(found, string(f.Severity)+" "+f.Code)
				}
			}
			assert.Equal(t, strings.Join(found, ", "), tt.want)
		})
	}
}

// TestCopiesOffAreOneFinding checks that one reason for which workers deactivated a Workload is one
// finding, which names them all.
func TestCopiesOffAreOneFinding(t *testing.T) {
	rule, _ := rules.ByCode("JM124")
	v := testCase{base: recordedNoQuota, edits: []edit{copyRejected("kwok-w1", "Pending"), copyRejected("kwok-w2", "Pending")}}.make(t)
	found := judge(t, v, []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Equal(t, found[0].Severity, inspect.Error)
	assert.Equal(t, found[0].Message, "Job default/train: the copies of its Workload on worker1 (kwok-w1) and worker2 (kwok-w2): AdmissionCheck prov rejects it: no money left")
}
