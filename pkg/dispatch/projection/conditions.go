package projection

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// isTrue is whether any condition of that type is True, which is how the server
// reads a list with several.
func isTrue(conditions []batchv1.JobCondition, of batchv1.JobConditionType) bool {
	return hasStatus(conditions, of, corev1.ConditionTrue)
}

func hasStatus(conditions []batchv1.JobCondition, of batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(conditions, func(c batchv1.JobCondition) bool { return c.Type == of && c.Status == status })
}

// find finds the condition of that type, the one that is True if there are
// several, and nil if there is none.
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

// without are the conditions but those.
func without(conditions []batchv1.JobCondition, those func(batchv1.JobCondition) bool) []batchv1.JobCondition {
	return slices.DeleteFunc(slices.Clone(conditions), those)
}

// put replaces the condition of c's type; where there is none, c is added, before
// the condition of the type before, or at the end.
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

// distinct leaves one condition of each type: Kubernetes reads some by the first
// (the TTL controller), some by any that is True. Their times become whole, and
// known: without the time of its end a Job's TTL never runs out.
func (d *draft) distinct(conditions []batchv1.JobCondition) []batchv1.JobCondition {
	var kept []batchv1.JobCondition
	for _, c := range conditions {
		if find(kept, c.Type) != nil {
			continue
		}
		c := find(conditions, c.Type)
		c.LastProbeTime = ptr.Deref(whole(&c.LastProbeTime), metav1.Time{})
		if t := whole(&c.LastTransitionTime); t != nil {
			c.LastTransitionTime = *t
		} else {
			c.LastTransitionTime = d.transition(c)
		}
		kept = append(kept, *c)
	}
	return kept
}
