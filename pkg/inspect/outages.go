package inspect

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Outages are the contexts, or parts of them, that the last reading of a fleet could not read.
type Outages struct{ parts map[string]sets.Set[Part] }

// Update records the errors of a reading. It returns the errors about contexts and parts that could
// be read before, and the contexts that can be read completely again, by name.
func (o *Outages) Update(errs []ContextError) (lost []ContextError, regained []string) {
	now := map[string]sets.Set[Part]{}
	for _, e := range errs {
		if !o.parts[e.Context].Has(e.Part) {
			lost = append(lost, e)
		}
		if now[e.Context] == nil {
			now[e.Context] = sets.New[Part]()
		}
		now[e.Context].Insert(e.Part)
	}
	for _, context := range slices.Sorted(maps.Keys(o.parts)) {
		switch parts := now[context]; {
		case parts == nil:
			regained = append(regained, context)
		case parts.Has(""):
			// The state of the parts is unknown.
			now[context] = parts.Union(o.parts[context])
		}
	}
	o.parts = now
	return lost, regained
}
