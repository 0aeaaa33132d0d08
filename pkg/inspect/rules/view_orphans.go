package rules

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
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
	// marks are those of what it has been seen to make.
	marks marks
}

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

// multiKueue is all that MultiKueue has on the clusters of a fleet.
type multiKueue struct {
	*View
	dispatchers []*dispatcher
	// hides is whether there are clusters that were not read and may be management
	// clusters, so that what is not there may be on one of them.
	hides bool
	// submitted are the names of all origins of MultiKueue.
	submitted sets.Set[inspect.ObjectName]
}

func newMultiKueue(v *View) *multiKueue {
	e := &multiKueue{View: v, submitted: v.submittedNames()}
	for _, f := range v.Clusters() {
		clusters, ok := v.MultiKueueClusters(f)
		if len(clusters) == 0 && !v.Dispatches(f) {
			continue
		}
		d := &dispatcher{Facts: f, contexts: map[string]string{}, isWhole: ok, hasRun: sets.New[string](), marks: v.marksOf(f.Context)}
		for _, c := range clusters {
			d.contexts[c.Name] = v.ContextOf(f, c.Name)
			d.isWhole = d.isWhole && d.contexts[c.Name] != ""
		}
		e.dispatchers = append(e.dispatchers, d)
	}
	for d, x := range e.mirrors() {
		d.hasRun.Insert(x.mirror.Context)
	}
	if slices.ContainsFunc(e.dispatchers, func(d *dispatcher) bool { return len(d.marks) == 0 }) {
		e.seeCopies()
	}
	e.hides = slices.ContainsFunc(v.Unseen(), func(context string) bool {
		return !slices.ContainsFunc(e.dispatchers, func(d *dispatcher) bool { return len(d.at(context)) > 0 })
	})
	return e
}

// submittedNames are the names of all origins of MultiKueue, found once for all rules.
func (v *View) submittedNames() sets.Set[inspect.ObjectName] {
	if v.shared.submitted == nil {
		v.shared.submitted = sets.Set[inspect.ObjectName]{}
		for _, p := range v.Pairs() {
			if isMultiKueues(p) {
				v.shared.submitted.Insert(inspect.NameOf(p.Origin))
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

// made is a mirror that a management cluster has made for an origin.
type made struct {
	inspect.Pair
	mirror *inspect.Job
}

// jobs are both of them.
func (x made) jobs() []*inspect.Job { return []*inspect.Job{x.Origin, x.mirror} }

// mirrors are those that were made for the very origins that are there now.
func (e *multiKueue) mirrors() iter.Seq2[*dispatcher, made] {
	return func(yield func(*dispatcher, made) bool) {
		for _, p := range e.Pairs() {
			d := e.dispatcher(p.Origin.Context)
			if d == nil || !isMultiKueues(p) {
				continue
			}
			for _, m := range p.Mirrors {
				if m.Is(inspect.ByMultiKueue) && !yield(d, made{p, m.Job}) {
					return
				}
			}
		}
	}
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

// isCutOff says whether a management cluster certainly has no MultiKueueCluster
// that leads to a context.
func (d *dispatcher) isCutOff(context string) bool {
	return d.isWhole && len(d.at(context)) == 0
}
