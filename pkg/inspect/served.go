package inspect

import (
	"context"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// AllKinds is the name that stands for every kind that a cluster serves.
const AllKinds = "all"

// Served finds out which kinds a cluster serves, of those that are named as
// delegation.Kind.IsNamed takes it; AllKinds is every kind that has managedBy, in
// the table or not, and none is Job, for which nobody is asked. Each kind is told
// in the version that is served.
//
// A kind that is not served is left out. Where a part of the API could not be
// looked at, there is an error besides the kinds that were found.
func Served(ctx context.Context, c *fleet.Cluster, names []string) ([]delegation.Kind, error) {
	if onlyJobs(names) {
		return []delegation.Kind{delegation.Job()}, nil
	}
	var kinds []delegation.Kind
	for _, k := range delegation.Kinds() {
		isNamed := func(name string) bool { return k.IsNamed(name) || name == AllKinds && !k.IsUnmanaged() }
		if !slices.ContainsFunc(names, isNamed) {
			continue
		}
		version, err := servedVersion(ctx, c, k.Resource.Group, []string{k.Resource.Version})
		if err != nil {
			return kinds, err
		}
		if version != "" {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}

// onlyJobs says whether names mean no other kind than Job.
func onlyJobs(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return name == AllKinds || !delegation.Job().IsNamed(name) })
}
