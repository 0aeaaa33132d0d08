package rules

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// dispatcher is a management cluster, with what it is known to have done.
type dispatcher struct {
	*inspect.Facts
	// contexts are those that lead to its MultiKueueClusters, by these' names; ""
	// where that cannot be told.
	contexts map[string]string
	// isWhole is whether its MultiKueueClusters could be read, and it is known where
	// each of them is.
	isWhole bool
	// hasRun are the contexts on which it has mirrors.
	hasRun sets.Set[string]
	// origins are the names by which it has been seen to mark its mirrors.
	origins map[string]seen
}

// seen is when something was seen for the first and the last time.
type seen struct{ first, last time.Time }

// at are the MultiKueueClusters that a context leads to.
func (d *dispatcher) at(context string) []string {
	var names []string
	for name, c := range d.contexts {
		if c == context {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// use notes that a mirror was marked.
func (d *dispatcher) use(origin string, created time.Time) {
	s, known := d.origins[origin]
	if !known || created.Before(s.first) {
		s.first = created
	}
	if created.After(s.last) {
		s.last = created
	}
	d.origins[origin] = s
}

// origin is the name that it marks its mirrors by now, "" if that is not known.
func (d *dispatcher) origin() string {
	newest := ""
	for name, s := range d.origins {
		if newest == "" || s.last.After(d.origins[newest].last) {
			newest = name
		}
	}
	return newest
}

// defaultOrigin is how MultiKueue marks what it makes unless multiKueue.origin of its
// configuration says otherwise.
const defaultOrigin = "multikueue"

// mayMark says whether a management cluster that is known by some marks makes what has
// a certain one. Where nothing that it made is found, that is known of the default alone,
// and not for certain: others may dispatch to the same worker, which we have no context for.
func mayMark[T any](known map[string]T, origin string) (may, certain bool) {
	if len(known) == 0 {
		return origin == defaultOrigin, false
	}
	_, may = known[origin]
	return may, true
}

// multiKueue is all that MultiKueue has on the clusters of a fleet.
type multiKueue struct {
	*View
	dispatchers []*dispatcher
	// hides is whether there are clusters that were not read and may be management
	// clusters, so that what is not there may be on one of them.
	hides bool
	// submitted are the names of all origins of MultiKueue.
	submitted sets.Set[objectName]
}

func newMultiKueue(v *View) *multiKueue {
	e := &multiKueue{View: v, submitted: v.submittedNames()}
	for _, f := range v.Clusters() {
		clusters, ok := v.MultiKueueClusters(f)
		if len(clusters) == 0 && !v.Dispatches(f) {
			continue
		}
		d := &dispatcher{Facts: f, contexts: map[string]string{}, isWhole: ok, hasRun: sets.New[string](), origins: map[string]seen{}}
		for _, c := range clusters {
			d.contexts[c.Name] = v.ContextOf(f, c.Name)
			d.isWhole = d.isWhole && d.contexts[c.Name] != ""
		}
		e.dispatchers = append(e.dispatchers, d)
	}
	for _, p := range v.Pairs() {
		if !isMultiKueues(p) {
			continue
		}
		d := e.dispatcher(p.Origin.Context)
		for _, m := range p.Mirrors {
			if d != nil && m.Is(inspect.ByMultiKueue) {
				d.hasRun.Insert(m.Job.Context)
				d.use(m.Job.Marks.MultiKueueOrigin, m.Job.CreationTimestamp.Time)
			}
		}
	}
	if slices.ContainsFunc(e.dispatchers, func(d *dispatcher) bool { return len(d.origins) == 0 }) {
		e.seeCopies()
	}
	e.hides = slices.ContainsFunc(v.Unseen(), func(context string) bool {
		return !slices.ContainsFunc(e.dispatchers, func(d *dispatcher) bool { return len(d.at(context)) > 0 })
	})
	return e
}

// submittedNames are the names of all origins of MultiKueue, found once for all rules.
func (v *View) submittedNames() sets.Set[objectName] {
	if v.shared.submitted == nil {
		v.shared.submitted = sets.Set[objectName]{}
		for _, p := range v.Pairs() {
			if isMultiKueues(p) {
				v.shared.submitted.Insert(nameOf(p.Origin, p.Origin.Namespace, p.Origin.Name))
			}
		}
	}
	return v.shared.submitted
}

// dispatcher is the management cluster that a context leads to, nil if it is none.
func (e *multiKueue) dispatcher(context string) *dispatcher {
	for _, d := range e.dispatchers {
		if d.Context == context {
			return d
		}
	}
	return nil
}

// home finds the Workload that a copy on a worker was made of. known is whether
// it was found, or looked for wherever it could be.
func (e *multiKueue) home(worker *inspect.Facts, namespace, name string) (manager *inspect.Facts, w *kueue.Workload, known bool) {
	for _, d := range e.dispatchers {
		if w := e.original(d.Facts, worker, namespace, name); w != nil {
			return d.Facts, w, true
		}
	}
	known = !e.hides
	for _, f := range e.Clusters() {
		if w := e.original(f, worker, namespace, name); w != nil {
			return f, w, true
		}
		has, hasAnswered := e.HasKueue(f)
		_, hasWorkloads := e.Workload(f, namespace, name)
		wasAsked := has || f.NoKueue
		known = known && (f == worker || wasAsked && hasAnswered && hasWorkloads)
	}
	return nil, nil, known
}

func (e *multiKueue) original(f, worker *inspect.Facts, namespace, name string) *kueue.Workload {
	w, _ := e.Workload(f, namespace, name)
	if f == worker || w == nil || w.Labels[delegation.MultiKueueOriginLabel] != "" {
		return nil
	}
	return w
}

// isCutOff says whether a management cluster certainly has no MultiKueueCluster
// that leads to a context.
func (d *dispatcher) isCutOff(context string) bool {
	return d.isWhole && len(d.at(context)) == 0
}
