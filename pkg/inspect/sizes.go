package inspect

import (
	"maps"
	"slices"
)

// Resized is a size field whose value on an origin differs from its mirror's.
type Resized struct {
	Field          string
	Origin, Mirror int64
}

// ResizedFrom returns the size fields in which an object differs from its mirror, sorted. It skips
// fields that only one of them has, because a server may have set a default.
func (j *Job) ResizedFrom(mirror *Job) []Resized {
	var found []Resized
	for _, field := range slices.Sorted(maps.Keys(j.Sizes)) {
		if there, known := mirror.Sizes[field]; known && there != j.Sizes[field] {
			found = append(found, Resized{field, j.Sizes[field], there})
		}
	}
	return found
}
