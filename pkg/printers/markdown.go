package printers

import (
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
)

// Markdown is the output format of tables for tickets and pages: GitHub Flavored Markdown.
const Markdown = "markdown"

// forMarkdown returns the options for tables in Markdown: without colour and with unlimited
// lines.
func (o TableOptions) forMarkdown() TableOptions {
	o.Color, o.Width, o.Height = false, 0, 0
	return o
}

// document is a page in Markdown: blocks separated by blank lines.
type document struct{ blocks []string }

func (d *document) paragraph(text string) {
	if text != "" {
		d.blocks = append(d.blocks, text)
	}
}

// heading adds a heading of the third level: pages and tickets have their own headings above.
func (d *document) heading(text string) { d.paragraph("### " + text) }

func (d *document) list(items []string) {
	for i := range items {
		items[i] = "- " + items[i]
	}
	d.paragraph(strings.Join(items, "\n"))
}

func (d *document) code(text string) { d.paragraph("```sh\n" + text + "\n```") }

// write writes the page.
func (d *document) write(w io.Writer) error { return writeLines(w, strings.Join(d.blocks, "\n\n")) }

// addTable adds a table with a row for each value, and adds nothing if there are no values.
// Columns of the wide table are left out unless o.Wide is set.
func addTable[T any](d *document, columns []column[T], values []T, o TableOptions) error {
	if len(values) == 0 {
		return nil
	}
	columns = visibleColumns(columns, o)
	var b strings.Builder
	t := tablewriter.NewTable(&b, tablewriter.WithConfig(rawCells(tw.Padding{Left: " ", Right: " "})), tablewriter.WithRenderer(renderer.NewMarkdown()))
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.title
	}
	t.Header(titles)
	for _, value := range values {
		cells := make([]string, len(columns))
		for i, c := range columns {
			if cells[i] = c.cell(value); !c.marked {
				cells[i] = literal(cells[i])
			}
			cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
		}
		if err := t.Append(cells); err != nil {
			return err
		}
	}
	if err := t.Render(); err != nil {
		return err
	}
	d.paragraph(strings.TrimSuffix(b.String(), "\n"))
	return nil
}

// literal escapes Markdown markup, so that a text from a cluster is neither a link nor HTML. A
// pipe is escaped only in tables, where it ends a cell.
func literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_[<&~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// prose returns a text with its commands as code.
func prose(text command.Prose) string {
	var b strings.Builder
	for _, part := range command.Prose(Safe(string(text))).Parts() {
		if part.IsCommand {
			b.WriteString("`" + part.Text + "`")
		} else {
			b.WriteString(literal(part.Text))
		}
	}
	return b.String()
}

// markdownColumn returns a column whose cells are already Markdown.
func markdownColumn[T any](title string, cell func(T) string) column[T] {
	return column[T]{title: title, cell: cell, marked: true}
}

// addErrors adds the contexts that were not read.
func (d *document) addErrors(errs []inspect.ContextError) {
	var items []string
	for _, e := range inspect.FoldRefusals(errs) {
		items = append(items, literal(Safe(e.Context)+": "+Safe(e.Message)))
	}
	if len(items) > 0 {
		d.paragraph("Not read completely:")
		d.list(items)
	}
}

// ownersMarkdown writes one table with a column for the owner.
func ownersMarkdown(w io.Writer, list *inspect.OwnerList, o TableOptions) error {
	o = o.forMarkdown()
	o.Owners = true
	d := &document{}
	if err := addTable(d, jobColumns(o), list.All(), o); err != nil {
		return err
	}
	d.addErrors(list.Errors)
	d.addUnchecked(list.UnreadWorkers())
	return d.write(w)
}

// findingsMarkdown writes the summary, and one row per finding with its fixes.
func findingsMarkdown(w io.Writer, list *inspect.FindingList, o TableOptions) error {
	o = o.forMarkdown()
	d := &document{}
	d.paragraph("**" + literal(CheckSummary(list, o)) + "**")
	d.addUnchecked(list.Unchecked)
	if err := addTable(d, findingMarkdownColumns(o), pointers(list.Items), o); err != nil {
		return err
	}
	return d.write(w)
}

func (d *document) addUnchecked(all []inspect.Unchecked) {
	var items []string
	for _, u := range all {
		items = append(items, "not checked: "+literal(UncheckedText(u)))
	}
	if len(items) > 0 {
		d.list(items)
	}
}

func findingMarkdownColumns(o TableOptions) []column[*inspect.Finding] {
	return []column[*inspect.Finding]{
		{title: "CODE", cell: func(f *inspect.Finding) string { return Safe(f.Code) }},
		{title: "SEVERITY", cell: func(f *inspect.Finding) string { return string(f.Severity) }},
		{title: "CONTEXT", cell: func(f *inspect.Finding) string { return absentIfEmpty(f.Context) }},
		{title: "OBJECT", cell: subjectOf},
		{title: "MESSAGE", cell: func(f *inspect.Finding) string {
			if f.Cost != nil {
				return Safe(f.Predicate() + "; holds " + f.Cost.Text())
			}
			return Safe(f.Predicate())
		}},
		{title: "AGE", cell: func(f *inspect.Finding) string {
			if f.Since == nil {
				return none
			}
			return o.since(f.Context, f.Since.Time)
		}},
		markdownColumn("FIX", func(f *inspect.Finding) string {
			if f.Remedy == "" {
				return none
			}
			return prose(command.Prose(f.Remedy))
		}),
	}
}

// traceMarkdown writes the answer in words, with commands as code blocks, then the tables.
func traceMarkdown(w io.Writer, t *inspect.Trace, o TableOptions) error {
	o = o.forMarkdown()
	d := &document{}
	d.paragraph("**" + literal(Safe(nameOf(t))+": "+phraseOf(t, o)) + "**")
	d.paragraph(literal(Safe(t.Message)))
	d.addUnchecked(t.Unchecked)
	for i, f := range t.Fixes {
		label := "Or"
		if i == 0 {
			label = "Fix"
		}
		text := literal(Safe(f.Text))
		if text != "" {
			text = ": " + text
		}
		d.paragraph(label + text)
		if line := f.Shell(); line != "" {
			d.code(Safe(line))
		}
	}
	if t.Cost != nil {
		d.paragraph("Holds: " + prose(costOf(t.Cost)))
	}
	if len(t.Placements) > 0 {
		d.heading("Placements")
		if err := addTable(d, verdictColumns(t, palette{}), candidatesOf(t), o); err != nil {
			return err
		}
	}
	return traceSections(w, d, t, o)
}

// traceSections adds the tables after the answer, and writes the page.
func traceSections(w io.Writer, d *document, t *inspect.Trace, o TableOptions) error {
	if len(t.Hops) > 0 {
		d.heading("Chain")
		message := column[hopNode]{title: "MESSAGE", cell: func(h hopNode) string { return absentIfEmpty(h.message) }}
		if err := addTable(d, append(hopColumns(o), message), hopNodes(t, o), o); err != nil {
			return err
		}
	}
	if len(t.Findings) > 0 {
		d.heading("Findings")
		if err := addTable(d, findingMarkdownColumns(o), pointers(t.Findings), o); err != nil {
			return err
		}
	}
	if len(t.Differences) > 0 {
		d.heading(differencesTitle)
		if err := addTable(d, differenceColumns(), t.Differences, o); err != nil {
			return err
		}
	}
	if entries, heading := shownEntries(t, o); len(entries) > 0 {
		d.heading(heading)
		if err := addTable(d, timelineColumns(entries, o), entries, o); err != nil {
			return err
		}
	}
	return d.write(w)
}

// tableMarkdown writes one table and the contexts that were not read.
func tableMarkdown[T any](w io.Writer, columns []column[T], values []T, errs []inspect.ContextError, o TableOptions) error {
	d := &document{}
	if err := addTable(d, columns, values, o.forMarkdown()); err != nil {
		return err
	}
	d.addErrors(errs)
	return d.write(w)
}

// withProblems returns the columns of a list of queues, with the problem of each.
func withProblems(columns []column[*queues.QueueQuota], list *queues.QueueList) []column[*queues.QueueQuota] {
	isFine := !slices.ContainsFunc(list.Items, func(q queues.QueueQuota) bool { return q.Problem != "" })
	return append(columns, column[*queues.QueueQuota]{title: "PROBLEM", absent: isFine, cell: func(q *queues.QueueQuota) string {
		return absentIfEmpty(q.Problem)
	}})
}
