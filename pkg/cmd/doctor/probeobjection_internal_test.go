package doctor

import (
	"errors"
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestObjection checks that a webhook that hangs is named in words, with a fix, and that only an API server
// rejects a Job.
func TestObjection(t *testing.T) {
	hangs := func(name string) error {
		return apierrors.NewInternalError(errors.New(`failed calling webhook "` + name + `": failed to call webhook: Post "https://kueue/mutate-batch-v1-job?timeout=10s": context deadline exceeded`))
	}
	for _, tt := range []struct {
		err             error
		sentence, short string
	}{
		{
			hangs("mjob.kb.io"), `Kueue on mgr fails, so no Job can be created: Post "https://kueue/mutate-batch-v1-job?timeout=10s": context deadline exceeded. ` +
				"Check that it runs: kubectl --context mgr get deployments,pods -A -l app.kubernetes.io/name=kueue", "webhook mjob.kb.io failed",
		},
		{
			hangs("policy.example"), `Webhook policy.example on mgr fails, so no Job can be created: Post "https://kueue/mutate-batch-v1-job?timeout=10s": context deadline exceeded. ` +
				"Check that it runs: kubectl --context mgr get validatingwebhookconfigurations,mutatingwebhookconfigurations", "webhook policy.example failed",
		},
		{
			apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "x", errors.New("exceeded quota")), "mgr rejects the Job: exceeded quota.", "exceeded quota",
		},
		{
			apierrors.NewGenericServerResponse(http.StatusBadGateway, "POST", schema.GroupResource{Resource: "jobs"}, "", "bad gateway", 0, true),
			`No Job can be created on mgr now: an error on the server ("bad gateway") has prevented the request from succeeding (post jobs).`,
			`an error on the server ("bad gateway") has prevented the request from succeeding (post jobs)`,
		},
	} {
		sentence, short := objection("mgr", tt.err)
		assert.Equal(t, sentence, tt.sentence)
		assert.Equal(t, short, tt.short)
	}
}

// TestSetupFix checks that the error for a namespace without a queue of MultiKueue has the fix.
func TestSetupFix(t *testing.T) {
	unknown := errors.New("no LocalQueue uses MultiKueue")
	f := inspect.Finding{
		Code: "JM417", Kind: "LocalQueue", Namespace: "ml", Name: "q", Message: "LocalQueue ml/q: no LocalQueue of namespace ml uses MultiKueue",
		Fixes: []command.Fix{{Text: "add the check", Command: []string{"kubectl", "patch"}}},
	}
	assert.Equal(t, withSetupFix(unknown, []inspect.Finding{f}, "ml").Error(), "no LocalQueue of namespace ml uses MultiKueue; add the check:\n  kubectl patch")
	assert.Equal(t, withSetupFix(unknown, []inspect.Finding{f}, "other"), unknown)
}
