package inspect_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// refused returns the error of a context whose user may not list a resource.
func refused(context, user, group, resource string, codes ...string) inspect.ContextError {
	err := apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "",
		errors.New(`User "`+user+`" cannot list resource "`+resource+`" in API group "`+group+`" in the namespace "ml"`))
	e := inspect.NewContextError(kubecontext.InContext(context, "read "+resource, err))
	e.NotJudged = codes
	return e
}

// TestFoldRefusals checks that denials of one user are merged and other errors are not.
func TestFoldRefusals(t *testing.T) {
	lost := inspect.NewContextError(kubecontext.InContext("lost", "", errors.New("no route")))
	alone := refused("b", "dev", "", "namespaces")
	folded := inspect.FoldRefusals([]inspect.ContextError{
		refused("a", "dev", "kueue.x-k8s.io", "workloads", "JM003", "JM001"),
		lost,
		alone,
		refused("a", "dev", "kueue.x-k8s.io", "localqueues", "JM002", "JM003"),
		refused("a", "other", "", "pods"),
		refused("a", "dev", "", "namespaces"),
	})
	assert.Equal(t, len(folded), 4)
	assert.Equal(t, folded[0].Message, "dev may not read namespaces, workloads, localqueues (kueue.x-k8s.io) in namespace ml; JM001 to JM003 were not checked. "+
		string(kubecontext.RightsHint))
	assert.Equal(t, folded[0].Code, kubecontext.CodeForbidden)
	assert.DeepEqual(t, folded[1:3], []inspect.ContextError{lost, alone})
	assert.Equal(t, folded[3].Refusal.User, "other")
}

// TestFoldRefusalsOfScopes checks that a right which a user has in one namespace is not denied.
func TestFoldRefusalsOfScopes(t *testing.T) {
	everywhere := inspect.NewContextError(kubecontext.InContext("a", "read workloads", apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io", Resource: "workloads"}, "",
		errors.New(`User "dev" cannot list resource "workloads" in API group "kueue.x-k8s.io" at the cluster scope`))))
	everywhere.NotJudged = []string{"JM407"}
	folded := inspect.FoldRefusals([]inspect.ContextError{everywhere, refused("a", "dev", "", "secrets")})
	assert.Equal(t, len(folded), 1)
	assert.Equal(t, folded[0].Message, "dev may not read workloads (kueue.x-k8s.io) cluster-wide, and secrets in namespace ml; JM407 was not checked. "+
		string(kubecontext.RightsHint))
}

// TestFoldRefusalsOfTheHostile checks that a hostile server cannot put words into commands that
// users paste.
func TestFoldRefusalsOfTheHostile(t *testing.T) {
	folded := inspect.FoldRefusals([]inspect.ContextError{
		refused("a b", "`rm -rf /`", "", "pods`x`"), refused("a b", "`rm -rf /`", "", "jobs"),
	})
	assert.Equal(t, len(folded), 1)
	assert.Equal(t, folded[0].Message, "'rm -rf /' may not read pods'x', jobs in namespace ml. "+string(kubecontext.RightsHint))
}
