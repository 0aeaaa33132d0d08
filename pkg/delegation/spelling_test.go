package delegation_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// TestPlural checks that plurals in sentences are those of resources.
func TestPlural(t *testing.T) {
	for _, kind := range []string{"Job", "Topology", "StorageClass", "RayService", "AdmissionCheck"} {
		resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
		assert.Equal(t, strings.ToLower(delegation.Plural(kind)), resource.Resource)
	}
	assert.Equal(t, delegation.Plural("JobSet"), "JobSets")
}

func TestNamed(t *testing.T) {
	assert.Equal(t, delegation.Named("Job", "ml", "train"), "Job ml/train")
	assert.Equal(t, delegation.Named("Namespace", "", "ml"), "Namespace ml")
	assert.Equal(t, delegation.Mentioned("JobSet", "ml", "train"), "jobset ml/train")
}
