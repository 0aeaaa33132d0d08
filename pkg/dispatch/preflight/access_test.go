package preflight

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// TestEachMissingRight checks that each missing right is reported with its verb. Only required
// rights block the dispatch.
func TestEachMissingRight(t *testing.T) {
	copied := []dependency.Object{{Kind: dependency.ConfigMap}, {Kind: dependency.Secret}}
	for task, wanted := range map[string][]Right{
		rights.DispatchOrigin: rightsOnOrigin(delegation.Job(), false),
		rights.DispatchMirror: rightsOnWorker(delegation.Job()),
		rights.DispatchCopy:   slices.Concat(rightsOnWorker(delegation.Job()), rightsToCopy(copied)),
	} {
		named, ok := rights.Find(task)
		assert.Assert(t, ok)
		for _, needed := range named.Rights {
			if needed.Scope == rights.InCluster && needed.Resource == delegation.Job().Resource.GroupResource() {
				continue // It includes the same right in a namespace.
			}
			for _, verb := range needed.Verbs {
				server := dispatchtest.NewServer(t)
				server.MayNot = func(asked *authorizationv1.ResourceAttributes) bool {
					what := strings.TrimSuffix(asked.Resource+"/"+asked.Subresource, "/")
					return what == needed.Resource.Resource && asked.Group == needed.Resource.Group && asked.Verb == verb
				}
				found := NewProbe(server.Cluster(t, "there")).Access(t.Context(), "ml", wanted)
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
