package inspect

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// IsOrphan returns whether a mirror without an origin has certainly none: every cluster
// that may have the origin was read.
func (v *Inventory) IsOrphan(j *Job) bool { return len(v.UnreadContexts()) == 0 && v.KnowsManagerOf(j) }

// KnowsManagerOf returns whether a cluster that may have the origin of a mirror was read.
// MultiKueue's mirrors do not name it, so any management cluster counts.
func (v *Inventory) KnowsManagerOf(j *Job) bool {
	place := delegation.Place{}
	if j.Marks != nil {
		place = j.Marks.Origin
	}
	return slices.ContainsFunc(v.Clusters, func(f *Facts) bool {
		switch {
		case f.Err != nil:
			return false
		case !place.IsZero():
			return place.On(f.Cluster()) == delegation.CertainlySame
		}
		return f.isManager()
	})
}

// isManager returns whether a cluster has MultiKueue's configuration, or delegates to it.
func (f *Facts) isManager() bool {
	if f.Kueue != nil && (len(f.Kueue.Clusters) > 0 || f.Kueue.MultiKueueCheck() != nil) {
		return true
	}
	return slices.ContainsFunc(f.Jobs, func(j *Job) bool { return j.ManagedBy == delegation.MultiKueue })
}

// UnknownOrigins returns what is unknown of wanted mirrors: their origins, if no cluster that
// may have them was read.
func (v *Inventory) UnknownOrigins(isWanted func(*Job) bool) []Unchecked {
	n, kind := 0, ""
	for _, j := range v.Pairs.Orphans {
		if !j.IsPart() && isWanted(j) && !v.KnowsManagerOf(j) {
			n, kind = n+1, j.Kind
		}
	}
	if n == 0 {
		return nil
	}
	what := fmt.Sprintf("origins of %s", Count(n, "mirror"))
	if n == 1 {
		what = fmt.Sprintf("origin of 1 mirror (%s)", kind)
	}
	return []Unchecked{{What: what, Contexts: []string{}, Reason: "no manager was read"}}
}

// OrphanPair returns a mirror without a known origin as a pair.
func OrphanPair(j *Job) Pair {
	relation := ByMultiKueue
	if j.OriginUID() != "" {
		relation = ByDispatch
	}
	return Pair{Mirrors: []Mirror{{Job: j, Relation: relation, Current: false}}}
}

// Subjects returns the objects that can be traced: the pairs, the orphans, and Jobs that are
// neither, as pairs without mirrors. Jobs in a queue of Kueue are always included, the others only
// if no such Job exists.
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
