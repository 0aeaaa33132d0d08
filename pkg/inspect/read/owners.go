package read

import (
	"context"
	"errors"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Owners lists Jobs by owner, and keeps only what the list shows. If it only counts, its memory use
// does not grow with the number of Jobs. others are the Jobs that the filter rejects, which may be
// mirrors of the listed ones; none if it only counts.
func Owners(ctx context.Context, f *fleet.Fleet, q Query, filter inspect.Filter, countOnly bool) (list *inspect.OwnerList, others []*inspect.Job) {
	q = q.Across(ctx, f)
	distinct := f.Distinct()
	var tallies []*inspect.Tally
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*inspect.Tally, error) {
		tally := &inspect.Tally{CountOnly: countOnly, Distinct: distinct}
		err := List(ctx, c, q, func(j inspect.Job) {
			if filter.Matches(&j) {
				tally.Add(j)
			} else {
				tally.Hide(j)
			}
		})
		if partial := (*ListError)(nil); errors.As(err, &partial) {
			tally.Partial(partial.gaps())
			err = nil
		}
		return tally, err
	}) {
		tally := a.Value
		if tally == nil {
			tally = &inspect.Tally{}
		}
		tally.Context, tally.Err = a.Context, a.Err
		tallies = append(tallies, tally)
	}
	return inspect.Merge(tallies), inspect.Hidden(tallies)
}
