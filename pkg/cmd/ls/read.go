package ls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// findMirrors sets the mirrors of the Jobs in a list. isJudged is set if all Jobs were read for
// it, and not only those that the labels select.
func (o *listOptions) findMirrors(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address, list *inspect.OwnerList, hidden []*inspect.Job, isJudged bool) {
	isSelected := !isJudged && o.query.LabelSelector != ""
	isComplete := o.isComplete(f, addresses, len(list.Errors) > 0 || isSelected)
	read.Mirrors(ctx, f, list.All(), hidden, addresses, isComplete, func(name, namespace string) bool {
		isUnread := slices.ContainsFunc(list.Errors, func(e inspect.ContextError) bool { return e.Context == name })
		return !isSelected && !isUnread && o.query.FieldSelector == "" && slices.ContainsFunc(f.Clusters(), func(c *fleet.Cluster) bool {
			return c.Context == name && (o.query.AllNamespaces || c.Namespace == namespace)
		})
	})
}

// findDispatchers sets the dispatchers of dispatched Jobs, unless isKnown is set because the
// judgment has read them.
func (o *listOptions) findDispatchers(ctx context.Context, f *fleet.Fleet, list *inspect.OwnerList, isKnown bool) {
	jobs := list.All()
	if !isKnown {
		read.Dispatchers(ctx, f, jobs, o.Clock.Now)
	}
	o.table.Dispatchers = slices.ContainsFunc(jobs, (*inspect.Job).IsDispatched)
}

// isComplete returns a function that reports whether a listing has all Jobs of a namespace.
// isPartial is set if some Jobs may be missing anyway: through a label selector, since not all
// labels of origins are on their mirrors, or through an error.
func (o *listOptions) isComplete(f *fleet.Fleet, addresses []kubecontext.Address, isPartial bool) func(string) bool {
	if isPartial || o.query.FieldSelector != "" || !read.HoldsAll(addresses, f.Contexts()) {
		return func(string) bool { return false }
	}
	return func(namespace string) bool { return o.readsNamespace(f, namespace) }
}

// refusedSelector returns an error if every reached context refuses the field selector for all kinds, which is
// then a mistake of the user and not an outage. It returns nil if a context accepts it for one of them.
func (o *listOptions) refusedSelector(f *fleet.Fleet, errs []inspect.ContextError) error {
	if o.query.FieldSelector == "" {
		return nil
	}
	var reason string
	for _, c := range f.Clusters() {
		refused := 0
		for i := range errs {
			if e := &errs[i]; e.Context == c.Context && e.Code == kubecontext.CodeBadRequest {
				refused, reason = refused+1, e.Message
			}
		}
		if refused < max(1, len(o.query.Kinds)) {
			return nil
		}
	}
	if reason == "" {
		return nil
	}
	return fmt.Errorf("--field-selector %q: %s", o.query.FieldSelector, reason)
}

// readsNamespace reports whether a namespace is listed on every cluster.
func (o *listOptions) readsNamespace(f *fleet.Fleet, namespace string) bool {
	isElsewhere := func(c *fleet.Cluster) bool { return c.Namespace != namespace }
	return o.query.AllNamespaces || !slices.ContainsFunc(f.Clusters(), isElsewhere)
}

// showsFindings reports whether the output has a place for findings.
func (o *listOptions) showsFindings() bool {
	return !o.summary && !o.isByRow() && (o.format.Wide() || !o.format.IsTable() && !o.format.Is("name"))
}

// holdsAll reports whether the listing reads the same namespaces on all contexts. If not, missing
// objects may be elsewhere, and nothing is judged.
func (o *listOptions) holdsAll(f *fleet.Fleet, addresses []kubecontext.Address) bool {
	return read.HoldsAll(addresses, f.Contexts()) && o.isWholeNamespace(f)
}

// isWholeNamespace reports whether the listing reads all Jobs of the same namespaces on its contexts.
func (o *listOptions) isWholeNamespace(f *fleet.Fleet) bool {
	clusters := f.Clusters()
	return o.query.FieldSelector == "" && len(clusters) > 0 && o.readsNamespace(f, clusters[0].Namespace)
}

// listJudged lists Jobs with results that need the related objects of all clusters: the codes of
// check's findings, if isJudged is set, and the reasons of the Jobs' states.
func (o *listOptions) listJudged(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address, confirmer *rules.Confirmer, isJudged bool) (list *inspect.OwnerList, others []*inspect.Job) {
	inventory := read.Read(ctx, f, read.Want{Jobs: &o.query, Evidence: true, Classes: true, InSnapshot: o.flags.From != "", Pods: o.reasons, Addresses: addresses, Now: o.Clock.Now})
	var judgment rules.Judgment
	var codes map[inspect.Ref][]string
	// Rules know what a listing of some contexts lacks, as in trace.
	if isJudged || o.reasons && o.isWholeNamespace(f) {
		judgment = confirmer.Keep(o.Clock.Now(), rules.Judge(inventory, rules.All(), rules.Options{Grace: util.DefaultGrace}))
	}
	if isJudged {
		codes = judgment.Codes()
	}
	var briefs map[*inspect.Job]answer.Brief
	if o.reasons {
		briefs = o.briefs(ctx, f, addresses, inventory, &judgment)
	}
	for _, facts := range inventory.Clusters {
		for _, j := range facts.Jobs {
			j.Findings = codes[inspect.RefOf(j)]
			if isJudged && j.Findings == nil && len(facts.Gaps) == 0 {
				// With unread parts, not all rules are checked.
				j.Findings = []string{}
			}
			if brief, isKnown := briefs[j]; isKnown {
				o.setReason(j, brief)
			}
		}
	}
	list, others = inventory.Owners(o.filter.Matches)
	list.Unchecked = unreadWorkers(inventory, o.filter.Matches, briefs)
	if isJudged && (o.showsFindings() || len(o.filter.Findings) > 0) {
		list.Errors = append(list.Errors, o.notJudged(&judgment)...)
	}
	return list, others
}

// unreadWorkers returns the workers that were not read, or not completely, and that the reasons of picked Jobs depend on, each
// once. The errors of a list have the contexts that did not answer, or not with their Jobs.
func unreadWorkers(v *inspect.Inventory, picks func(*inspect.Job) bool, briefs map[*inspect.Job]answer.Brief) (unread []inspect.Unchecked) {
	add := func(u inspect.Unchecked) {
		isSame := func(o inspect.Unchecked) bool { return o.What == u.What && slices.Equal(o.Contexts, u.Contexts) }
		if !slices.ContainsFunc(unread, isSame) {
			unread = append(unread, u)
		}
	}
	isReported := func(u *inspect.Unchecked) bool {
		f := v.Facts(strings.Join(u.Contexts, ""))
		return f != nil && (f.Err != nil || f.Gaps[inspect.PartJobs] != nil)
	}
	for _, f := range v.Clusters {
		for _, j := range f.Jobs {
			if len(briefs[j].Unchecked) > 0 && f.Selects(j) && picks(j) {
				for _, u := range briefs[j].Unchecked {
					if u.IsOfWorker() && !slices.Contains(u.Contexts, j.Context) && !isReported(&u) {
						add(u)
					}
				}
			}
		}
	}
	slices.SortStableFunc(unread, func(a, b inspect.Unchecked) int {
		return cmp.Or(strings.Compare(a.What, b.What), slices.Compare(a.Contexts, b.Contexts))
	})
	return unread
}

// notJudged returns errors for the wanted codes that were not checked: a Job that is not listed would
// look healthy. A reason shows by itself if it is unknown.
func (o *listOptions) notJudged(judgment *rules.Judgment) (errs []inspect.ContextError) {
	for _, n := range judgment.NotJudged {
		if n.Part != "" && n.Concerns(o.filter.Findings) {
			errs = append(errs, n.Error())
		}
	}
	return errs
}

// briefs returns the reasons of the Jobs' statuses. As in trace, a finding explains a Job at any age, and
// quotas explain the Jobs that wait in a queue.
func (o *listOptions) briefs(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address, inventory *inspect.Inventory, judgment *rules.Judgment) map[*inspect.Job]answer.Brief {
	briefs := answer.Jobs(inventory, judgment.All(func(string) bool { return true }))
	if pairs, queues, workloads := answer.Waiting(inventory, briefs); len(pairs) > 0 {
		withQuotas := read.Read(ctx, f, read.Want{
			Capacity: true, Queues: queues, Workloads: workloads, Known: inventory, Addresses: addresses, Now: o.Clock.Now,
		})
		answer.Explain(withQuotas, pairs, judgment.All(answer.IsAboutOthers), judgment.About, briefs)
	}
	return briefs
}

// setReason sets why a Job has its status and, with --finding, what it holds.
func (o *listOptions) setReason(j *inspect.Job, brief answer.Brief) {
	if brief.Cost != nil && len(o.filter.Findings) > 0 {
		brief.Message += " Holds " + brief.Cost.Text() + "."
	}
	j.Reason, j.Message = &brief.Reason, &brief.Message
}

// folds reports whether mirrors of listed origins are left out.
func (o *listOptions) folds() bool { return !o.mirrors && len(o.contexts) > 1 }

// isByRow reports whether a watch shows rows of Jobs that change. Otherwise it shows whole lists,
// since what a Job waits for may change any row.
func (o *listOptions) isByRow() bool { return o.watch && !o.reasons }

// noteMissing records the names for which no Job was found, selected or not.
func (o *listOptions) noteMissing(list *inspect.OwnerList, others []*inspect.Job) {
	o.missing = nil
	all := slices.Concat(list.All(), others)
	for i, n := range o.filter.Names {
		if !slices.ContainsFunc(all, n.Matches) {
			o.missing = append(o.missing, o.names[i])
		}
	}
}

// missingError returns an error for each name without a Job, with the contexts that were read.
func (o *listOptions) missingError(ctx context.Context, list *inspect.OwnerList, f *fleet.Fleet) error {
	contexts := f.Contexts()
	var unread []string
	for _, e := range list.Errors {
		if slices.Contains(contexts, e.Context) && !slices.Contains(unread, e.Context) {
			unread = append(unread, e.Context)
		}
	}
	readContexts := slices.DeleteFunc(slices.Clone(contexts), func(name string) bool { return slices.Contains(unread, name) })
	if len(readContexts) == 0 {
		return nil
	}
	var errs []error
	for _, w := range o.missing {
		if !o.query.AllNamespaces {
			w.Namespace = f.Clusters()[0].Namespace
		}
		errs = append(errs, util.NotFoundIn(ctx, f, w, readContexts, unread))
	}
	return errors.Join(errs...)
}
