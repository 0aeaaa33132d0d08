package read

import (
	"context"
	"errors"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// factsOf returns empty facts of a reachable cluster.
func factsOf(c *fleet.Cluster) *inspect.Facts {
	identity := c.Identity()
	return &inspect.Facts{Context: c.Context, ClusterUID: identity.UID, NamespaceUIDs: identity.Namespaces, Gaps: map[inspect.Part]error{}}
}

// listInto reads the objects of a cluster into facts, and records which ones match the query's
// labels. Unreadable kinds become gaps. It returns an error if nothing could be read. later, unless
// nil, receives the Jobs whose status depends on Workloads.
func listInto(ctx context.Context, f *inspect.Facts, c *fleet.Cluster, q Query, later func(claimable)) error {
	if take := later; take != nil {
		later = func(j claimable) {
			f.Jobs = append(f.Jobs, j.job)
			take(j)
		}
	}
	var err error
	f.Namespace = q.namespace(c)
	f.Kinds, err = q.Served(ctx, c)
	f.AddGap(inspect.PartKinds, err)
	if q.LabelSelector != "" {
		var failed error
		if f.Selected, failed = selectedUIDs(ctx, c, q, f.Kinds); failed != nil {
			return failed
		}
		q.LabelSelector = ""
	}
	err = listKinds(ctx, c, q, q.listed(f.Kinds), err, func(j inspect.Job) { f.Jobs = append(f.Jobs, &j) }, later)
	f.SortJobs()
	return addListed(f, err)
}

// addListed turns the failed parts of a list into gaps. It returns an error if nothing could be
// read.
func addListed(f *inspect.Facts, err error) error {
	var partial *ListError
	if !errors.As(err, &partial) {
		return err
	}
	for _, gap := range partial.gaps() {
		f.AddGap(gap.Part, gap.Err)
	}
	return nil
}
