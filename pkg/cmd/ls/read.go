package ls

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

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

// listJudged lists Jobs with what others on all clusters tell of them: the codes of what
// check would find, if they can be judged, and why they are where they are.
func (o *listOptions) listJudged(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address, steady *rules.Steady, isJudged bool) (list *inspect.OwnerList, others []*inspect.Job) {
	inventory := read.Read(ctx, f, read.Want{Jobs: &o.query, Evidence: true, Addresses: addresses, Now: o.Clock.Now})
	var judgment rules.Judgment
	var codes map[inspect.Ref][]string
	if isJudged {
		judgment = steady.Keep(o.Clock.Now(), rules.Judge(inventory, rules.All(), rules.Options{Grace: util.DefaultGrace}))
		codes = judgment.Codes()
	}
	var briefs map[*inspect.Job]answer.Brief
	if o.merged {
		briefs = answer.Jobs(inventory, judgment.Findings)
	}
	for _, facts := range inventory.Clusters {
		for _, j := range facts.Jobs {
			j.Findings = codes[inspect.RefOf(j)]
			if isJudged && j.Findings == nil && len(facts.Gaps) == 0 {
				// Not everything is judged where something may not be looked at.
				j.Findings = []string{}
			}
			if brief, isKnown := briefs[j]; isKnown {
				j.Reason, j.Message = &brief.Reason, &brief.Message
			}
		}
	}
	mirrors := o.mergedOf(inventory)
	list, others = inventory.Owners(func(j *inspect.Job) bool { return o.filter.Matches(j) && !mirrors.Has(j) })
	for _, n := range judgment.NotJudged {
		// A Job that is not listed would look well.
		if n.Part != "" && n.Concerns(o.filter.Findings) {
			list.Errors = append(list.Errors, n.Error())
		}
	}
	return list, others
}

// mergedOf are the mirrors that are not listed beside their origins, which are.
func (o *listOptions) mergedOf(inventory *inspect.Inventory) sets.Set[*inspect.Job] {
	if !o.merged {
		return nil
	}
	listed := sets.New[*inspect.Job]()
	for _, facts := range inventory.Clusters {
		for _, j := range facts.Jobs {
			if facts.Selects(j) && o.filter.Matches(j) {
				listed.Insert(j)
			}
		}
	}
	return inventory.Merged(listed.Has)
}
