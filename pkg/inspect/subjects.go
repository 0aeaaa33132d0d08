package inspect

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Subjects are what a trace can be made of: the pairs and the orphans, and Jobs
// that are neither, as pairs without mirrors. Of these, those that stand in a
// queue of Kueue's matter always, the others only where there is nothing else.
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
