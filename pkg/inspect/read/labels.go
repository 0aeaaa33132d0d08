package read

import (
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// keepsLabel returns a function that says whether to keep a label of an object: marks and requested
// labels are kept.
func keepsLabel(wanted []string) func(key string) bool {
	return func(key string) bool { return delegation.IsMark(key) || slices.Contains(wanted, key) }
}

// labelSets selects the requested labels of objects. Objects with the same labels share one map,
// because a map takes more memory than the rest of a Job.
type labelSets struct {
	wanted []string
	// known are the maps by their values. No value contains "=" or ",".
	known map[string]map[string]string
}

func newLabelSets(wanted []string) *labelSets {
	return &labelSets{wanted: wanted, known: map[string]map[string]string{}}
}

// of returns the requested labels of an object, nil if it has none.
func (s *labelSets) of(labels map[string]string) map[string]string {
	var key []byte
	hasAny := false
	for _, name := range s.wanted {
		value, isSet := labels[name]
		if isSet {
			hasAny = true
			key = append(key, value...)
			key = append(key, '=')
		}
		key = append(key, ',')
	}
	if !hasAny {
		return nil
	}
	if set, isKnown := s.known[string(key)]; isKnown {
		return set
	}
	set := maps.Clone(labels)
	maps.DeleteFunc(set, func(name, _ string) bool { return !slices.Contains(s.wanted, name) })
	s.known[string(key)] = set
	return set
}
