package projection

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// isTrue reports whether any condition of a type is True. The server reads repeated conditions in
// this way, too.
func isTrue(conditions []batchv1.JobCondition, of batchv1.JobConditionType) bool {
	return hasStatus(conditions, of, corev1.ConditionTrue)
}

func hasStatus(conditions []batchv1.JobCondition, of batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(conditions, func(c batchv1.JobCondition) bool { return c.Type == of && c.Status == status })
}

// find returns a copy of the condition of a type; nil if there is none. Of several conditions, it
// prefers one that is True.
func find(conditions []batchv1.JobCondition, of batchv1.JobConditionType) *batchv1.JobCondition {
	var found *batchv1.JobCondition
	for i := range conditions {
		c := &conditions[i]
		if c.Type == of && (found == nil || found.Status != corev1.ConditionTrue && c.Status == corev1.ConditionTrue) {
			found = c
		}
	}
	return found.DeepCopy()
}

// without returns a copy without the conditions for which the function returns true.
func without(conditions []batchv1.JobCondition, drop func(batchv1.JobCondition) bool) []batchv1.JobCondition {
	return slices.DeleteFunc(slices.Clone(conditions), drop)
}

// put replaces the condition of c's type. If there is none, it inserts c before the condition of
// type before, or at the end.
func put(conditions []batchv1.JobCondition, c batchv1.JobCondition, before batchv1.JobConditionType) []batchv1.JobCondition {
	if i := slices.IndexFunc(conditions, func(x batchv1.JobCondition) bool { return x.Type == c.Type }); i >= 0 {
		conditions = slices.Clone(conditions)
		conditions[i] = c
		return conditions
	}
	i := slices.IndexFunc(conditions, func(x batchv1.JobCondition) bool { return x.Type == before })
	if i < 0 {
		i = len(conditions)
	}
	return slices.Insert(slices.Clone(conditions), i, c)
}

// distinct keeps one condition of each type: of repeated conditions, Kubernetes reads some by the
// first (the TTL controller), and some by any that is True. It truncates their times to seconds,
// and fills in missing ones: without the time of its end, a Job's TTL never expires.
func (d *draft) distinct(conditions []batchv1.JobCondition) []batchv1.JobCondition {
	var kept []batchv1.JobCondition
	for _, c := range conditions {
		if find(kept, c.Type) != nil {
			continue
		}
		c := find(conditions, c.Type)
		c.LastProbeTime = ptr.Deref(inSeconds(&c.LastProbeTime), metav1.Time{})
		if t := inSeconds(&c.LastTransitionTime); t != nil {
			c.LastTransitionTime = *t
		} else {
			c.LastTransitionTime = d.transitionTime(c)
		}
		kept = append(kept, *c)
	}
	return kept
}
