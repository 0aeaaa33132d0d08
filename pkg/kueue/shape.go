package kueue

import (
	"hash/fnv"
	"slices"
)

// Digest stands for a part of an object that is compared with others, and not kept.
type Digest uint64

// UnmarshalJSON makes the digest of what stands there. One API server writes the same
// thing in the same way.
func (d *Digest) UnmarshalJSON(text []byte) error {
	h := fnv.New64a()
	// It never fails.
	_, _ = h.Write(text)
	*d = Digest(h.Sum64())
	return nil
}

// IsLike says whether Kueue takes two Workloads of one queue for equal, so that what
// it has found of one holds for the other: same priority, same counts, same pods
// (docs/reference/scheduling.md#order).
func (w *Workload) IsLike(o *Workload) bool {
	return deref(w.Spec.Priority) == deref(o.Spec.Priority) && len(w.Spec.PodSets) > 0 &&
		slices.EqualFunc(w.Spec.PodSets, o.Spec.PodSets, func(a, b PodSet) bool {
			return a.Name == b.Name && a.Count == b.Count && deref(a.MinCount) == deref(b.MinCount) &&
				a.Template.Spec == b.Template.Spec && a.Topology == b.Topology
		})
}

func deref(p *int32) int32 {
	if p == nil {
		return 0
	}
	return *p
}
