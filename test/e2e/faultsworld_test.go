package e2e

import (
	"context"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// ranOnce checks that an origin has the end of its mirror, that exactly the requested number of
// Pods ran, on the worker only, and that the mirror is deleted.
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

// noLeaseIsLeft checks that no Lease of a dispatcher is left in a namespace.
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

// copiedSecret and copiedConfigMap are dependencies of some Jobs, which are copied to the worker.
const copiedSecret, copiedConfigMap = "token", "settings"

// makeCopied creates them on the management cluster.
func makeCopied(t *testing.T, ns string) {
	t.Helper()
	c := client(t, management).CoreV1()
	_, err := c.Secrets(ns).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: copiedSecret}, StringData: map[string]string{"A": "x"}}, metav1.CreateOptions{})
	assert.NilError(t, err)
	_, err = c.ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: copiedConfigMap}, Data: map[string]string{"B": "y"}}, metav1.CreateOptions{})
	assert.NilError(t, err)
}

// needsCopies makes a Job depend on both.
func needsCopies(j *batchv1.Job) {
	j.Spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: copiedSecret}}},
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: copiedConfigMap}}},
	}
}

// noCopyIsLeft deletes the mirrors with their Pods, and checks that the copies are deleted with the
// last mirror.
func noCopyIsLeft(t *testing.T, ns string) {
	t.Helper()
	c := client(t, worker1)
	ours := metav1.ListOptions{LabelSelector: delegation.OriginUIDLabel}
	policy := metav1.DeletePropagationBackground
	_, err := c.CoreV1().Secrets(ns).Get(t.Context(), copiedSecret, metav1.GetOptions{})
	assert.NilError(t, err, "the status was not copied")
	assert.NilError(t, c.BatchV1().Jobs(ns).DeleteCollection(t.Context(), metav1.DeleteOptions{PropagationPolicy: &policy}, ours))
	left := 0
	err = poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		jobs, err := c.BatchV1().Jobs(ns).List(ctx, ours)
		if err != nil {
			return false, err
		}
		secrets, err := c.CoreV1().Secrets(ns).List(ctx, ours)
		if err != nil {
			return false, err
		}
		maps, err := c.CoreV1().ConfigMaps(ns).List(ctx, ours)
		if err != nil {
			return false, err
		}
		pods, err := c.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel})
		if err != nil {
			return false, err
		}
		left = len(jobs.Items) + len(secrets.Items) + len(maps.Items) + len(pods.Items)
		return left == 0, nil
	})
	assert.NilError(t, err, "%d mirrors, copies and pods are left", left)
}
