package rules

import (
	"maps"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// marks are the names by which a management cluster has been seen to mark what it made, each
// with when it did so for the first and the last time.
type marks map[string]seen

// seen is when something was seen for the first and the last time.
type seen struct{ first, last time.Time }

// defaultOrigin is how MultiKueue marks what it makes unless multiKueue.origin of its
// configuration says otherwise.
const defaultOrigin = "multikueue"

// use notes that something was marked.
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

// now is the name that the management cluster marks by now, "" if that is not known.
func (m marks) now() string {
	newest := ""
	for name, s := range m {
		if newest == "" || s.last.After(m[newest].last) {
			newest = name
		}
	}
	return newest
}

// isNow says whether a name is that by which the management cluster marks now, as far as
// that is known.
func (m marks) isNow(origin string) bool { return len(m) == 0 || m.now() == origin }

// may says whether the management cluster makes what has a certain mark. Where nothing that
// it made is found, that is known of the default alone, and not for certain: others may
// dispatch to the same worker, which we have no context for.
func (m marks) may(origin string) (may, certain bool) {
	if len(m) == 0 {
		return origin == defaultOrigin, false
	}
	_, may = m[origin]
	return may, true
}

// marksOf are the marks of the mirrors that the management cluster of a context has made. What
// is added to them is the caller's own.
func (v *View) marksOf(context string) marks {
	pairs := v.Pairs()
	if v.shared.marks == nil {
		v.shared.marks = map[string]marks{}
		for _, p := range pairs {
			for _, m := range p.Mirrors {
				if !m.Is(inspect.ByMultiKueue) {
					continue
				}
				of := v.shared.marks[p.Origin.Context]
				if of == nil {
					of = marks{}
					v.shared.marks[p.Origin.Context] = of
				}
				of.use(m.Job.Marks.MultiKueueOrigin, m.Job.CreationTimestamp.Time)
			}
		}
	}
	if known := v.shared.marks[context]; known != nil {
		return maps.Clone(known)
	}
	return marks{}
}

// addCopies adds the marks of the copies of a manager's Workloads on a worker, for a mirror
// comes late and may never come.
func (m marks) addCopies(v *View, manager, worker *inspect.Facts) {
	workloads, _ := v.Workloads(worker)
	for _, w := range workloads {
		origin := w.Labels[delegation.MultiKueueOriginLabel]
		if origin != "" && v.original(manager, worker, w.Namespace, w.Name) != nil {
			m.use(origin, w.CreationTimestamp.Time)
		}
	}
}

// original is the Workload on a manager that one of that name on a worker is the copy of;
// nil if there is none, or if it is a copy itself.
func (v *View) original(manager, worker *inspect.Facts, namespace, name string) *kueue.Workload {
	w, _ := v.Workload(manager, namespace, name)
	if manager == worker || w == nil || w.Labels[delegation.MultiKueueOriginLabel] != "" {
		return nil
	}
	return w
}
