package inspect

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Subjects returns the objects that can be traced: the pairs, the orphans, and Jobs that are
// neither, as pairs without mirrors. Jobs in a queue of Kueue are always included, the others only
// if there is nothing else.
func (v *Inventory) Subjects() []Pair {
	subjects := slices.Clone(v.Pairs.Pairs)
	for _, orphan := range v.Pairs.Orphans {
		subjects = append(subjects, OrphanPair(orphan))
	}
	known := sets.New[*Job]()
	for _, p := range subjects {
		known.Insert(p.Jobs()...)
		known.Insert(p.Namesakes...)
	}
	var queued, others []Pair
	for _, f := range v.Clusters {
		for _, j := range f.Jobs {
			switch {
			case known.Has(j):
			case j.Queue() != "":
				queued = append(queued, Pair{Origin: j})
			default:
				others = append(others, Pair{Origin: j})
			}
		}
	}
	if subjects = append(subjects, queued...); len(subjects) == 0 {
		return others
	}
	return subjects
}
