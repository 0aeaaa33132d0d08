package placement

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// forDispatch judges a Job that waits to be dispatched by this plugin, on
// every cluster except its own. It reports only visible obstacles. The
// dispatch command finds others by dry runs.
func (a *Surroundings) forDispatch(o *inspect.Job) []inspect.Placement {
	r := Request{Namespace: o.Namespace, PodSets: podSetsOf(o)}
	var all []inspect.Placement
	for _, f := range a.inventory.Clusters {
		if f.Context != o.Context {
			all = append(all, *a.judgeUnqueued(f, o, &r))
		}
	}
	return all
}

// judgeUnqueued judges the request of an origin on a cluster where no queue decides.
func (a *Surroundings) judgeUnqueued(f *inspect.Facts, o *inspect.Job, r *Request) *inspect.Placement {
	s := newSite(f, r, a, role{}, nil)
	if f.Err != nil {
		s.condition(inspect.ConditionReached, inspect.No, "no")
		s.decide(inspect.Unknown, inspect.Unreadable, "%s", s.because(f.Err))
		return s.Placement
	}
	s.condition(inspect.ConditionReached, inspect.Yes, "yes")
	namespace, isKnown := (*inspect.Namespace)(nil), false
	if f.Environment != nil {
		namespace, isKnown = f.Environment.Namespaces[r.Namespace]
	}
	isOther := func(j *inspect.Job) bool { return inspect.NameOf(j) == inspect.NameOf(o) && j.OriginUID() != o.UID }
	switch {
	case slices.ContainsFunc(f.Jobs, isOther):
		s.decide(inspect.Never, inspect.NameTaken, "another %s of this name exists there", o.Kind)
	case !s.takesObjects(namespace, isKnown):
	case !isKnown:
		s.decide(inspect.Unknown, inspect.Unreadable, "unknown whether namespace %s exists; dispatch checks before it creates anything", r.Namespace)
	default:
		s.decide(inspect.Unknown, inspect.NothingInTheWay, "no obstacle found; dispatch checks before it creates anything")
	}
	s.countNodes()
	return s.Placement
}
