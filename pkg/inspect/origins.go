package inspect

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// IsOrphan reports whether a mirror without an origin has certainly none: the cluster that created
// it was read. The mark of dispatch proves that cluster. For a mirror of MultiKueue, every context
// must have been read.
func (v *Inventory) IsOrphan(j *Job) bool {
	return v.LacksOrigin(j) && (j.OriginUID() != "" || len(v.UnreadContexts()) == 0)
}

// LacksOrigin reports whether the cluster that created a mirror without an origin was read, so that
// the origin does not exist there. MultiKueue's mirrors do not name their manager, and a manager
// that was not read may dispatch to the same worker. So a manager that was read must use the
// mirror's label, and dispatch to its worker according to its MultiKueueClusters, which were read.
func (v *Inventory) LacksOrigin(j *Job) bool {
	if j.OriginUID() != "" {
		return slices.ContainsFunc(v.Clusters, func(f *Facts) bool { return f.lacksObject(j.Marks.Origin, j) })
	}
	return !v.isSubmitted(NameOf(j)) && slices.ContainsFunc(v.Clusters, func(f *Facts) bool {
		return f.Err == nil && f.Gaps[PartClusters] == nil && f.Context != j.Context && f.isManager() && f.IsRequested(j.Row()) && v.usesOrigin(f, j.MultiKueueOrigin()) && v.dispatchesTo(f, j.Context)
	})
}

// lacksObject reports whether the object of a place, which was not found, certainly does not exist: this
// is its cluster, and all objects of the kind of like in its namespace, or the place, were read.
func (f *Facts) lacksObject(place delegation.Place, like *Job) bool {
	if f.Err != nil || place.On(f.Cluster()) != delegation.CertainlySame {
		return false
	}
	row := like.Row()
	isListed := f.Namespace == "" || f.Namespace == place.Namespace
	return f.Absent[NameLike(like, place.Namespace, place.Name)] ||
		isListed && f.IsRequested(row) && row.Selector == "" && f.Gaps[PartOf(row)] == nil
}

// AddAbsent records that the object of a place does not exist.
func (f *Facts) AddAbsent(kind *delegation.Kind, place delegation.Place) {
	if f.Absent == nil {
		f.Absent = map[ObjectName]bool{}
	}
	name := ObjectName{NamespacedName: types.NamespacedName{Namespace: place.Namespace, Name: place.Name}}
	name.Group, name.Kind = kind.Resource.Group, kind.Kind
	f.Absent[name] = true
}

// KnowsManagerOf reports whether a cluster that may have the origin of a mirror was read.
// MultiKueue's mirrors do not name it, so any management cluster counts.
func (v *Inventory) KnowsManagerOf(j *Job) bool {
	return slices.ContainsFunc(v.Clusters, func(f *Facts) bool { return f.Err == nil && v.mayHaveOrigin(f, j) })
}

// mayHaveOrigin reports whether a cluster that was read may have the origin of a mirror.
func (v *Inventory) mayHaveOrigin(f *Facts, j *Job) bool {
	if j.Marks != nil && !j.Marks.Origin.IsZero() {
		return j.Marks.Origin.On(f.Cluster()) == delegation.CertainlySame
	}
	return f.isManager()
}

// isSubmitted reports whether MultiKueue has an origin of this name. If several managers have one,
// a mirror belongs to none of them for certain.
func (v *Inventory) isSubmitted(name ObjectName) bool {
	if v.submitted == nil {
		v.submitted = sets.New[ObjectName]()
		for _, p := range v.Pairs.Pairs {
			if o := p.Origin; o.ManagedBy == delegation.MultiKueue || o.ManagedBy.IsBuiltIn() && o.Row().IsUnmanaged() {
				v.submitted.Insert(NameOf(o))
			}
		}
	}
	return v.submitted.Has(name)
}

// usesOrigin reports whether a manager labels its mirrors with this multiKueue.origin.
func (v *Inventory) usesOrigin(manager *Facts, origin string) bool {
	may, _ := v.OriginNames(manager).MayLabel(origin)
	return may
}

// dispatchesTo reports whether a manager certainly dispatches to a context, or has done so.
func (v *Inventory) dispatchesTo(manager *Facts, context string) bool {
	return v.workerContexts(manager).Has(context) || slices.ContainsFunc(v.Pairs.Pairs, func(p Pair) bool {
		return p.Origin.Context == manager.Context && slices.ContainsFunc(p.Mirrors, func(m Mirror) bool { return m.Is(ByMultiKueue) && m.Job.Context == context })
	})
}

// isManager reports whether a cluster has MultiKueue's configuration, or delegates to it.
func (f *Facts) isManager() bool {
	return f.Kueue.HasMultiKueue() || slices.ContainsFunc(f.Jobs, func(j *Job) bool { return j.ManagedBy == delegation.MultiKueue })
}

// UnknownOrigins returns what is unknown of wanted mirrors: their origins, if no cluster that
// may have them was read.
func (v *Inventory) UnknownOrigins(isWanted func(*Job) bool) []Unchecked {
	return v.uncheckedOrigins("no manager was read", func(j *Job) bool { return isWanted(j) && !v.KnowsManagerOf(j) })
}

// UnprovenOrigins returns the origins of wanted mirrors that none of the managers that were read has
// certainly created, and those in namespaces that were not read.
func (v *Inventory) UnprovenOrigins(isWanted func(*Job) bool) []Unchecked {
	isUnproven := func(j *Job) bool { return isWanted(j) && v.KnowsManagerOf(j) && !v.LacksOrigin(j) }
	return append(
		v.uncheckedOrigins("the managers that were read may not have created it", func(j *Job) bool { return j.OriginUID() == "" && isUnproven(j) }),
		v.uncheckedOrigins("their namespaces were not read", func(j *Job) bool { return j.OriginUID() != "" && isUnproven(j) })...)
}

func (v *Inventory) uncheckedOrigins(reason string, isUnknown func(*Job) bool) []Unchecked {
	n, kind := 0, ""
	for _, j := range v.Pairs.Orphans {
		if !j.IsPart() && isUnknown(j) {
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
	return []Unchecked{{What: what, Contexts: []string{}, Reason: reason}}
}

// OriginNames are the values of multiKueue.origin with which a management cluster has labeled mirrors, and
// Workloads on workers, each with the period of its use. There are several if the value was changed.
type OriginNames map[string]UsePeriod

// UsePeriod is when a name was used first and last.
type UsePeriod struct{ First, Last time.Time }

// use records that a name was used. A mirror that has lost its label has none.
func (n OriginNames) use(name string, created time.Time) {
	if name == "" {
		return
	}
	p, known := n[name]
	if !known || created.Before(p.First) {
		p.First = created
	}
	if created.After(p.Last) {
		p.Last = created
	}
	n[name] = p
}

// Current returns the name that the management cluster uses at present, "" if
// unknown. Times are whole seconds, so two names may have been used last.
func (n OriginNames) Current() string {
	newest, isOnly := "", true
	for name, p := range n {
		switch {
		case newest == "" || p.Last.After(n[newest].Last):
			newest, isOnly = name, true
		case p.Last.Equal(n[newest].Last):
			isOnly = false
		}
	}
	if !isOnly {
		return ""
	}
	return newest
}

// IsCurrent reports whether the management cluster uses a name at present. It is
// true if that is unknown.
func (n OriginNames) IsCurrent(name string) bool {
	now := n.Current()
	return now == "" || now == name
}

// MayLabel reports whether the management cluster labels objects with a name. If
// none of its objects was found, may is true only for the default name, and
// not certain: another management cluster that we have no context for may
// dispatch to the same worker.
func (n OriginNames) MayLabel(name string) (may, certain bool) {
	if len(n) == 0 {
		return name == kueue.DefaultOrigin, false
	}
	_, may = n[name]
	return may, true
}

// OriginNames returns the names with which a manager has labeled current mirrors and, because mirrors
// are created late or never, the copies of its Workloads. Callers must not change the result.
func (v *Inventory) OriginNames(manager *Facts) OriginNames {
	names, known := v.origins[manager.Context]
	if known {
		return names
	}
	names = OriginNames{}
	for _, p := range v.Pairs.Pairs {
		for _, m := range p.Mirrors {
			if p.Origin.Context == manager.Context && m.Is(ByMultiKueue) {
				names.use(m.Job.MultiKueueOrigin(), m.Job.CreationTimestamp.Time)
			}
		}
	}
	if manager.Kueue != nil {
		for _, w := range manager.Kueue.Workloads {
			if w.Labels[delegation.MultiKueueOriginLabel] != "" {
				// It is a copy itself.
				continue
			}
			for _, copied := range v.copiesOf(manager, w) {
				names.use(copied.Labels[delegation.MultiKueueOriginLabel], copied.CreationTimestamp.Time)
			}
		}
	}
	v.origins[manager.Context] = names
	return names
}
