package trace

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/tracing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

func (o *traceOptions) Run(ctx context.Context) error {
	f, err := o.flags.Reach(ctx, o.Environment, o.contexts, o.kinds())
	if err != nil {
		return err
	}
	o.table.NowOn = f.Now
	addresses, confirmer, known := o.flags.Addresses(o.contexts, f), o.flags.NewConfirmer(), &knownTraces{}
	display := &util.Display[*inspect.TraceList]{
		Environment: o.Environment, IsTable: o.format.IsTable(), Write: o.write,
		Show: func(list *inspect.TraceList) error { return o.show(ctx, list, f) },
		Read: func(ctx context.Context) (*inspect.TraceList, error) {
			return o.read(ctx, f, addresses, confirmer, known)
		},
	}
	if o.watch {
		return display.Run(ctx, f)
	}
	once := display.Read
	display.Read = func(ctx context.Context) (*inspect.TraceList, error) {
		return util.ReadTwice(ctx, o.Clock, f, confirmer, once)
	}
	return display.Once(ctx)
}

// kinds returns the names of the wanted kinds.
func (o *traceOptions) kinds() []string {
	if o.wanted.Name == "" {
		return o.query.Kinds
	}
	return []string{cmp.Or(o.wanted.Kind, delegation.Job().Name)}
}

// read reads once. The list has complete traces if a Job is wanted, and brief ones of all pairs
// otherwise.
func (o *traceOptions) read(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address, confirmer *rules.Confirmer, known *knownTraces) (*inspect.TraceList, error) {
	if len(o.filenames) > 0 {
		return o.readFiles(ctx, f, addresses)
	}
	if o.wanted.Name == "" {
		return o.readPairs(ctx, f, addresses), nil
	}
	tracer := tracing.Tracer{Wanted: o.wanted, Addresses: addresses, Reach: o.CommandReach(o.flags), Confirmer: confirmer, InSnapshot: o.flags.From != "", Now: o.Clock.Now}
	traced := tracer.Read(ctx, f)
	unread := known.jobs.UnreadIn(traced.Inventory)
	switch {
	case len(traced.Pairs) > 0:
		known.jobs.See(traced.Inventory, traced.Pairs...)
		known.list = traced.List
		return traced.List, nil
	case len(unread) > 0:
		return known.without(traced.Inventory, unread), nil
	}
	return nil, util.NotFound(ctx, o.Environment, f, o.wanted, traced.Inventory)
}

// knownTraces are the Jobs of earlier readings, with their last traces.
type knownTraces struct {
	jobs inspect.Tracked
	list *inspect.TraceList
}

// without returns the last traces, for Jobs whose contexts do not answer.
func (k *knownTraces) without(v *inspect.Inventory, unread []string) *inspect.TraceList {
	list := inspect.NewTraceList()
	list.Errors = v.Errors()
	for i := range k.list.Items {
		t := k.list.Items[i]
		t.Errors = list.Errors
		t.Unchecked = append(slices.Clone(t.Unchecked), inspect.Unchecked{What: inspect.Everything, Contexts: unread, Reason: "it does not answer; this is the last known state", Cluster: true})
		list.Items = append(list.Items, t)
	}
	return list
}

// readPairs reads brief traces of all pairs. MultiKueue's configuration shows which clusters are managers, and
// which workers were not read: mirrors, and orphans, may run there.
func (o *traceOptions) readPairs(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address) *inspect.TraceList {
	inventory := read.Read(ctx, f, read.Want{Jobs: &o.query, Mirrors: true, Config: true, Addresses: addresses, Now: o.Clock.Now})
	list := chain.Traces(inventory)
	if o.orphans {
		chain.KeepOrphans(inventory, list)
		list.Unchecked = append(list.Unchecked, inventory.UnprovenOrigins(func(*inspect.Job) bool { return true })...)
		isUnproven := func(t inspect.Trace) bool { return !inventory.IsOrphan(&t.Mirrors[0].Job) }
		if unseen := inventory.UnreadContexts(); len(unseen) > 0 && slices.ContainsFunc(list.Items, isUnproven) {
			util.Report(o.ErrOut, "note: the origins may be in unread contexts: %s", strings.Join(unseen, ", "))
		}
	}
	list.Unchecked = append(list.Unchecked, inventory.UnreadWorkers()...)
	return list
}

// show prints the traces, and returns an error for the contexts that were not read.
func (o *traceOptions) show(ctx context.Context, list *inspect.TraceList, f *fleet.Fleet) error {
	if err := o.Print(func(w io.Writer) error { return o.write(w, list) }, func(w io.Writer) error { return o.writeTable(w, list) }); err != nil {
		return err
	}
	isList := o.wanted.Name == "" && len(o.filenames) == 0
	switch {
	case o.format.IsTable() && !isList:
		util.ReportUnneeded(o.ErrOut, unmentioned(list), o.TableNow(o.table).Width)
	case !o.format.OmitsUnchecked(o.table.NoHeaders):
	case isList:
		util.ReportUnchecked(o.ErrOut, list.Unchecked)
	default:
		util.ReportUnneeded(o.ErrOut, unmentioned(list), 0)
		if o.format.Is(printers.SVG) {
			// Like the table, the picture mentions what was not checked.
			break
		}
		for i := range list.Items {
			util.ReportUnchecked(o.ErrOut, list.Items[i].Unchecked)
		}
	}
	if isList && len(list.Items) == 0 && len(list.Errors) == 0 {
		util.NoteSelection(ctx, o.ErrOut, f, &o.query, o.format.IsTable())
	}
	return errors.Join(o.fitError(list), o.incomplete(list, f))
}

// unmentioned returns the errors that no answer of a list mentions.
func unmentioned(list *inspect.TraceList) []inspect.ContextError {
	return slices.DeleteFunc(slices.Clone(list.Errors), func(e inspect.ContextError) bool {
		return slices.ContainsFunc(list.Items, func(t inspect.Trace) bool {
			return slices.ContainsFunc(t.Unchecked, func(u inspect.Unchecked) bool {
				return slices.Contains(u.Contexts, e.Context) && strings.Contains(e.Message, u.Reason)
			})
		})
	})
}

// incomplete returns an error if an answer depends on something that could not be read. A context
// that no answer needed does not count.
func (o *traceOptions) incomplete(list *inspect.TraceList, f *fleet.Fleet) error {
	isOfFiles := len(o.filenames) > 0
	if o.wanted.Name == "" && !isOfFiles {
		return errors.Join(util.Partial(list.Errors, f), util.Incomplete(list.Unchecked))
	}
	for i := range list.Items {
		t := &list.Items[i]
		if isOfFiles && slices.ContainsFunc(t.Placements, func(p inspect.Placement) bool { return isUnreadable(&p) }) {
			if err := util.Partial(list.Errors, f); err != nil {
				return err
			}
		}
		if err := util.Incomplete(t.Unchecked); err != nil {
			return err
		}
	}
	return nil
}

func (o *traceOptions) write(w io.Writer, list *inspect.TraceList) error {
	switch {
	case o.format.Is(mermaid):
		_, err := io.WriteString(w, printers.Mermaid(list.Items))
		return err
	case o.format.Is(printers.SVG):
		return printers.TraceSVG(w, list.Items, o.TableNow(o.table))
	case o.format.IsPerJob():
		return o.format.PrintTraces(w, list.Items)
	case !o.format.IsTable():
		return o.format.PrintObject(w, document(o.wanted.Name != "" || len(o.filenames) > 0, list))
	}
	return o.writeTable(w, list)
}

// writeTable writes the list of pairs, or each Job's trace.
func (o *traceOptions) writeTable(w io.Writer, list *inspect.TraceList) error {
	if o.wanted.Name == "" && len(o.filenames) == 0 {
		if len(list.Items) == 0 && len(list.Errors) == 0 && len(list.Unchecked) == 0 {
			util.Report(o.ErrOut, "%s", o.nothingFound())
			return nil
		}
		return printers.Traces(w, list, o.TableNow(o.table))
	}
	for i := range list.Items {
		t := list.Items[i]
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := printers.Trace(w, &t, o.TableNow(o.table)); err != nil {
			return err
		}
	}
	return nil
}

// document returns the object for JSON, YAML and templates: a Trace if a name or a file selects
// one Job, a TraceList otherwise.
func document(isOne bool, list *inspect.TraceList) runtime.Object {
	if isOne && len(list.Items) == 1 {
		return &list.Items[0]
	}
	return list
}

func (o *traceOptions) nothingFound() string {
	what := "No delegated " + util.NounFor(o.query) + ", and no mirrors without an origin, found"
	if o.orphans {
		what = "No mirrors without an origin found"
	}
	if o.query.AllNamespaces {
		return what + " in any namespace"
	}
	return what + " in namespace " + o.contexts[0].Namespace
}
