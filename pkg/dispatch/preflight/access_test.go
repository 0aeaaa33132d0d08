package preflight

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/apiserver"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// TestEachRightTakenAway: whichever right that the table calls needed is lacking, it is
// told by its verb, and nothing is begun; and nothing else is.
func TestEachRightTakenAway(t *testing.T) {
	copied := []dependency.Object{{Kind: dependency.ConfigMap}, {Kind: dependency.Secret}}
	for task, wanted := range map[string][]Right{
		rights.DispatchOrigin: rightsOnOrigin(delegation.Job(), false),
		rights.DispatchMirror: rightsOnWorker(delegation.Job()),
		rights.DispatchCopy:   slices.Concat(rightsOnWorker(delegation.Job()), rightsToCopy(copied)),
	} {
		named, ok := rights.Find(task)
		assert.Assert(t, ok)
		for _, needed := range named.Rights {
			for _, verb := range needed.Verbs {
				client := fake.NewClientset()
				client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
					review, _ := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
					asked := review.Spec.ResourceAttributes
					what := strings.TrimSuffix(asked.Resource+"/"+asked.Subresource, "/")
					answered := review.DeepCopy()
					answered.Status.Allowed = what != needed.Resource.Resource || asked.Group != needed.Resource.Group || asked.Verb != verb
					return true, answered, nil
				})
				found := NewProbe(&apiserver.Side{Context: "there", Client: client}).Access(t.Context(), "ml", wanted)
				if needed.IsOptional {
					assert.Assert(t, !slices.ContainsFunc(found, func(p Problem) bool { return p.Blocking }), "%s without %s %s: %+v", task, verb, needed.Resource, found)
					continue
				}
				assert.Equal(t, len(found), 1, "%s without %s %s: %+v", task, verb, needed.Resource, found)
				assert.Assert(t, found[0].Blocking && strings.HasPrefix(found[0].Message, "you may not "+verb+" "+needed.Resource.Resource+" in namespace ml: "), found[0].Message)
			}
		}
	}
}
