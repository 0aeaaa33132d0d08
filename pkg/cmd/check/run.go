package check

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/tracing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// Run checks once, or again whenever something changes.
func (o *checkOptions) Run(ctx context.Context) error {
	f, err := o.flags.Reach(ctx, o.Environment, o.contexts, o.query.Kinds)
	if err != nil {
		return err
	}
	o.table.NowOn = f.Now
	addresses, confirmer := o.flags.Addresses(o.contexts, f), o.flags.NewConfirmer()
	display := &util.Display[*inspect.FindingList]{
		Environment: o.Environment, IsTable: o.format.IsTable(), Write: o.write,
		Show: func(list *inspect.FindingList) error { return o.show(ctx, list, f) },
		Read: func(ctx context.Context) (*inspect.FindingList, error) { return o.read(ctx, f, addresses, confirmer) },
	}
	if o.watch {
		o.table.Compact = true
		if o.notifier != nil {
			ctx, cancel := context.WithCancel(ctx)
			defer o.notifier.start(ctx)()
			defer cancel()
			display.Notes = o.notifier.notes
		}
		return display.Run(ctx, f)
	}
	once := display.Read
	display.Read = func(ctx context.Context) (*inspect.FindingList, error) {
		return util.ReadTwice(ctx, o.Clock, f, confirmer, once)
	}
	return display.Once(ctx)
}

// read checks once.
func (o *checkOptions) read(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address, confirmer *rules.Confirmer) (*inspect.FindingList, error) {
	inventory := read.Read(ctx, f, read.Want{Jobs: &o.query, Evidence: true, Classes: true, InSnapshot: o.flags.From != "", Addresses: addresses, Now: o.Clock.Now})
	if !o.query.AllNamespaces && !hasJobs(inventory) {
		if err := util.MissingNamespace(ctx, f, util.WithA); err != nil {
			return nil, err
		}
	}
	wanted := o.named.findWanted(ctx, o.Environment, f, o.names, o.query.LabelSelector != "", !o.query.AllNamespaces, inventory)
	o.missing = errors.Join(wanted.missing...)
	if o.missing != nil && (o.watch || len(wanted.missing) == len(o.names)) {
		return nil, o.missing
	}
	judgment := confirmer.Keep(o.Clock.Now(), rules.Judge(inventory, o.rules, o.judging))
	list := inspect.NewFindingList()
	list.Items, list.Suppressed = judgment.Select(wanted.concerns, wanted.isNamed), judgment.Suppressed(wanted.concerns)
	for _, n := range judgment.NotJudged {
		list.Errors = append(list.Errors, n.Error())
	}
	tracer := tracing.Tracer{Addresses: addresses, Reach: o.judging.Reach, Confirmer: confirmer, InSnapshot: o.flags.From != "", Now: o.Clock.Now}
	o.advise(ctx, f, inventory, list, judgment, wanted, &tracer)
	o.complete(ctx, f, list, &tracer)
	list.Summary = o.summary(inventory, list, judgment, wanted)
	isWanted := func(j *inspect.Job) bool { return wanted.has(inspect.OrphanPair(j)) }
	list.Unchecked = append(judgment.Unchecked(), inventory.UnknownOrigins(isWanted)...)
	list.Unchecked = append(list.Unchecked, inventory.UnprovenOrigins(isWanted)...)
	list.Unchecked = append(list.Unchecked, unreadWorkers(inventory, wanted)...)
	if o.notifier != nil {
		o.notifier.update(list)
	}
	return list, nil
}

// unreadWorkers returns the workers that were not read and that may run wanted Jobs. If all Jobs are wanted,
// orphans are, too: they may run on any worker. A worker that the user did not select is left out then,
// unless a Job depends on it.
func unreadWorkers(v *inspect.Inventory, wanted *wantedJobs) []inspect.Unchecked {
	var unread []inspect.Unchecked
	add := func(u inspect.Unchecked) {
		// The list already has the contexts that do not answer.
		isKnown := len(u.Contexts) > 0 && v.Facts(u.Contexts[0]) != nil
		if !isKnown && !slices.ContainsFunc(unread, func(o inspect.Unchecked) bool { return o.What == u.What }) {
			unread = append(unread, u)
		}
	}
	for _, u := range answer.WorkersUnread(v, wanted.has) {
		add(u)
	}
	if wanted.isAll {
		for _, u := range v.UnreadWorkers() {
			if u.Reason != inspect.NotSelected {
				add(u)
			}
		}
	}
	return unread
}

// hasJobs reports whether any Job was found.
func hasJobs(v *inspect.Inventory) bool {
	return slices.ContainsFunc(v.Clusters, func(f *inspect.Facts) bool { return len(f.Jobs) > 0 })
}

// advise gives findings whose fixes depend on quotas the same fixes as trace. The quotas of the
// workers are read only for such findings.
func (o *checkOptions) advise(ctx context.Context, f *fleet.Fleet, known *inspect.Inventory, list *inspect.FindingList, judgment rules.Judgment, wanted *wantedJobs, tracer *tracing.Tracer) {
	if !answer.NeedsQuotas(list.Items) {
		return
	}
	queues, workloads := answer.Places(known, list.Items)
	withQuotas := read.Read(ctx, f, read.Want{
		Capacity: true, Queues: queues, Workloads: workloads, Known: known, Addresses: tracer.Addresses, Now: o.Clock.Now,
	})
	o.renewFixes(withQuotas, list, wanted)
	readHolders := func(unread []inspect.Holder) answer.Holders { return tracer.ReadHolders(ctx, f, unread) }
	advised := answer.AdviseAll(withQuotas, list.Items, withSuppressed{judgment}, o.judging.Reach, readHolders)
	list.Items = []inspect.Finding{}
	for i := range advised {
		switch f := &advised[i]; {
		case !wanted.concerns(f):
		case judgment.Suppresses(*f):
			list.Suppressed = append(list.Suppressed, *f)
		default:
			list.Items = append(list.Items, *f)
		}
	}
	answer.ByCost(list.Items)
}

// withSuppressed is a judgment for which AdviseAll keeps suppressed findings, so that check can count them.
type withSuppressed struct{ rules.Judgment }

// Suppresses is false: check leaves out suppressed findings.
func (withSuppressed) Suppresses(inspect.Finding) bool { return false }

// maxCompleted is how many Jobs complete reads: each takes as many requests as a trace.
const maxCompleted = 20

// complete adds to findings what trace shows about their Jobs: it reads these Jobs by name, as trace does. Findings
// about more Jobs name the command instead.
func (o *checkOptions) complete(ctx context.Context, f *fleet.Fleet, list *inspect.FindingList, tracer *tracing.Tracer) {
	left := maxCompleted
	for i := range list.Items {
		found := &list.Items[i]
		if !answer.NeedsJob(found) {
			continue
		}
		if left == 0 {
			answer.PointToTrace(found, o.judging.Reach)
			continue
		}
		left--
		named := read.Wanted{Kind: found.Kind, Name: found.Name, Namespace: found.Namespace}
		v := read.Read(ctx, f, read.Want{Named: &named, Addresses: tracer.Addresses, Now: o.Clock.Now})
		checked := func(p inspect.Pair) map[string]*placement.Checked { return tracer.Check(ctx, f, v, p) }
		answer.Complete(v, found, checked, o.judging.Reach)
	}
}

// renewFixes replaces fixes that depend on quotas, now that the inventory has quotas.
func (o *checkOptions) renewFixes(withQuotas *inspect.Inventory, list *inspect.FindingList, wanted *wantedJobs) {
	quotaRules := slices.DeleteFunc(slices.Clone(o.rules), func(r rules.Rule) bool { return !answer.HasQuotaFixes(r.Code) })
	type key struct{ fingerprint, message string }
	renewed := map[key]inspect.Finding{}
	for _, f := range rules.Judge(withQuotas, quotaRules, o.judging).Select(wanted.concerns, wanted.isNamed) {
		renewed[key{f.Fingerprint, f.Message}] = f
	}
	for i := range list.Items {
		f := &list.Items[i]
		if withFixes, ok := renewed[key{f.Fingerprint, f.Message}]; ok {
			f.Fixes, f.Remedy = withFixes.Fixes, withFixes.Remedy
		}
	}
}

func (o *checkOptions) summary(v *inspect.Inventory, list *inspect.FindingList, judgment rules.Judgment, wanted *wantedJobs) inspect.CheckSummary {
	s := inspect.CheckSummary{Suppressed: len(list.Suppressed)}
	for i := range list.Items {
		switch list.Items[i].Severity {
		case inspect.Error:
			s.Errors++
		case inspect.Warning:
			s.Warnings++
		case inspect.Info:
			s.Infos++
		}
	}
	for _, p := range v.Pairs.Pairs {
		if wanted.has(p) {
			s.Jobs++
		}
	}
	for _, j := range v.Pairs.Orphans {
		if !j.IsPart() && !v.IsOrphan(j) && wanted.has(inspect.OrphanPair(j)) {
			s.Mirrors++
		}
	}
	for _, facts := range v.Clusters {
		if facts.Err == nil {
			s.Clusters++
		}
	}
	var period time.Duration
	s.Young, period = judgment.CountYoung(wanted.concerns)
	s.GraceSeconds = int(period.Seconds())
	return s
}

// show prints the findings and returns the error for the exit code.
func (o *checkOptions) show(ctx context.Context, list *inspect.FindingList, f *fleet.Fleet) error {
	if err := o.Print(func(w io.Writer) error { return o.write(w, list) }, func(w io.Writer) error { return o.writeTable(w, list) }); err != nil {
		return err
	}
	if o.format.OmitsUnchecked(o.table.NoHeaders) && !o.format.Is(junit) && !o.format.Is(sarif) {
		util.ReportUnchecked(o.ErrOut, list.Unchecked)
	}
	if o.table.NoHeaders && o.format.IsTable() && len(list.Items) == 0 {
		util.Report(o.ErrOut, "%s", printers.CheckSummary(list, o.table))
	}
	if isEmpty(list) {
		util.NoteSelection(ctx, o.ErrOut, f, &o.query, o.format.IsTable())
	}
	return errors.Join(o.missing, util.Verdict(list.Items, o.failOn), util.Incomplete(list.Unchecked))
}

// isEmpty reports whether there was nothing to check on the clusters that were read.
func isEmpty(list *inspect.FindingList) bool {
	s := list.Summary
	return s.Jobs == 0 && s.Mirrors == 0 && s.Young == 0 && s.Suppressed == 0 && len(list.Items) == 0 && s.Clusters > 0
}

func (o *checkOptions) write(w io.Writer, list *inspect.FindingList) error {
	switch {
	case o.format.Is(junit):
		return printers.JUnit(w, "check", list, o.rules, o.withPassed, util.Fails(o.failOn))
	case o.format.Is(sarif):
		return printers.SARIF(w, list, o.rules, util.Version())
	case o.format.IsPerJob():
		return o.format.PrintFindings(w, list.Items)
	case !o.format.IsTable():
		return o.format.PrintObject(w, list)
	}
	return o.writeTable(w, list)
}

func (o *checkOptions) writeTable(w io.Writer, list *inspect.FindingList) error {
	return printers.Findings(w, list, o.TableNow(o.table))
}
