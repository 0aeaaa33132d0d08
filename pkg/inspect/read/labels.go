package read

import (
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// keepsLabel returns whether a label is kept while an object is read: the marks are, and those
// that were asked for.
func keepsLabel(wanted []string) func(key string) bool {
	return func(key string) bool { return delegation.IsMark(key) || slices.Contains(wanted, key) }
}

// labelSets picks the wanted labels of objects. Objects with the same ones share a map, which
// takes more memory than the rest of a Job.
type labelSets struct {
	wanted []string
	// known are the sets of labels by their values. No value has "=" or "," in it.
	known map[string]map[string]string
}

func newLabelSets(wanted []string) *labelSets {
	return &labelSets{wanted: wanted, known: map[string]map[string]string{}}
}

// of returns the wanted labels of an object, nil if it has none of them.
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
