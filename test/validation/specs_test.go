package validation

import (
	"math/rand/v2"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// epoch is the start of every history.
func epoch() time.Time { return time.Date(2026, 8, 14, 9, 0, 0, 0, time.UTC).Local() }

// owner is the managedBy of every origin.
const owner = "jobmanagedby.github.io/dispatch"

// dice is the source of random choices: a seed, or a fuzzer.
type dice struct{ *rand.Rand }

func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

// some returns a number from least to most.
func (d dice) some(least, most int) int32 { return int32(least + d.IntN(most-least+1)) }

func oneOf[T any](d dice, choices ...T) T { return choices[d.IntN(len(choices))] }

// job generates an origin, as its user writes it.
func (d dice) job() *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: "train", Namespace: "default", UID: "origin", ResourceVersion: "1",
			CreationTimestamp: metav1.NewTime(epoch()),
		},
		Spec: batchv1.JobSpec{
			ManagedBy:    ptr.To(owner),
			Parallelism:  ptr.To(d.some(0, 5)),
			BackoffLimit: ptr.To(d.some(0, 4)),
			Suspend:      ptr.To(d.oneIn(3)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main", Image: "train:1"}},
			}},
		},
	}
	if d.oneIn(3) {
		if !d.oneIn(4) {
			job.Spec.Completions = ptr.To(d.some(0, 6))
		}
	} else {
		d.indexed(&job.Spec)
	}
	if d.oneIn(3) {
		policy := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: oneOf(d, batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore),
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42},
			},
		}}}
		job.Spec.PodFailurePolicy = policy
	}
	return job
}

// indexed gives the Pods of a spec indexes.
func (d dice) indexed(spec *batchv1.JobSpec) {
	spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	spec.Completions = ptr.To(d.some(0, 9))
	if !d.oneIn(3) {
		// An elastic Job, which may be scaled.
		spec.Parallelism = spec.Completions
	}
	if d.oneIn(3) {
		spec.BackoffLimitPerIndex = ptr.To(d.some(0, 1))
		if d.oneIn(2) {
			spec.MaxFailedIndexes = ptr.To(d.some(0, int(*spec.Completions)))
		}
	}
	if *spec.Completions > 0 && d.oneIn(4) {
		spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{
			SucceededCount: ptr.To(d.some(1, int(*spec.Completions))),
		}}}
	}
}
