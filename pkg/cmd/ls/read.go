package ls

import (
	"context"
	"errors"
	"slices"

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
	if o.reasons {
		briefs = answer.Jobs(inventory, judgment.Findings)
		if pairs, queues, workloads := answer.Waiting(inventory, briefs); len(pairs) > 0 {
			with := read.Read(ctx, f, read.Want{
				Room: true, Queues: queues, Workloads: workloads, Known: inventory, Addresses: addresses, Now: o.Clock.Now,
			})
			answer.Explain(with, pairs, judgment.All(answer.IsOrphan), judgment.About, briefs)
		}
	}
	for _, facts := range inventory.Clusters {
		for _, j := range facts.Jobs {
			j.Findings = codes[inspect.RefOf(j)]
			if isJudged && j.Findings == nil && len(facts.Gaps) == 0 {
				// Not everything is judged where something may not be looked at.
				j.Findings = []string{}
			}
			if brief, isKnown := briefs[j]; isKnown {
				o.setReason(j, brief)
			}
		}
	}
	list, others = inventory.Owners(o.filter.Matches)
	for _, n := range judgment.NotJudged {
		// A Job that is not listed would look well. A reason says by itself what is unknown.
		if (o.showsFindings() || len(o.filter.Findings) > 0) && n.Part != "" && n.Concerns(o.filter.Findings) {
			list.Errors = append(list.Errors, n.Error())
		}
	}
	return list, others
}

// setReason says of a Job why it is where it is, and with --finding what it holds.
func (o *listOptions) setReason(j *inspect.Job, brief answer.Brief) {
	if brief.Cost != nil && len(o.filter.Findings) > 0 {
		brief.Message += " Holds " + brief.Cost.Text() + "."
	}
	j.Reason, j.Message = &brief.Reason, &brief.Message
}

// folds says whether mirrors are left out whose origins are listed.
func (o *listOptions) folds() bool { return !o.mirrors && len(o.contexts) > 1 }

// noteMissing notes the names of which no Job was found, selected or not.
func (o *listOptions) noteMissing(list *inspect.OwnerList, others []*inspect.Job) {
	o.missing = nil
	all := slices.Concat(list.All(), others)
	for i, n := range o.filter.Names {
		if !slices.ContainsFunc(all, n.Matches) {
			o.missing = append(o.missing, o.names[i])
		}
	}
}

// missed is an error for each name of which no Job was found where it was looked for.
func (o *listOptions) missed(list *inspect.OwnerList, f *fleet.Fleet) error {
	looked := f.Contexts()
	var unread []string
	for _, e := range list.Errors {
		if i := slices.Index(looked, e.Context); i >= 0 && !slices.Contains(unread, e.Context) {
			unread = append(unread, e.Context)
		}
	}
	looked = slices.DeleteFunc(slices.Clone(looked), func(name string) bool { return slices.Contains(unread, name) })
	if len(looked) == 0 {
		return nil
	}
	var errs []error
	for _, w := range o.missing {
		if !o.query.AllNamespaces {
			w.Namespace = f.Clusters()[0].Namespace
		}
		errs = append(errs, util.NotFoundIn(w, looked, unread))
	}
	return errors.Join(errs...)
}
