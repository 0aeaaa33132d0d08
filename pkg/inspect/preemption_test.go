package inspect_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestReclaimedIn checks that a reclamation names its cohort if that is certain.
func TestReclaimedIn(t *testing.T) {
	const by = "Preempted to accommodate a workload (UID: 1, JobUID: UNKNOWN)"
	for message, want := range map[string]string{
		by + " due to reclamation within the cohort; preemptor path: /co/d15x; preemptee path: /co/d15":  "reclamation within cohort co",
		by + " due to reclamation within the cohort; preemptor path: /root/a/q; preemptee path: /root/q": "reclamation within the cohort",
		by + " due to Fair Sharing within the cohort":                                                    "Fair Sharing within the cohort",
		by + " due to prioritization in the ClusterQueue; preemptor path: /q; preemptee path: /q":        "",
		by: "",
	} {
		assert.Equal(t, inspect.ReclaimedIn(message), want)
	}
}
