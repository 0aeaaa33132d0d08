package orphans

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// dispatcher is a management cluster, with its known workers and mirrors.
type dispatcher struct {
	*inspect.Facts
	// contexts has the context that certainly reaches each of its
	// MultiKueueClusters, by name, "" if unknown.
	contexts map[string]string
	// isWhole is whether its MultiKueueClusters could be read and the context
	// of each is known.
	isWhole bool
	// workers are the contexts that reach any of its MultiKueueClusters.
	workers sets.Set[string]
	// hasRun are the contexts on which it has mirrors.
	hasRun sets.Set[string]
	// names are the names with which it has labeled objects.
	names inspect.OriginNames
}

// at returns the MultiKueueClusters that a context certainly reaches.
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

// multiKueue has what MultiKueue created on the clusters of a fleet.
type multiKueue struct {
	*view.View
	dispatchers []*dispatcher
	// hasUnread is whether some clusters that were not read may be management
	// clusters. A missing object may be on one of them.
	hasUnread bool
	// submitted are the names of all origins of MultiKueue.
	submitted sets.Set[inspect.ObjectName]
}

func newMultiKueue(v *view.View) *multiKueue {
	e := &multiKueue{View: v, submitted: submittedNames(v)}
	for _, f := range v.Clusters() {
		clusters, ok := v.MultiKueueClusters(f)
		if len(clusters) == 0 && !v.Dispatches(f) {
			continue
		}
		d := &dispatcher{Facts: f, contexts: map[string]string{}, isWhole: ok, workers: sets.New[string](), hasRun: sets.New[string](), names: v.OriginNames(f)}
		for _, c := range clusters {
			d.contexts[c.Name] = ""
			context := v.ContextOf(f, c.Name)
			if context != "" {
				d.workers.Insert(context)
			}
			if v.IsContextProven(f, c.Name) {
				d.contexts[c.Name] = context
			}
			d.isWhole = d.isWhole && d.contexts[c.Name] != ""
		}
		e.dispatchers = append(e.dispatchers, d)
	}
	for d, x := range e.mirrors() {
		d.hasRun.Insert(x.mirror.Context)
	}
	e.hasUnread = slices.ContainsFunc(v.UnreadContexts(), func(context string) bool {
		return !slices.ContainsFunc(e.dispatchers, func(d *dispatcher) bool { return d.workers.Has(context) })
	})
	return e
}

// submittedNames returns the names of all origins of MultiKueue. They are
// found once for all rules.
func submittedNames(v *view.View) sets.Set[inspect.ObjectName] {
	return view.Once(v, submittedKey{}, func() sets.Set[inspect.ObjectName] {
		submitted := sets.Set[inspect.ObjectName]{}
		for _, p := range v.Pairs() {
			if view.IsMultiKueues(p) {
				submitted.Insert(inspect.NameOf(p.Origin))
			}
		}
		return submitted
	})
}

// submittedKey is the key under which submittedNames caches its result for
// all rules.
type submittedKey struct{}

// dispatcher returns the management cluster of a context, nil if it is none.
func (e *multiKueue) dispatcher(context string) *dispatcher {
	for _, d := range e.dispatchers {
		if d.Context == context {
			return d
		}
	}
	return nil
}

// createdMirror is a mirror that a management cluster created for an origin.
type createdMirror struct {
	inspect.Pair
	mirror *inspect.Job
}

// jobs returns the origin and the mirror.
func (x createdMirror) jobs() []*inspect.Job { return []*inspect.Job{x.Origin, x.mirror} }

// mirrors returns the mirrors that were created for existing origins, not for
// older ones with the same names.
func (e *multiKueue) mirrors() iter.Seq2[*dispatcher, createdMirror] {
	return func(yield func(*dispatcher, createdMirror) bool) {
		for _, p := range e.Pairs() {
			d := e.dispatcher(p.Origin.Context)
			if d == nil || !view.IsMultiKueues(p) {
				continue
			}
			for _, m := range p.Mirrors {
				if m.Is(inspect.ByMultiKueue) && !yield(d, createdMirror{p, m.Job}) {
					return
				}
			}
		}
	}
}

// originalOf returns the Workload of which a Workload on a worker is a copy. known is
// whether it was found, or looked for on all clusters that could have it.
func (e *multiKueue) originalOf(worker *inspect.Facts, namespace, name string) (manager *inspect.Facts, w *kueue.Workload, known bool) {
	for _, d := range e.dispatchers {
		if w := original(e.View, d.Facts, worker, namespace, name); w != nil {
			return d.Facts, w, true
		}
	}
	known = !e.hasUnread
	for _, f := range e.Clusters() {
		if w := original(e.View, f, worker, namespace, name); w != nil {
			return f, w, true
		}
		has, hasAnswered := e.HasKueue(f)
		_, hasWorkloads := e.Workload(f, namespace, name)
		wasAsked := has || f.NoKueue
		known = known && (f == worker || wasAsked && hasAnswered && hasWorkloads)
	}
	return nil, nil, known
}

// isCutOff reports whether a management cluster certainly has no
// MultiKueueCluster that points to a context.
func (d *dispatcher) isCutOff(context string) bool {
	return d.isWhole && len(d.at(context)) == 0
}

// original returns the Workload on a manager of which a Workload on a worker
// is the copy. It returns nil without such a Workload, or if it is a copy itself.
func original(v *view.View, manager, worker *inspect.Facts, namespace, name string) *kueue.Workload {
	w, _ := v.Workload(manager, namespace, name)
	if manager == worker || w == nil || w.Labels[delegation.MultiKueueOriginLabel] != "" {
		return nil
	}
	return w
}
