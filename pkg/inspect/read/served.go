package read

import (
	"context"
	"errors"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// AllKinds means every kind that a cluster serves.
const AllKinds = "all"

// Served returns the kinds with these names that a cluster serves, in the served version. Names are
// those that delegation.Kind.IsNamed accepts. AllKinds is every kind with managedBy, known or not.
// No name means Job, which takes no request.
//
// Served omits kinds that are not served, or are served without the field. If a part of the API
// could not be read, it returns an error as well as the kinds found. A user without rights for
// discovery gets the kinds that every cluster has.
func Served(ctx context.Context, c *fleet.Cluster, names []string) ([]delegation.Kind, error) {
	if onlyJobs(names) {
		return []delegation.Kind{delegation.Job()}, nil
	}
	s := newSurvey(ctx, c, names)
	s.run(ctx)
	return s.kinds, s.err()
}

// Across extends a query to mirrors of unknown kinds that only some clusters serve with managedBy,
// so that the others are searched for them too. It makes no requests if the query is for known
// kinds only.
func (q Query) Across(ctx context.Context, f *fleet.Fleet) Query {
	if !slices.ContainsFunc(q.Kinds, isUnknown) {
		return q
	}
	q.surveys = map[string]*survey{}
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*survey, error) {
		s := newSurvey(ctx, c, q.Kinds)
		s.run(ctx)
		return s, context.Cause(ctx)
	}) {
		if s := a.Value; s != nil && a.Err == nil && s.unasked == nil {
			q.surveys[a.Context] = s
			q.shared = append(q.shared, slices.DeleteFunc(slices.Clone(s.kinds), func(k delegation.Kind) bool { return !k.Discovered })...)
		}
	}
	for _, s := range q.surveys {
		s.lend(q.shared)
	}
	return q
}

// Served returns the kinds to read from a cluster: those of the function Served, and those served
// without the field, which may have mirrors.
func (q Query) Served(ctx context.Context, c *fleet.Cluster) ([]delegation.Kind, error) {
	if q.OnlyJobs() {
		return []delegation.Kind{delegation.Job()}, nil
	}
	s := q.surveys[c.Context]
	if s == nil {
		s = newSurvey(ctx, c, q.Kinds)
		s.run(ctx)
		s.lend(q.shared)
	}
	return slices.Concat(s.kinds, s.without), s.err()
}

// OnlyJobs says whether a query is only for the kind Job.
func (q Query) OnlyJobs() bool { return onlyJobs(q.Kinds) }

// onlyJobs says whether names mean only the kind Job.
func onlyJobs(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return name == AllKinds || !delegation.Job().IsNamed(name) })
}

// Unserved returns the names for which no cluster serves a kind. errs are the contexts that may
// serve one nevertheless, because they did not answer completely.
func Unserved(ctx context.Context, f *fleet.Fleet, names []string) (unserved []string, errs []inspect.ContextError) {
	if onlyJobs(names) || slices.Contains(names, AllKinds) {
		return nil, nil
	}
	isServed, answered := map[string]bool{}, false
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) ([]delegation.Kind, error) { return Served(ctx, c, names) }) {
		var partial *GroupsError
		if a.Err != nil {
			errs = append(errs, inspect.NewContextError(a.Err))
		}
		answered = answered || a.Err == nil || errors.As(a.Err, &partial)
		for _, name := range names {
			isServed[name] = isServed[name] || slices.ContainsFunc(a.Value, func(k delegation.Kind) bool { return k.IsNamed(name) })
		}
	}
	for _, name := range names {
		if answered && !isServed[name] {
			unserved = append(unserved, name)
		}
	}
	return unserved, errs
}
