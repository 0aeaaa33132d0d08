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
