package history

import (
	"context"
	"io"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/history"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// Run reads and prints.
func (o *historyOptions) Run(ctx context.Context) error {
	f, err := o.flags.Reach(ctx, o.Environment, o.contexts, o.query.Kinds)
	if err != nil {
		return err
	}
	inventory := read.Read(ctx, f, read.Want{Jobs: &o.query, Past: true, Addresses: o.flags.Addresses(o.contexts, f), Now: o.Clock.Now})
	if err := util.Interrupted(ctx); err != nil {
		return err
	}
	options := history.Options{By: o.by, IsSelected: o.query.LabelSelector != ""}
	if o.since > 0 {
		options.Since = o.Clock.Now().Add(-o.since)
	}
	list := history.List(inventory, options)
	o.jobs.SortValues(list.Items)
	o.groups.SortValues(list.Groups)
	if err := o.Print(func(w io.Writer) error { return o.write(w, list) }, func(w io.Writer) error { return o.writeTable(w, list) }); err != nil {
		return err
	}
	table := o.TableNow(o.table)
	if o.format.OmitsUnchecked(table.NoHeaders) {
		util.ReportUnchecked(o.ErrOut, list.Unchecked)
	}
	if table.NoHeaders && o.format.IsTable() && list.Total.Jobs == 0 {
		util.Report(o.ErrOut, "%s", printers.HistorySummary(list, table)[0])
	}
	if list.Total.Jobs == 0 && !list.IsUnread {
		util.NoteSelection(ctx, o.ErrOut, f, &o.query, o.format.IsTable())
	}
	return util.Incomplete(list.Unchecked)
}

func (o *historyOptions) write(w io.Writer, list *inspect.HistoryList) error {
	switch {
	case o.format.Is(printers.CSV):
		return printers.HistoryCSV(w, list, o.table.NoHeaders)
	case o.format.Is(printers.SVG):
		return printers.HistorySVG(w, list, o.TableNow(o.table))
	case o.format.IsPerJob():
		return o.format.PrintPast(w, list)
	case !o.format.IsTable():
		return o.format.PrintObject(w, list)
	}
	return o.writeTable(w, list)
}

func (o *historyOptions) writeTable(w io.Writer, list *inspect.HistoryList) error {
	return printers.History(w, list, o.TableNow(o.table))
}
