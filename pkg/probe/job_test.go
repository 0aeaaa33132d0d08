package probe

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func someJob() *unstructured.Unstructured {
	j := Job{Namespace: "ml", Queue: "gpu", Suffix: "x7k2p", Image: DefaultImage, Requests: map[string]string{"cpu": "10m"}, Lifetime: 90 * time.Second}
	return j.Origin()
}

// TestOrigin checks the fields of the Job, and that it ends without the probe.
func TestOrigin(t *testing.T) {
	o, job := someJob(), &batchv1.Job{}
	assert.NilError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, job, true))
	assert.Equal(t, *job.Spec.ManagedBy, "kueue.x-k8s.io/multikueue")
	assert.Equal(t, *job.Spec.ActiveDeadlineSeconds, int64(90))
	assert.Equal(t, *job.Spec.TTLSecondsAfterFinished, int32(60))
	assert.Assert(t, *job.Spec.Suspend)
	assert.Equal(t, job.Labels["kueue.x-k8s.io/queue-name"], "gpu")
	cpu := job.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"]
	assert.Equal(t, cpu.String(), "10m")

	m := mirror(o)
	_, hasOwner, _ := unstructured.NestedString(m.Object, "spec", "managedBy")
	assert.Assert(t, !hasOwner)
	pod := podOf(m)
	assert.Equal(t, pod.GetKind()+" "+pod.GetNamespace()+"/"+pod.GetName(), "Pod ml/jobs-managedby-probe-x7k2p-0")
	assert.Equal(t, pod.GetLabels()["kueue.x-k8s.io/queue-name"], "")
	_, err := pod.MarshalJSON()
	assert.NilError(t, err)
}

// TestIsLeftover checks that only Jobs of probes count as left, and only after the time of their
// probe.
func TestIsLeftover(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		change func(*unstructured.Unstructured)
		want   bool
	}{
		"probe has ended":      {func(*unstructured.Unstructured) {}, true},
		"probe may still run":  {func(o *unstructured.Unstructured) { o.SetCreationTimestamp(metav1.NewTime(now.Add(-90 * time.Second))) }, false},
		"a clock behind":       {func(o *unstructured.Unstructured) { o.SetCreationTimestamp(metav1.NewTime(now.Add(time.Hour))) }, false},
		"a copied label":       {func(o *unstructured.Unstructured) { o.SetName("train") }, false},
		"another probe's name": {func(o *unstructured.Unstructured) { o.SetName("jobs-managedby-probe-other") }, false},
		"no label":             {func(o *unstructured.Unstructured) { o.SetLabels(nil) }, false},
		"no time":              {func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }, false},
		"longer than any time": {func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{SecondsAnnotation: "18446744075"})
		}, false},
		"no number":    {func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{SecondsAnnotation: "soon"}) }, false},
		"another kind": {func(o *unstructured.Unstructured) { o.SetKind("Pod") }, false},
	} {
		o := someJob()
		o.SetCreationTimestamp(metav1.NewTime(now.Add(-91 * time.Second)))
		tt.change(o)
		assert.Check(t, isLeftover(o, now) == tt.want, name)
	}
}
