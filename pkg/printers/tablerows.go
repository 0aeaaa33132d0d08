package printers

import (
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/ll"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// rowsAtOnce is the number of rows that tablewriter lays out at a time. It allocates 9 kB for
// each, so a table of 10,000 rows would take 90 MB if it were laid out at once.
const rowsAtOnce = 250

// rowWriter lays out rows by tablewriter, some at a time, and calls write for each. A row whose
// cells have several lines is written as several lines.
type rowWriter struct {
	// widths are the widths of the columns, and width is the width of the terminal; 0 is
	// unlimited.
	widths []int
	width  int
	write  func(row string) error

	rows    [][]string
	heights []int
	// below are the lines below each row.
	below []string
	err   error
}

// add adds a row, with lines below it. The caller may reuse the cells.
func (w *rowWriter) add(cells []string, below string) {
	w.rows = append(w.rows, slices.Clone(cells))
	w.heights = append(w.heights, heightOf(cells))
	w.below = append(w.below, below)
	if len(w.rows) >= rowsAtOnce {
		_ = w.flush()
	}
}

// addUnseen adds a placeholder for a row below the end of the screen.
func (w *rowWriter) addUnseen() {
	if w.flush() == nil {
		w.err = w.write(unseenLine)
	}
}

// flush writes the rows that were added. It returns the first error of write.
func (w *rowWriter) flush() error {
	if len(w.rows) == 0 || w.err != nil {
		return w.err
	}
	lines := &columnRenderer{widths: w.widths, width: w.width}
	t := tablewriter.NewTable(io.Discard, tablewriter.WithConfig(rawCells(tw.Padding{Overwrite: true})), tablewriter.WithRenderer(lines))
	if w.err = t.Bulk(w.rows); w.err == nil {
		w.err = t.Render()
	}
	for i, height := range w.heights {
		if w.err != nil {
			break
		}
		w.err = w.write(strings.Join(lines.rendered[:height], "\n") + w.below[i])
		lines.rendered = lines.rendered[height:]
	}
	w.rows, w.heights, w.below = w.rows[:0], w.heights[:0], w.below[:0]
	return w.err
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
