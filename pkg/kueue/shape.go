package kueue

import (
	"hash/fnv"
	"slices"
)

// Digest is a hash of a part of an object. It is kept for comparisons instead
// of the part.
type Digest uint64

// UnmarshalJSON sets the digest of the JSON text. One API server always
// writes the same value in the same way.
func (d *Digest) UnmarshalJSON(text []byte) error {
	h := fnv.New64a()
	// Write of a hash never fails.
	_, _ = h.Write(text)
	*d = Digest(h.Sum64())
	return nil
}

// IsLike reports whether Kueue treats two Workloads of one queue as equal, so
// that the result for one holds for the other: same priority, same counts,
// same Pods (docs/reference/scheduling.md#order).
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
