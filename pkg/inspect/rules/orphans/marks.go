package orphans

import (
	"maps"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// marks has the names with which a management cluster has marked its mirrors,
// each with the first and the last time.
type marks map[string]period

// period has the first and the last time at which a name was used.
type period struct{ first, last time.Time }

// use records that a name was used.
func (m marks) use(origin string, created time.Time) {
	s, known := m[origin]
	if !known || created.Before(s.first) {
		s.first = created
	}
	if created.After(s.last) {
		s.last = created
	}
	m[origin] = s
}

// current returns the name that the management cluster uses at present, "" if
// unknown. Times are whole seconds, so two names may have been used last.
func (m marks) current() string {
	newest, isOnly := "", true
	for name, s := range m {
		switch {
		case newest == "" || s.last.After(m[newest].last):
			newest, isOnly = name, true
		case s.last.Equal(m[newest].last):
			isOnly = false
		}
	}
	if !isOnly {
		return ""
	}
	return newest
}

// isCurrent reports whether the management cluster uses a name at present. It is
// true if that is unknown.
func (m marks) isCurrent(origin string) bool {
	now := m.current()
	return now == "" || now == origin
}

// mayCreate reports whether the management cluster creates objects with a mark. If
// none of its objects was found, may is true only for the default name, and
// not certain: another management cluster that we have no context for may
// dispatch to the same worker.
func (m marks) mayCreate(origin string) (may, certain bool) {
	if len(m) == 0 {
		return origin == kueue.DefaultOrigin, false
	}
	_, may = m[origin]
	return may, true
}

// marksOf returns the marks of the mirrors that the management cluster of a
// context has created. The caller may add to them.
func marksOf(v *view.View, context string) marks {
	pairs := v.Pairs()
	all := view.Once(v, marksKey{}, func() map[string]marks { return marksOfMirrors(pairs) })
	if known := all[context]; known != nil {
		return maps.Clone(known)
	}
	return marks{}
}

// marksKey is the key under which marksOf caches its result for all rules.
type marksKey struct{}

// marksOfMirrors returns the marks of mirrors by the context of their
// management cluster.
func marksOfMirrors(pairs []inspect.Pair) map[string]marks {
	all := map[string]marks{}
	for _, p := range pairs {
		for _, m := range p.Mirrors {
			if !m.Is(inspect.ByMultiKueue) {
				continue
			}
			of := all[p.Origin.Context]
			if of == nil {
				of = marks{}
				all[p.Origin.Context] = of
			}
			of.use(m.Job.Marks.MultiKueueOrigin, m.Job.CreationTimestamp.Time)
		}
	}
	return all
}

// addCopies adds the marks of the copies of a manager's Workloads on a
// worker, because mirrors are created late, or never.
func (m marks) addCopies(v *view.View, manager, worker *inspect.Facts) {
	workloads, _ := v.Workloads(worker)
	for _, w := range workloads {
		origin := w.Labels[delegation.MultiKueueOriginLabel]
		if origin != "" && original(v, manager, worker, w.Namespace, w.Name) != nil {
			m.use(origin, w.CreationTimestamp.Time)
		}
	}
}

// original returns the Workload on a manager of which a Workload on a worker
// is the copy. It returns nil if there is none, or if it is a copy itself.
func original(v *view.View, manager, worker *inspect.Facts, namespace, name string) *kueue.Workload {
	w, _ := v.Workload(manager, namespace, name)
	if manager == worker || w == nil || w.Labels[delegation.MultiKueueOriginLabel] != "" {
		return nil
	}
	return w
}
