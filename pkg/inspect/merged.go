package inspect

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
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

// Reasons are why the Jobs of an inventory are where they are, in the words with which a
// trace of each begins; "" where the status of a Job says it all.
func (v *Inventory) Reasons() map[*Job]string {
	reasons := map[*Job]string{}
	for _, p := range v.Pairs.Pairs {
		reasons[p.Origin] = v.reason(p)
	}
	for _, orphan := range v.Pairs.Orphans {
		reasons[orphan] = v.reason(OrphanPair(orphan))
	}
	for _, f := range v.Clusters {
		for _, j := range f.Jobs {
			if _, known := reasons[j]; !known {
				reasons[j] = v.reason(Pair{Origin: j})
			}
		}
	}
	return reasons
}

func (v *Inventory) reason(p Pair) string {
	switch o := p.Origin; {
	case o == nil:
	case o.Status.IsFinished() && len(p.Current()) == 0:
		return ""
	case o.Suspended && o.Queue() == "" && len(p.Mirrors) == 0:
		return "suspended by its user"
	case len(p.Mirrors) == 0 && o.ManagedBy.IsBuiltIn() && (o.Queue() == "" || o.Status == delegation.Running):
		return ""
	}
	return v.follow(p).Summary
}
