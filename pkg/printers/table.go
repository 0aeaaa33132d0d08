package printers

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// gap is what stands between two columns. kubectl has three spaces; two bring
// the usual table into 80 columns.
const gap = "  "

// table is text in columns that has not been laid out yet.
type table struct {
	titles []string
	// rows are made anew each time that they are looked at, since there may be a hundred
	// thousand; a row is good until the next one is looked at.
	rows iter.Seq[[]string]
	// shrinks tells which columns may be cut to fit a terminal.
	shrinks []bool
	// least tells to how many columns.
	least []int
	// spare are the titles of columns that are left out, one after the other, where
	// that is not enough. Where nothing is, rows end at the edge.
	spare []string
	// height is how many lines are seen, 0 is all.
	height int
}

// unseen is in place of a line that nobody sees.
const unseen = "…"

// layout returns the table as lines, as each has them.
func (t *table) layout(width int) (lines []string, err error) {
	err = t.each(width, func(line string) error {
		lines = append(lines, line)
		return nil
	})
	return lines, err
}

// each calls write for the lines of the table, the titles first, then one for each row.
// A width above zero is what it has to fit into.
func (t *table) each(width int, write func(line string) error) error {
	for row := range t.rows {
		if c := slices.IndexFunc(row, func(cell string) bool { return strings.ContainsRune(cell, '\n') }); c >= 0 {
			return fmt.Errorf("could not lay out the table: %q is more than a line", row[c])
		}
	}
	if width > 0 {
		t.fit(width)
	}
	widths, _ := t.widths()
	var line strings.Builder
	lineOf := func(row []string) string {
		line.Reset()
		for c, cell := range row {
			line.WriteString(cell)
			if c < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[c]-widthOf(cell)) + gap)
			}
		}
		return cut(strings.TrimRight(line.String(), " "), width)
	}
	err, lines := write(lineOf(t.titles)), 1
	for row := range t.rows {
		line := unseen
		if t.height == 0 || lines < t.height {
			line = lineOf(row)
		}
		lines++
		if err == nil {
			err = write(line)
		}
	}
	return err
}

// widthOf is how wide a text is on a terminal.
func widthOf(text string) int {
	// Most of what there is to lay out is plain, or plain in a colour, and there may be a
	// hundred thousand cells.
	width := 0
	for i := 0; i < len(text); i++ {
		if length := colorLength(text[i:]); length > 0 {
			i += length - 1
			continue
		}
		if text[i] < ' ' || text[i] > '~' {
			return lipgloss.Width(text)
		}
		width++
	}
	return width
}

// colorLength is how long the sequence is that a text begins with and that sets a colour, 0
// if it begins with none (ECMA-48: SGR).
func colorLength(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := len("\x1b["); i < len(text); i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// shortest is the least that a cell is cut to.
const shortest = 8

// fit cuts the widest of those columns that may be cut until the table is as
// narrow as asked, but none to less than its title. What is cut ends in an
// ellipsis. Where that is not enough, it leaves out what it can spare.
func (t *table) fit(width int) {
	widths, least := t.widths()
	var out []int
	possible := sum(least)
	for _, title := range t.spare {
		if c := slices.Index(t.titles, title); possible > width {
			out = append(out, c)
			possible -= least[c] + len(gap)
		}
	}
	if len(out) > 0 {
		t.leaveOut(out)
		widths, least = t.widths()
	}
	if sum(widths) <= width {
		return
	}
	for total := sum(widths); total > width; total-- {
		widest := -1
		for c := range widths {
			if widths[c] > least[c] && (widest < 0 || widths[c] > widths[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	t.change(func(row []string) []string {
		for c := range row {
			if t.shrinks[c] && widthOf(row[c]) > widths[c] {
				row[c] = ansi.Truncate(row[c], widths[c], "…")
			}
		}
		return row
	})
}

// change has rows changed when they are looked at.
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

// widths are how wide the columns are, and the least that they can be cut to.
func (t *table) widths() (widths, least []int) {
	widths, least = make([]int, len(t.titles)), make([]int, len(t.titles))
	for c, title := range t.titles {
		widths[c] = widthOf(title)
	}
	for row := range t.rows {
		for c, cell := range row {
			widths[c] = max(widths[c], widthOf(cell))
		}
	}
	for c := range widths {
		least[c] = widths[c]
		if t.shrinks[c] {
			least[c] = min(widths[c], t.least[c])
		}
	}
	return widths, least
}

// sum is how wide columns are together.
func sum(widths []int) int {
	total := len(gap) * (len(widths) - 1)
	for _, width := range widths {
		total += width
	}
	return total
}

// leaveOut takes columns away.
func (t *table) leaveOut(columns []int) {
	t.titles, t.shrinks, t.least = without(t.titles, columns), without(t.shrinks, columns), without(t.least, columns)
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

// cut shortens a line that is too wide for a terminal; zero is as wide as it is.
func cut(line string, width int) string {
	if width == 0 || widthOf(line) <= width {
		return line
	}
	return ansi.Truncate(line, width, "…")
}

// widest is the width of the widest line.
func widest(lines []string) int {
	width := 0
	for _, line := range lines {
		width = max(width, widthOf(line))
	}
	return width
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
