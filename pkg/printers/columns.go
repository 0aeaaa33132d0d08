package printers

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/olekukonko/ll"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// The cells that have no value, and whose value is unknown.
const (
	none    = "-"
	unknown = "?"
)

// minProseWidth is the least width of a column of sentences.
const minProseWidth = 24

// TableOptions are the options of a table.
type TableOptions struct {
	// Contexts and Namespaces show the context and the namespace of each Job.
	Contexts, Namespaces bool
	// Kinds is set if there may be objects of kinds other than Job, and shows the kind of each.
	Kinds bool
	// Owners shows the owner in a column; a grouped table has it in its header
	// rows instead.
	Owners bool
	// Labels are the labels that have their own columns.
	Labels []string
	Wide   bool
	// Dispatchers shows the dispatcher of each dispatched Job, in a wide table.
	Dispatchers bool
	// Evidence shows the evidence of each finding, and Timeline all events of a trace.
	Evidence, Timeline bool
	// Compact shows findings without their fixes.
	Compact bool
	// Reasons shows where each Job is or why it waits.
	Reasons bool

	NoHeaders bool
	Color     bool
	// Markdown writes GitHub Flavored Markdown, for tickets and pages.
	Markdown bool
	// Width is the width of the terminal; 0 if the output is not a terminal.
	Width int
	// Height is the number of visible lines. Lines below them are not laid out, and a placeholder
	// replaces each. 0 means all.
	Height int
	// Now is the time from which ages are counted. NowOn is the same moment by the clock of a
	// context's cluster, which dated the objects there; nil means Now everywhere.
	Now   time.Time
	NowOn func(context string) time.Time
}

// since returns the age, for people, of something that a context's cluster dated; none if it is in the future, because a
// clock is wrong. Small negative ages are shown as 0s.
func (o TableOptions) since(context string, t time.Time) string {
	if age, ok := inspect.AgeText(o.nowOn(context).Sub(t)); ok {
		return age
	}
	return none
}

// sinceIn returns the age, like since, in parentheses after a blank, and what follows it; "" if the age is unknown.
func (o TableOptions) sinceIn(context string, t time.Time, more string) string {
	if age := o.since(context, t); age != none {
		return " (" + age + more + ")"
	}
	return ""
}

func (o TableOptions) nowOn(context string) time.Time {
	if o.NowOn == nil {
		return o.Now
	}
	return o.NowOn(context)
}

// column is a column of a table whose rows show values of type T. Every table of this package is
// a list of columns.
type column[T any] struct {
	title string
	// cell returns the text of a row. It must be Safe, and may be styled.
	cell func(T) string
	// wide limits the column to the wide table; absent removes it from every table. unused removes it
	// because no row has content for it, except from a table without titles: scripts count its columns.
	wide, absent, unused bool
	// shrinks allows cells of several lines if the terminal is too narrow.
	shrinks bool
	// minWidth is the minimum width of a shrunk column, if that is more than usual.
	minWidth int
	// alwaysShown keeps the column on a narrow terminal even if every row has the same value: names,
	// statuses, verdicts.
	alwaysShown bool
	// marked is set if its cells are already Markdown in a Markdown table.
	marked bool
	// dropRank is the order in which columns are dropped if the terminal is still too narrow, 1
	// first; 0 means never, for a column of the wide table only if narrow cells are not enough.
	dropRank int
}

// hasSeveral reports whether the rows have more than one value of a property, such as the context.
func hasSeveral[T any](rows []T, value func(*T) string) bool {
	return slices.ContainsFunc(pointers(rows), func(row *T) bool { return value(row) != value(&rows[0]) })
}

// visibleColumns returns the columns that a table with these options has.
func visibleColumns[T any](columns []column[T], o TableOptions) []column[T] {
	return slices.DeleteFunc(slices.Clone(columns), func(c column[T]) bool {
		return c.absent || c.unused && (!o.NoHeaders || o.Markdown) || c.wide && !o.Wide
	})
}

// newTable returns a table with a row for each value.
func newTable[T any](columns []column[T], values []T, o TableOptions) *table {
	columns = visibleColumns(columns, o)
	t := &table{height: o.Height}
	for _, c := range columns {
		t.titles, t.shrinks = append(t.titles, c.title), append(t.shrinks, c.shrinks)
		t.minWidths = append(t.minWidths, max(minColumn, len(c.title), c.minWidth))
		t.alwaysShown = append(t.alwaysShown, c.alwaysShown || c.title == "")
	}
	t.rows = func(yield func([]string) bool) {
		cells := make([]string, len(columns))
		for _, value := range values {
			for i, c := range columns {
				cells[i] = c.cell(value)
			}
			if !yield(cells) {
				return
			}
		}
	}
	byDropRank := slices.SortedStableFunc(slices.Values(columns), func(a, b column[T]) int { return cmp.Compare(a.dropRank, b.dropRank) })
	for _, c := range byDropRank {
		if c.dropRank > 0 {
			t.droppable = append(t.droppable, c.title)
		}
	}
	for _, c := range columns {
		if c.wide && c.dropRank == 0 && !c.alwaysShown {
			t.extra = append(t.extra, c.title)
		}
	}
	return t
}

// dimmed returns the columns with cells that are dim where they have no value.
func dimmed[T any](columns []column[T], p palette) []column[T] {
	dim := slices.Clone(columns)
	// There are only two such texts, and tens of thousands of cells.
	absent := map[string]string{none: p.absent(none), unknown: p.absent(unknown)}
	for i := range dim {
		cell := dim[i].cell
		dim[i].cell = func(value T) string {
			text := cell(value)
			if styled, ok := absent[text]; ok {
				return styled
			}
			return p.absent(text)
		}
	}
	return dim
}

// pointers returns pointers to the elements of a list; tables of large values use them as rows.
func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

// rowsAtOnce is the number of rows that tablewriter lays out at a time. It allocates 9 kB for
// each, so a table of 10,000 rows would take 90 MB if it were laid out at once.
const rowsAtOnce = 250

// batchesAtOnce limits the batches of rows that are laid out at once. Each takes 2 MB.
const batchesAtOnce = 4

// rowWriter lays out rows by tablewriter, and calls write for each, in order. A row whose cells have
// several lines is written as several lines. It lays out several batches of rows at once, because
// tablewriter takes a third of the CPU time of a long listing.
type rowWriter struct {
	// widths are the widths of the columns, and width is the width of the terminal; 0 is
	// unlimited.
	widths []int
	width  int
	write  func(row string) error

	// batch has the rows that were added last; started are the batches before it, the oldest first.
	batch   rowBatch
	started []<-chan laidOutRows
}

// rowBatch is a number of rows before layout.
type rowBatch struct {
	rows    [][]string
	heights []int
	// below are the lines below each row.
	below []string
}

// laidOutRows are the rows of a batch after layout.
type laidOutRows struct {
	rows []string
	err  error
}

// add adds a row, with lines below it. The caller may reuse the cells. It returns the first error of
// write.
func (w *rowWriter) add(cells []string, below string) error {
	b := &w.batch
	b.rows = append(b.rows, slices.Clone(cells))
	b.heights = append(b.heights, heightOf(cells))
	b.below = append(b.below, below)
	if len(b.rows) < rowsAtOnce {
		return nil
	}
	w.start()
	return w.writeUntil(batchesAtOnce - 1)
}

// addUnseen adds a placeholder for a row below the end of the screen.
func (w *rowWriter) addUnseen() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.write(unseenLine)
}

// flush writes the rows that were added. It returns the first error of write.
func (w *rowWriter) flush() error {
	if len(w.batch.rows) > 0 {
		w.start()
	}
	return w.writeUntil(0)
}

// start starts the layout of the batch.
func (w *rowWriter) start() {
	batch, laidOut := w.batch, make(chan laidOutRows, 1)
	go func() { laidOut <- batch.layout(w.widths, w.width) }()
	w.batch, w.started = rowBatch{}, append(w.started, laidOut)
}

// writeUntil writes the oldest batches until at most count are left.
func (w *rowWriter) writeUntil(count int) error {
	for len(w.started) > count {
		batch := <-w.started[0]
		w.started = w.started[1:]
		if batch.err != nil {
			return batch.err
		}
		for _, row := range batch.rows {
			if err := w.write(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// layout returns the rows of the batch, each with the lines below it.
func (b rowBatch) layout(widths []int, width int) laidOutRows {
	lines := &columnRenderer{widths: widths, width: width}
	t := tablewriter.NewTable(io.Discard, tablewriter.WithConfig(rawCells(tw.Padding{Overwrite: true})), tablewriter.WithRenderer(lines))
	if err := t.Bulk(b.rows); err != nil {
		return laidOutRows{err: err}
	}
	if err := t.Render(); err != nil {
		return laidOutRows{err: err}
	}
	rows := make([]string, len(b.rows))
	for i, height := range b.heights {
		rows[i] = strings.Join(lines.rendered[:height], "\n") + b.below[i]
		lines.rendered = lines.rendered[height:]
	}
	return laidOutRows{rows: rows}
}

// rawCells returns a configuration with which tablewriter leaves cells unchanged: table.fit has
// broken those that are too wide, and knows which columns may be broken.
func rawCells(padding tw.Padding) tablewriter.Config {
	cell := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft},
		Padding:    tw.CellPadding{Global: padding},
	}
	return tablewriter.Config{Header: cell, Row: cell, Behavior: tw.Behavior{TrimSpace: tw.Off, TrimLine: tw.Off}}
}

// columnRenderer renders rows as kubectl does: no borders, and a gap between columns.
type columnRenderer struct {
	widths   []int
	width    int
	rendered []string
	line     strings.Builder
}

var _ tw.Renderer = &columnRenderer{}

// Row renders one line of a row.
func (r *columnRenderer) Row(cells []string, _ tw.Formatting) {
	r.line.Reset()
	for c, cell := range cells {
		r.line.WriteString(cell)
		if c < len(cells)-1 {
			r.line.WriteString(strings.Repeat(" ", r.widths[c]-widthOf(cell)) + gap)
		}
	}
	r.rendered = append(r.rendered, cut(strings.TrimRight(r.line.String(), " "), r.width))
}

// Header and Footer are never called, because the titles are the first row.
func (r *columnRenderer) Header([][]string, tw.Formatting) {}
func (r *columnRenderer) Footer([][]string, tw.Formatting) {}

// Line renders nothing, because there are no borders.
func (r *columnRenderer) Line(tw.Formatting) {}

// Start, Close and Logger do nothing.
func (r *columnRenderer) Start(io.Writer) error { return nil }
func (r *columnRenderer) Close() error          { return nil }
func (r *columnRenderer) Logger(*ll.Logger)     {}

// Config returns a rendition without borders.
func (r *columnRenderer) Config() tw.Rendition { return tw.Rendition{} }
