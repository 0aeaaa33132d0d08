package e2e

import (
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// ranOnce checks that an origin has the end of its mirror, that there were as many pods
// as it wants and no more, on the one side alone, and that the mirror goes by itself.
func ranOnce(t *testing.T, ns, name string) {
	t.Helper()
	sameEnd(t, ns, name)
	o, m := jobOf(t, management, ns, name), jobOf(t, worker1, ns, name)
	assert.Assert(t, o.Status.CompletionTime != nil && o.Status.Succeeded == *o.Spec.Completions, "%s: %+v", name, o.Status)
	assert.Equal(t, m.Labels[delegation.OriginUIDLabel], string(o.UID), name)
	assert.Assert(t, ptr.Deref(m.Spec.TTLSecondsAfterFinished, 0) > 0, "the mirror of %s stays for ever", name)
	for cluster, want := range map[string]int{management: 0, worker1: int(*o.Spec.Completions)} {
		pods, err := client(t, cluster).CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + name})
		assert.NilError(t, err)
		assert.Equal(t, len(pods.Items), want, "pods of %s on %s", name, cluster)
		for _, p := range pods.Items {
			assert.Assert(t, metav1.IsControlledBy(&p, m), "pod %s is of another mirror", p.Name)
		}
	}
}

// noLeaseIsLeft checks that there is nothing in a namespace by which dispatchers hold
// anything.
func noLeaseIsLeft(t *testing.T, ns string) {
	t.Helper()
	for _, cluster := range []string{management, worker1} {
		leases, err := client(t, cluster).CoordinationV1().Leases(ns).List(t.Context(), metav1.ListOptions{})
		assert.NilError(t, err)
		for i := range leases.Items {
			t.Errorf("Lease %s is left on %s", leases.Items[i].Name, cluster)
		}
	}
}
