package ls

import (
	"context"
	"errors"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// listEach lists every cluster.
func (o *listOptions) listEach(ctx context.Context, f *fleet.Fleet) []*inspect.Tally {
	repeats := !f.Distinct()
	var tallies []*inspect.Tally
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*inspect.Tally, error) {
		return o.listOne(ctx, c, &inspect.Tally{CountOnly: o.summary, Repeats: repeats})
	}) {
		tally := a.Value
		if tally == nil {
			tally = &inspect.Tally{}
		}
		tally.Context, tally.Err = a.Context, a.Err
		tallies = append(tallies, tally)
	}
	return tallies
}

// listOne is what is asked of each cluster.
func (o *listOptions) listOne(ctx context.Context, c *fleet.Cluster, tally *inspect.Tally) (*inspect.Tally, error) {
	err := read.List(ctx, c, o.query, func(j inspect.Job) {
		if o.filter.Matches(&j) {
			tally.Add(j)
		} else {
			tally.Hide(j)
		}
	})
	if partial := (*read.ListError)(nil); errors.As(err, &partial) {
		tally.Partial(partial.All())
		err = nil
	}
	return tally, err
}

// findMirrors sets the mirrors of the Jobs in a list. isJudged is whether all Jobs were
// read for it, and not only those that the labels select.
func (o *listOptions) findMirrors(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address, list *inspect.OwnerList, hidden []*inspect.Job, isJudged bool) {
	isComplete := o.isComplete(f, addresses, len(list.Errors) > 0 || !isJudged && o.query.LabelSelector != "")
	read.Mirrors(ctx, f, list.All(), hidden, addresses, isComplete)
}

// findDispatchers sets who looks after the Jobs that are dispatched, unless that was
// read along with what they were judged by.
func (o *listOptions) findDispatchers(ctx context.Context, f *fleet.Fleet, list *inspect.OwnerList, isKnown bool) {
	jobs := list.All()
	if !isKnown {
		read.Dispatchers(ctx, f, jobs, o.Clock.Now)
	}
	o.table.Dispatchers = slices.ContainsFunc(jobs, (*inspect.Job).IsDispatched)
}

// isComplete tells for a namespace whether a listing holds all Jobs that there
// are. isPartial is that some may be hidden anyway: by a label selector, since not all
// of their origins' labels go along with mirrors, or by an error.
func (o *listOptions) isComplete(f *fleet.Fleet, addresses []kubecontext.Address, isPartial bool) func(string) bool {
	if isPartial || o.query.FieldSelector != "" || !read.HoldsAll(addresses, f.Contexts()) {
		return func(string) bool { return false }
	}
	return func(namespace string) bool { return o.looksAt(f, namespace) }
}

// looksAt says whether a namespace is listed on every cluster.
func (o *listOptions) looksAt(f *fleet.Fleet, namespace string) bool {
	isElsewhere := func(c *fleet.Cluster) bool { return c.Namespace != namespace }
	return o.query.AllNamespaces || !slices.ContainsFunc(f.Clusters(), isElsewhere)
}

// showsFindings says whether the output has a place for them.
func (o *listOptions) showsFindings() bool {
	return !o.summary && (o.format.Wide() || !o.format.IsTable() && !o.format.Is("name"))
}

// holdsAll says whether the listing looks at the same namespaces on all contexts
// there are. Else what it lacks may be where it did not look, and nothing is
// judged.
func (o *listOptions) holdsAll(f *fleet.Fleet, addresses []kubecontext.Address) bool {
	clusters := f.Clusters()
	return o.query.FieldSelector == "" && read.HoldsAll(addresses, f.Contexts()) &&
		len(clusters) > 0 && o.looksAt(f, clusters[0].Namespace)
}

// listJudged lists Jobs with the codes of what check would find.
func (o *listOptions) listJudged(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address) []*inspect.Tally {
	inventory := read.All(ctx, f, o.query, addresses, o.Clock.Now)
	codes := rules.Judge(inventory, rules.All(), rules.Options{Grace: util.DefaultGrace}).Codes()
	var tallies []*inspect.Tally
	for _, facts := range inventory.Clusters {
		tally := &inspect.Tally{Context: facts.Context, Err: facts.Err}
		for _, j := range facts.Jobs {
			j.Findings = codes[inspect.RefOf(j)]
			if j.Findings == nil && len(facts.Gaps) == 0 {
				// Not everything is judged where something may not be looked at.
				j.Findings = []string{}
			}
			if facts.Selects(j) && o.filter.Matches(j) {
				tally.Add(*j)
			} else {
				tally.Hide(*j)
			}
		}
		for _, part := range append(facts.KindParts(), inspect.PartKinds) {
			if err := facts.Gaps[part]; err != nil {
				tally.Partial([]error{err})
			}
		}
		if claims := facts.Gaps[inspect.PartWorkloads]; tally.Err == nil && errors.Is(claims, inspect.ErrClaimsUnknown) {
			tally.Err = kubecontext.InContext(facts.Context, "", claims)
		}
		tallies = append(tallies, tally)
	}
	return tallies
}
