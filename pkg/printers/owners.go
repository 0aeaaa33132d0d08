package printers

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/liggitt/tabwriter"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Owners writes Jobs in groups, one for each owner: a header row with counts, then the Jobs.
// Contexts that could not be read follow in their own group.
//
// Without headers it leaves out the titles, the header rows and the errors: a script that splits
// lines into fields does not expect them, and the caller reports errors elsewhere. The owner then is
// in a column of its own, as in a watch.
func Owners(w io.Writer, list *inspect.OwnerList, o TableOptions) error {
	if o.Markdown {
		return ownersMarkdown(w, list, o)
	}
	o.Owners = o.Owners || o.NoHeaders
	p := palette{o.Color}
	// headers are the header rows, by the number of lines before each.
	headers, line := map[int]string{}, 1
	for i := range list.Items {
		headers[line] = strings.Join(wrap(ownerHeader(&list.Items[i], o), o.Width, ""), "\n")
		line += len(list.Items[i].Jobs)
	}
	line = 0
	t := newTable(dimmed(jobColumns(o), p), list.All(), o)
	err := t.each(o.Width, func(text string) error {
		header, begins := headers[line]
		isTitles := line == 0
		line++
		switch {
		case isTitles && (o.NoHeaders || len(list.Items) == 0):
			return nil
		case isTitles:
			text = p.bold(text)
		case begins && !o.NoHeaders:
			return writeLines(w, "", header, text)
		}
		return writeLines(w, text)
	})
	if err != nil || o.NoHeaders {
		return err
	}
	if err := writeLines(w, t.notShown(o)...); err != nil {
		return err
	}
	if err := writeErrors(w, list.Errors, len(list.Items) > 0, o); err != nil {
		return err
	}
	unchecked := uncheckedLines(list.UnreadWorkers(), o)
	if len(unchecked) > 0 {
		unchecked = append([]string{""}, unchecked...)
	}
	return writeLines(w, unchecked...)
}

// ownerHeader returns the header row of a group: "OWNER: 3 jobs (2 Running, 1 Failed)".
func ownerHeader(g *inspect.OwnerGroup, o TableOptions) string {
	p, noun := palette{o.Color}, nounFor(o)
	if g.Total() == 1 {
		noun = strings.TrimSuffix(noun, "s")
	}
	return fmt.Sprintf("%s: %d %s (%s)", p.bold(Safe(string(g.ManagedBy))), g.Total(), noun, counts(g, p))
}

// nounFor returns the plural of the rows.
func nounFor(o TableOptions) string {
	if o.Kinds {
		return "objects"
	}
	return "jobs"
}

func counts(g *inspect.OwnerGroup, p palette) string { return strings.Join(countsOf(g, p), ", ") }

// countsOf returns how many Jobs of a group have each status, as in "1 Pending".
func countsOf(g *inspect.OwnerGroup, p palette) []string {
	var parts []string
	for _, s := range delegation.Statuses() {
		if n := g.Counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, p.status(s)))
		}
	}
	return parts
}

// widestCount returns the width of the widest count of all groups, with the comma behind it.
func widestCount(groups []inspect.OwnerGroup) int {
	width := 0
	for i := range groups {
		width = max(width, widest(countsOf(&groups[i], palette{}))+len(","))
	}
	return width
}

// Summary writes a row for each owner with its counts by status: a column for each status or, in a
// terminal that is too narrow for them, one column.
func Summary(w io.Writer, list *inspect.OwnerList, o TableOptions) error {
	p := palette{o.Color}
	owners := []column[*inspect.OwnerGroup]{
		{title: "MANAGED-BY", alwaysShown: true, shrinks: true, cell: func(g *inspect.OwnerGroup) string { return Safe(string(g.ManagedBy)) }},
		{title: strings.ToUpper(nounFor(o)), cell: func(g *inspect.OwnerGroup) string { return fmt.Sprint(g.Total()) }},
	}
	columns := slices.Clone(owners)
	for _, s := range delegation.Statuses() {
		has := func(g inspect.OwnerGroup) bool { return g.Counts[s] > 0 }
		columns = append(columns, column[*inspect.OwnerGroup]{
			title: strings.ToUpper(string(s)), unused: !slices.ContainsFunc(list.Items, has),
			cell: func(g *inspect.OwnerGroup) string {
				if !has(*g) {
					return none
				}
				return fmt.Sprint(g.Counts[s])
			},
		})
	}
	if o.Markdown {
		return tableMarkdown(w, columns, pointers(list.Items), list.Errors, o)
	}
	summary := newTable(dimmed(columns, p), pointers(list.Items), o)
	if o.Width > 0 && sum(summary.measure().widths) > o.Width {
		summary = newTable(append(owners, column[*inspect.OwnerGroup]{
			title: "STATUS", shrinks: true, minWidth: min(widestCount(list.Items), minProseWidth-1), cell: func(g *inspect.OwnerGroup) string { return counts(g, p) },
		}), pointers(list.Items), o)
	}
	lines, err := summary.layout(o.Width)
	if err != nil {
		return err
	}
	if o.NoHeaders {
		return writeLines(w, lines[1:]...)
	}
	if len(list.Items) > 0 {
		lines[0] = p.bold(lines[0])
		if err := writeLines(w, lines...); err != nil {
			return err
		}
	}
	return writeErrors(w, list.Errors, len(list.Items) > 0, o)
}

// writeRows writes the rows of a table, of which the first is the header, each followed by the
// text that below returns, if any, styled by style; then the contexts that could not be read.
func writeRows(w io.Writer, rows []string, errs []inspect.ContextError, o TableOptions, below func(i int) string, style func(string) string) error {
	header, rows := rows[:1], rows[1:]
	if o.NoHeaders {
		return writeLines(w, rows...)
	}
	var lines []string
	if len(rows) > 0 {
		lines = append(lines, palette{o.Color}.bold(header[0]))
	}
	for i, row := range rows {
		lines = append(lines, row)
		if text := below(i); text != "" {
			for _, line := range wrap(text, o.Width, gap) {
				lines = append(lines, style(line))
			}
		}
	}
	if err := writeLines(w, lines...); err != nil {
		return err
	}
	return writeErrors(w, errs, len(rows) > 0, o)
}

// writeErrors writes a row for each context that could not be read, after a blank line if there
// is output above. On a terminal, messages are below the row, wrapped to the width. All refusals in
// a context share one row.
func writeErrors(w io.Writer, errs []inspect.ContextError, below bool, o TableOptions) error {
	if len(errs) == 0 {
		return nil
	}
	errs = inspect.FoldRefusals(errs)
	p := palette{o.Color}
	columns := []column[inspect.ContextError]{
		{cell: func(e inspect.ContextError) string { return Safe(e.Context) }},
		{cell: func(e inspect.ContextError) string { return p.bad(e.Code.Label()) }},
	}
	rows, err := newTable(columns, errs, o).layout(0)
	if err != nil {
		return err
	}
	lines := []string{p.bad("not read completely:")}
	if below {
		lines = append([]string{""}, lines...)
	}
	for i, e := range errs {
		row, message := rows[i+1], Safe(e.Message)
		if o.Width == 0 {
			lines = append(lines, pad(row, widest(rows))+gap+message)
			continue
		}
		lines = append(append(lines, cut(row, o.Width)), wrap(message, o.Width, gap)...)
	}
	return writeLines(w, lines...)
}

// indent is the indentation of kubectl's JSON.
const indent = "    "

// writeOwners writes the same JSON as kubectl's printer, but one Job at a time: kubectl's printer
// keeps the whole document in memory, twice.
func writeOwners(w io.Writer, list *inspect.OwnerList) error {
	const empty = `"jobs": []`
	frame := *list
	frame.Items = slices.Clone(list.Items)
	for i := range frame.Items {
		frame.Items[i].Jobs = []*inspect.Job{}
	}
	text, err := json.MarshalIndent(&frame, "", indent)
	if err != nil {
		return err
	}
	// Inside a string the quotes would be escaped, so only real fields match.
	parts := strings.Split(string(text), empty)
	if len(parts) != len(list.Items)+1 {
		return fmt.Errorf("cannot split the JSON of the list: found %d lists of Jobs, expected %d", len(parts)-1, len(list.Items))
	}
	for i := range list.Items {
		if err := writeAll(w, parts[i]); err != nil {
			return err
		}
		if err := writeJobs(w, list.Items[i].Jobs, empty); err != nil {
			return err
		}
	}
	return writeLines(w, parts[len(list.Items)])
}

// writeJobs writes the Jobs of a group instead of the empty list.
func writeJobs(w io.Writer, jobs []*inspect.Job, empty string) error {
	if len(jobs) == 0 {
		return writeAll(w, empty)
	}
	// The document has a list of groups, each of which has a list of Jobs.
	before, within := `"jobs": [`, strings.Repeat(indent, 4)
	for _, j := range jobs {
		text, err := json.MarshalIndent(j, within, indent)
		if err != nil {
			return err
		}
		if err := writeAll(w, before+"\n"+within, string(text)); err != nil {
			return err
		}
		before = ","
	}
	return writeAll(w, "\n"+strings.Repeat(indent, 3)+"]")
}

func writeAll(w io.Writer, texts ...string) error {
	for _, text := range texts {
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

// Stream writes Jobs as rows of a table without end, as kubectl get --watch does: columns keep
// their first widths. Rows are never coloured, because the tab writer counts the bytes of an
// escape sequence.
type Stream struct {
	w       *tabwriter.Writer
	options TableOptions
	events  bool
	started bool
}

// NewStream returns a Stream that writes to w. If events is set, each row starts with the type of
// the change.
func NewStream(w io.Writer, o TableOptions, events bool) *Stream {
	o.Owners, o.Color = true, false
	return &Stream{w: printers.GetNewTabWriter(w), options: o, events: events}
}

// Write adds a row at the end, with ages as of o.Now. Of o, only Now is used.
func (s *Stream) Write(event inspect.ChangeType, j *inspect.Job, o TableOptions) error {
	s.options.Now = o.Now
	// Rows that come later may have content for every column, so a stream has all, like a table without titles.
	columns := visibleColumns(jobColumns(s.options), TableOptions{Wide: s.options.Wide, NoHeaders: true})
	var cells []string
	if !s.started && !s.options.NoHeaders {
		if s.events {
			cells = append(cells, "EVENT")
		}
		for _, c := range columns {
			cells = append(cells, c.title)
		}
		if _, err := fmt.Fprintln(s.w, strings.Join(cells, "\t")); err != nil {
			return err
		}
		cells = nil
	}
	s.started = true
	if s.events {
		// All events have the width of the longest, so that rows do not shift.
		cells = append(cells, fmt.Sprintf("%-*s", len(inspect.Modified), event))
	}
	for _, c := range columns {
		cells = append(cells, c.cell(j))
	}
	_, err := fmt.Fprintln(s.w, strings.Join(cells, "\t"))
	return err
}

// Flush lays out and writes the rows added since the last flush, aligned with each other.
func (s *Stream) Flush() error { return s.w.Flush() }
