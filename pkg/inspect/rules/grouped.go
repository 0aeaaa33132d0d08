package rules

// group is what some values have in common, and these.
type group[K comparable, V any] struct {
	key    K
	values []V
}

// grouped are values by what they have in common, in the order in which that was first
// seen.
func grouped[K comparable, V any](values []V, by func(V) K) []group[K, V] {
	if len(values) == 0 {
		return nil
	}
	var groups []group[K, V]
	at := map[K]int{}
	for _, v := range values {
		key := by(v)
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key], groups = i, append(groups, group[K, V]{key: key})
		}
		groups[i].values = append(groups[i].values, v)
	}
	return groups
}
