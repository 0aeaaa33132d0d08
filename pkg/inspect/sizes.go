package inspect

import (
	"maps"
	"slices"
)

// Resized is a field that says how many pods an origin wants, which its mirror has with
// another number.
type Resized struct {
	Field          string
	Origin, Mirror int64
}

// ResizedFrom are the sizes in which an object differs from its mirror, sorted. What only
// one of them says, a server may have filled in.
func (j *Job) ResizedFrom(mirror *Job) []Resized {
	var found []Resized
	for _, field := range slices.Sorted(maps.Keys(j.Sizes)) {
		if there, known := mirror.Sizes[field]; known && there != j.Sizes[field] {
			found = append(found, Resized{field, j.Sizes[field], there})
		}
	}
	return found
}
