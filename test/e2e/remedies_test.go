package e2e

import (
	"context"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// breakage is a way to break a fleet, and its remedy.
type breakage struct {
	code string
	// breakIt creates a broken Job called sick; nil if it exists already.
	breakIt, fix func(t *testing.T, ns string)
}

// TestRemedies breaks a healthy namespace in one way after the other, checks that only its code is
// found, applies the remedy, and checks that the finding is gone. Problems of Kueue are created in
// test/kueue, and repaired there with the printed fixes.
func TestRemedies(t *testing.T) {
	const ns = "remedies"
	sharesKueue(t, ns)
	createJobs(t, management, submitted(ns, "healthy"))
	waitReady(t, management, ns, "healthy", 1)
	args := []string{"-n", ns, healthyKubeconfig(t)}
	for _, b := range breakages() {
		t.Run(b.code, func(t *testing.T) {
			if b.breakIt != nil {
				b.breakIt(t, ns)
			}
			finding := eventuallyFinds(t, []string{b.code}, args...)[b.code]
			assert.Assert(t, finding.Remedy != "" && len(finding.Evidence) > 0)
			b.fix(t, ns)
			eventuallyFinds(t, nil, args...)
		})
	}
}

func breakages() []breakage {
	return []breakage{
		{"JM053", nil, deleteSick(worker2)},
		{"JM014", func(t *testing.T, ns string) {
			t.Helper()
			createJobs(t, management, fixture.New(ns, "sick", fixture.ManagedBy("nobody.invalid/nothing")))
		}, deleteSick(management)},
		{"JM103", func(t *testing.T, ns string) {
			t.Helper()
			createJobs(t, worker2, fixture.New(ns, "sick", fixture.ManagedBy(string(delegation.Dispatch)),
				fixture.Labels(delegation.OriginUIDLabel, "0f0f0f0f-0000-4000-8000-000000000000")))
		}, deleteSick(worker2)},
		{"JM111", func(t *testing.T, ns string) {
			t.Helper()
			sick := fixture.New(ns, "sick", fixture.ManagedBy("flows.example.com/runner"))
			sick.Finalizers = []string{"example.com/hold"}
			createJobs(t, management, sick)
			jobs := client(t, management).BatchV1().Jobs(ns)
			_, err := jobs.Patch(t.Context(), "sick", types.MergePatchType,
				[]byte(`{"status":{"startTime":"2026-01-01T00:00:00Z","active":1}}`), metav1.PatchOptions{}, "status")
			assert.NilError(t, err)
			assert.NilError(t, jobs.Delete(t.Context(), "sick", metav1.DeleteOptions{}))
		}, func(t *testing.T, ns string) {
			t.Helper()
			_, err := client(t, management).BatchV1().Jobs(ns).Patch(t.Context(), "sick", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			assert.NilError(t, err)
		}},
	}
}

// deleteSick deletes the Job called sick as kubectl delete does, and waits until it is gone.
func deleteSick(cluster string) func(*testing.T, string) {
	return func(t *testing.T, ns string) {
		t.Helper()
		jobs := client(t, cluster).BatchV1().Jobs(ns)
		policy := metav1.DeletePropagationBackground
		assert.NilError(t, jobs.Delete(t.Context(), "sick", metav1.DeleteOptions{PropagationPolicy: &policy}))
		err := poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
			_, err := jobs.Get(ctx, "sick", metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		assert.NilError(t, err)
	}
}
