package inspect

import (
	"k8s.io/apimachinery/pkg/util/sets"
)

// Merged are the mirrors of an inventory that stand for their origins now, so that a list in
// which every Job stands once does without them. A mirror whose origin was not found, or that is
// of an older one, is not among them, nor one whose origin is not listed, as isListed tells.
func (v *Inventory) Merged(isListed func(origin *Job) bool) sets.Set[*Job] {
	merged := sets.New[*Job]()
	for _, p := range v.Pairs.Pairs {
		if !isListed(p.Origin) {
			continue
		}
		for _, m := range p.Current() {
			merged.Insert(m.Job)
		}
	}
	return merged
}
