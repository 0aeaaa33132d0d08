package read

import (
	"context"
	"errors"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// AllKinds is the name that stands for every kind that a cluster serves.
const AllKinds = "all"

// Served finds out which kinds a cluster serves, of those that are named as
// delegation.Kind.IsNamed takes it; AllKinds is every kind that has managedBy, in
// the table or not, and none is Job, for which nobody is asked. Each kind is told
// in the version that is served.
//
// A kind that is not served is left out, and one that is served without the field
// too. Where the API, or a part of it, could not be looked at, there is an error
// besides the kinds that were found; who may not look has those that every cluster has.
func Served(ctx context.Context, c *fleet.Cluster, names []string) ([]delegation.Kind, error) {
	if onlyJobs(names) {
		return []delegation.Kind{delegation.Job()}, nil
	}
	s := newSurvey(ctx, c, names)
	s.run(ctx)
	return s.kinds, s.err()
}

// Across has a query look for mirrors, too, of kinds that are in no table, and that only
// some clusters of the fleet serve with managedBy: which these are the others have to be
// told. Where the query is for known kinds alone, nobody is asked.
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
			q.lent = append(q.lent, slices.DeleteFunc(slices.Clone(s.kinds), func(k delegation.Kind) bool { return !k.Discovered })...)
		}
	}
	for _, s := range q.surveys {
		s.lend(q.lent)
	}
	return q
}

// Served finds out which kinds to read of a cluster: those that the function of that name
// returns, and those that are served without the field, of which there may be mirrors.
func (q Query) Served(ctx context.Context, c *fleet.Cluster) ([]delegation.Kind, error) {
	if q.OnlyJobs() {
		return []delegation.Kind{delegation.Job()}, nil
	}
	s := q.surveys[c.Context]
	if s == nil {
		s = newSurvey(ctx, c, q.Kinds)
		s.run(ctx)
		s.lend(q.lent)
	}
	return slices.Concat(s.kinds, s.without), s.err()
}

// OnlyJobs says whether a query is for no other kind than Job.
func (q Query) OnlyJobs() bool { return onlyJobs(q.Kinds) }

// onlyJobs says whether names mean no other kind than Job.
func onlyJobs(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return name == AllKinds || !delegation.Job().IsNamed(name) })
}

// Unserved returns those names by which no cluster that answered serves a kind, and
// why there may be one all the same: the contexts that did not answer, or not wholly.
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
