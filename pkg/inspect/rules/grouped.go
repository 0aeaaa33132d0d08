package rules

import "iter"

// grouped are values by what they have in common, in the order in which that was first
// seen.
func grouped[K comparable, V any](values iter.Seq[V], by func(V) K) iter.Seq2[K, []V] {
	var order []K
	groups := map[K][]V{}
	for v := range values {
		key := by(v)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], v)
	}
	return func(yield func(K, []V) bool) {
		for _, key := range order {
			if !yield(key, groups[key]) {
				return
			}
		}
	}
}
