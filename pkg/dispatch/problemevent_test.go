package dispatch_test

import (
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
)

// TestProblemEvent checks that no event has two subjects.
func TestProblemEvent(t *testing.T) {
	pods := preflight.Object{Label: "the Pods"}
	for want, p := range map[string]preflight.Problem{
		`context "w": the API server rejects the Pods: no`: {Object: pods, Message: "the API server rejects the Pods: no", IsSentence: true},
		`context "w": the Pods: cannot be checked: EOF`:    {Object: pods, Message: "cannot be checked: EOF"},
		`context "w": is finished`:                         {Message: "is finished"},
	} {
		p.Context = "w"
		assert.Equal(t, dispatch.ProblemEvent("m", &unstructured.Unstructured{}, p).Message, want)
	}
}
