package rights_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// TestScopes checks that rights on cluster-scoped resources are needed in the cluster. So are rights on some resources
// in all namespaces, and on reviews, which are no objects. Users may get their own namespace with a right there.
func TestScopes(t *testing.T) {
	for _, task := range rights.Tasks() {
		for _, r := range task.Rights {
			resource := r.Resource.Resource
			if resource == "namespaces" {
				continue
			}
			isOther := resource == "jobs" || resource == "subjectaccessreviews"
			assert.Equal(t, r.Scope == rights.InCluster, delegation.IsClusterScoped(resource) || r.Scope == rights.InCluster && isOther, "%s of %s", resource, task.Name)
		}
	}
}
