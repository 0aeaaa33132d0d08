package cmd

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestIncompleteExitCodes checks that commands exit with 4 if what they print depends on something that was
// not read, whichever command prints it.
func TestIncompleteExitCodes(t *testing.T) {
	_, errOut, code := run(t, "queues", "-n", "default", "--from", recordings+"/cohort-borrowing")
	assert.Equal(t, code, util.ExitPartial, errOut)
}

// TestUnreadMultiKueueClusters checks that nothing follows from MultiKueueClusters that a user may not read:
// the roles of clusters are unknown, and no mirror is called an orphan.
func TestUnreadMultiKueueClusters(t *testing.T) {
	kubeconfig := serve(t, exampleFleet, func(_ string, w http.ResponseWriter, r *http.Request) bool {
		asked, ok := rbactest.RequestOf(r)
		if !ok || asked.Resource != "multikueueclusters" {
			return false
		}
		rbactest.Refuse(w, asked)
		return true
	})
	all := []string{"--contexts", "management,worker-1,worker-2", "--kubeconfig", kubeconfig}
	out, _, _ := run(t, append([]string{"doctor"}, all...)...)
	assert.Equal(t, strings.Count(out, "role in MultiKueue unknown"), 2, out)
	for _, args := range [][]string{{"trace", "train-old", "-n", "ml"}, {"trace", "-A", "--orphans"}} {
		out, errOut, code := run(t, append(args, all...)...)
		assert.Equal(t, code, util.ExitPartial, "%v: %s", args, out+errOut)
		assert.Assert(t, !strings.Contains(out, "origin is gone") && !strings.Contains(out, "orphan on"), "%v: %s", args, out)
	}
}

// TestDoctorCountsUnreadWorkers checks that the totals of doctor include a worker that was not read.
func TestDoctorCountsUnreadWorkers(t *testing.T) {
	for _, name := range []string{"worker-lost", "one-worker-unusable"} {
		out, _, _ := run(t, "doctor", "--from", recordings+"/"+name)
		assert.Assert(t, strings.Contains(out, " on 1 manager and 1 of 2 workers"), out)
	}
}

// TestEvidenceOfUnsetOwner checks that evidence about a Job without managedBy quotes no value.
func TestEvidenceOfUnsetOwner(t *testing.T) {
	out, _, _ := run(t, "check", "-A", "-o", "wide", "--grace", "0s", "--from", recordings+"/localqueue-drained-and-a-late-job")
	assert.Assert(t, strings.Contains(out, "spec.managedBy of Job default/late is not set"), out)
}
