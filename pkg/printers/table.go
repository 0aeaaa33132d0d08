package printers

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// gap is the separator of two columns. kubectl has three spaces; with two, the usual table fits
// into 80 columns.
const gap = "  "

// table is text in columns before layout.
type table struct {
	titles []string
	// rows are computed at each iteration, since there may be a hundred thousand; a row is valid
	// until the next one.
	rows iter.Seq[[]string]
	// shrinks are the columns whose cells may take several lines on a narrow terminal.
	shrinks []bool
	// minWidths are the minimum widths of such columns.
	minWidths []int
	// alwaysShown are the columns that stay even if every row has the same value.
	alwaysShown []bool
	// droppable are the titles of the columns that may be dropped on a narrow terminal, in this
	// order. extra are those of the wide table that are dropped if shrinking is not enough.
	droppable, extra []string
	// dropped are the titles of the dropped columns. constant are those with one value in all rows, and that value.
	dropped, constant []string
	// below is the text below the row that was computed last, on its own lines.
	below string
	// height is the number of visible lines, 0 for all.
	height int
}

// unseenLine replaces a line below the end of the screen.
const unseenLine = "…"

// layout returns the rows of the table, the titles first. A row may have several lines.
func (t *table) layout(width int) (rows []string, err error) {
	err = t.each(width, func(row string) error {
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

// styledRows is layout with styled titles, or without titles if the user wants none.
func (t *table) styledRows(o TableOptions, style func(string) string) ([]string, error) {
	rows, err := t.layout(o.Width)
	switch {
	case err != nil:
		return nil, err
	case o.NoHeaders:
		return rows[1:], nil
	}
	rows[0] = style(rows[0])
	return rows, nil
}

// each calls write for the rows of the table, the titles first. If width is above zero, the rows
// fit into it.
func (t *table) each(width int, write func(row string) error) error {
	for row := range t.rows {
		if c := slices.IndexFunc(row, func(cell string) bool { return strings.ContainsRune(cell, '\n') }); c >= 0 {
			return fmt.Errorf("cannot lay out the table: cell %q has several lines", row[c])
		}
	}
	if width > 0 {
		t.fit(width)
	}
	w := &rowWriter{widths: t.measure().widths, width: width, write: write}
	if err := w.add(t.titles, ""); err != nil {
		return err
	}
	height := heightOf(t.titles)
	for row := range t.rows {
		var err error
		if t.height > 0 && height >= t.height {
			err = w.addUnseen()
			height++
		} else {
			err = w.add(row, t.below)
			height += heightOf(row) + strings.Count(t.below, "\n")
		}
		if err != nil {
			return err
		}
	}
	return w.flush()
}

// heightOf returns the number of lines of a row.
func heightOf(cells []string) int {
	height := 1
	for _, cell := range cells {
		height = max(height, lineCount(cell))
	}
	return height
}

// minColumn is the least width of any column.
const minColumn = 8

// fit makes the table as narrow as a terminal. It drops columns with the same value in every row,
// then droppable columns. Then it breaks the cells of the last column into lines, and at last those
// of other columns, the widest first. A last column of sentences that would be too narrow to read
// is printed below its rows. If the least widths are too wide, it drops the other columns of the wide
// table, and breaks cells as narrow as their titles, so that no column is cut off.
func (t *table) fit(width int) {
	if sum(t.measure().widths) <= width {
		return
	}
	t.dropSame(width)
	if t.isUnreadable(width) {
		t.stack(width)
	}
	t.dropOptional(width)
	t.dropExtra(width)
	m := t.measure()
	if sum(m.widths) <= width {
		return
	}
	if sum(m.minWidths) > width {
		for c, title := range t.titles {
			t.minWidths[c] = min(t.minWidths[c], widthOf(title))
		}
		m = t.measure()
	}
	widths := m.shrunk(width)
	t.change(func(row []string) []string {
		for c := range row {
			if t.shrinks[c] && widthOf(row[c]) > widths[c] {
				row[c] = strings.Join(breakLines(row[c], widths[c]), "\n")
			}
		}
		return row
	})
}

// measures are the dimensions of a table, by column.
type measures struct {
	// widths are the widths of the columns, and least the least widths they can get.
	widths, minWidths []int
	// count is the number of rows; same reports whether all rows have the cell of the first.
	count int
	first []string
	same  []bool
}

// shrunk returns the widths of the columns of a table that is too wide. It narrows the last column, then
// the widest ones.
func (m measures) shrunk(width int) []int {
	widths, last := slices.Clone(m.widths), len(m.widths)-1
	widths[last] -= min(sum(widths)-width, widths[last]-m.minWidths[last])
	for total := sum(widths); total > width; total-- {
		widest := -1
		for c := range widths {
			if widths[c] > m.minWidths[c] && (widest < 0 || widths[c] > widths[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

// minTotal returns the minimum width of the table if only its last column shrinks.
func (m measures) minTotal() int {
	last := len(m.widths) - 1
	return sum(m.widths) - m.widths[last] + m.minWidths[last]
}

// isUnreadable reports whether the last column has sentences that do not fit, even without the
// droppable columns.
func (t *table) isUnreadable(width int) bool {
	m, last := t.measure(), len(t.titles)-1
	narrow := m.minTotal()
	for c, title := range t.titles {
		if slices.Contains(t.droppable, title) {
			narrow -= m.widths[c] + len(gap)
		}
	}
	return t.shrinks[last] && t.minWidths[last] >= minProseWidth && narrow > width
}

// stack moves the last column below its rows.
func (t *table) stack(width int) {
	last := len(t.titles) - 1
	t.change(func(row []string) []string {
		t.below = ""
		if text := row[last]; ansi.Strip(text) != none {
			t.below = "\n" + strings.Join(wrap(text, width, gap+gap), "\n")
		}
		return row
	})
	t.dropColumns([]int{last})
}

// dropOptional drops droppable columns, in their order, until the table is narrow enough.
func (t *table) dropOptional(width int) {
	m := t.measure()
	t.dropUntil(width, t.droppable, m.minTotal(), m.widths)
}

// dropExtra drops columns of the wide table, in their order, until the table can be narrow enough.
func (t *table) dropExtra(width int) {
	m := t.measure()
	t.dropUntil(width, t.extra, sum(m.minWidths), m.minWidths)
}

// dropUntil drops columns, in their order, until the table, of these total and single widths, is narrow enough.
func (t *table) dropUntil(width int, titles []string, total int, widths []int) {
	var out []int
	for _, title := range titles {
		if c := slices.Index(t.titles, title); c >= 0 && total > width {
			out = append(out, c)
			total -= widths[c] + len(gap)
			t.dropped = append(t.dropped, title)
		}
	}
	t.dropColumns(out)
}

// dropSame drops columns with the same value in every row, from the left, until the table is narrow
// enough. A column of unknown values stays.
func (t *table) dropSame(width int) {
	m := t.measure()
	var out []int
	total := sum(m.widths)
	for c := range len(m.widths) - 1 {
		if total > width && m.count > 1 && m.same[c] && !t.alwaysShown[c] && ansi.Strip(m.first[c]) != unknown {
			out = append(out, c)
			total -= m.widths[c] + len(gap)
			if value := ansi.Strip(m.first[c]); value != none {
				t.constant = append(t.constant, t.titles[c]+" "+value)
			}
		}
	}
	t.dropColumns(out)
}

// change applies a function to each row at iteration.
func (t *table) change(row func([]string) []string) {
	rows := t.rows
	t.rows = func(yield func([]string) bool) {
		for cells := range rows {
			if !yield(row(cells)) {
				return
			}
		}
	}
}

func (t *table) measure() measures {
	m := measures{widths: make([]int, len(t.titles)), minWidths: make([]int, len(t.titles)), same: make([]bool, len(t.titles))}
	for c, title := range t.titles {
		m.widths[c] = widthOf(title)
		m.same[c] = true
	}
	for row := range t.rows {
		if m.count == 0 {
			m.first = slices.Clone(row)
		}
		m.count++
		for c, cell := range row {
			m.widths[c] = max(m.widths[c], widthOf(cell))
			m.same[c] = m.same[c] && cell == m.first[c]
		}
	}
	for c := range m.widths {
		m.minWidths[c] = m.widths[c]
		if t.shrinks[c] {
			m.minWidths[c] = min(m.widths[c], t.minWidths[c])
		}
	}
	return m
}

// sum returns the total width of columns with their gaps.
func sum(widths []int) int {
	total := len(gap) * (len(widths) - 1)
	for _, width := range widths {
		total += width
	}
	return total
}

// dropColumns removes the columns with these indexes.
func (t *table) dropColumns(columns []int) {
	if len(columns) == 0 {
		return
	}
	t.titles, t.shrinks, t.minWidths, t.alwaysShown = without(t.titles, columns), without(t.shrinks, columns), without(t.minWidths, columns), without(t.alwaysShown, columns)
	t.change(func(row []string) []string { return without(row, columns) })
}

func without[T any](cells []T, columns []int) []T {
	var left []T
	for c, cell := range cells {
		if !slices.Contains(columns, c) {
			left = append(left, cell)
		}
	}
	return left
}

// widest returns the width of the widest line.
func widest(lines []string) int {
	width := 0
	for _, line := range lines {
		width = max(width, widthOf(line))
	}
	return width
}

// notShown returns lines below the table, each part after a blank line: the value of columns that were dropped because
// all rows have it, and the titles of other dropped columns.
func (t *table) notShown(o TableOptions) (lines []string) {
	for _, part := range [][]string{t.sameLines(o), t.droppedLines(o)} {
		if len(part) > 0 {
			lines = append(append(lines, ""), part...)
		}
	}
	return lines
}

// leftOut returns the same lines as notShown, without blank lines.
func (t *table) leftOut(o TableOptions) []string { return append(t.sameLines(o), t.droppedLines(o)...) }

func (t *table) sameLines(o TableOptions) []string {
	if len(t.constant) == 0 || o.NoHeaders {
		return nil
	}
	return wrap("same in all rows: "+strings.Join(t.constant, ", "), o.Width, "")
}

func (t *table) droppedLines(o TableOptions) []string {
	if len(t.dropped) == 0 || o.NoHeaders || t.isEmpty() {
		return nil
	}
	return wrap("not shown at this width: "+strings.Join(t.dropped, ", ")+" (to see all: | less -S)", o.Width, "")
}

func (t *table) isEmpty() bool {
	for range t.rows {
		return false
	}
	return true
}

// Note writes a note, on lines of the width of the terminal, 0 without one.
func Note(w io.Writer, text string, width int) error {
	return writeLines(w, wrapBelow("note: ", Safe(text), width)...)
}

// writeLines writes lines and stops at the first error.
func writeLines(w io.Writer, lines ...string) error {
	for _, line := range lines {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}
