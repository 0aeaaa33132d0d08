package advice_test

import (
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
)

// TestCreateAgainWith checks that the run of a CronJob gets a change there, before its deletion.
func TestCreateAgainWith(t *testing.T) {
	j := &inspect.Job{APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "a"}
	const deletion = "delete the Job: `kubectl --context hub -n ml delete job a`"
	assert.Equal(t, string(advice.CreateAgain(j)), deletion+", and create the Job again")
	assert.Equal(t, string(advice.CreateAgainWith(j, "with a valid spec")), deletion+", and create the Job again with a valid spec")
	j.Controller = &metav1.OwnerReference{APIVersion: "batch/v1", Kind: "CronJob", Name: "nightly"}
	assert.Equal(t, string(advice.CreateAgain(j)), deletion+", and have the next one created from spec.jobTemplate of CronJob ml/nightly")
	assert.Equal(t, string(advice.CreateAgainWith(j, "with a valid spec")), "change spec.jobTemplate of CronJob ml/nightly to one with a valid spec, and "+deletion)
}
