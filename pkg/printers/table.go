package printers

import (
	"fmt"
	"io"
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
	rows   [][]string
	// shrinks tells which columns may be cut to fit a terminal.
	shrinks []bool
	// least tells to how many columns.
	least []int
	// spare are the titles of columns that are left out, one after the other, where
	// that is not enough. Where nothing is, rows end at the edge.
	spare []string
}

// layout returns the table as lines, the titles first, then one for each row.
// A width above zero is what it has to fit into.
func (t *table) layout(width int) ([]string, error) {
	if width > 0 {
		t.fit(width)
	}
	widths, _ := t.widths()
	lines := make([]string, 0, len(t.rows)+1)
	var line strings.Builder
	for _, row := range slices.Insert(slices.Clone(t.rows), 0, t.titles) {
		line.Reset()
		for c, cell := range row {
			if strings.ContainsRune(cell, '\n') {
				return nil, fmt.Errorf("could not lay out the table: %q is more than a line", cell)
			}
			line.WriteString(cell)
			if c < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[c]-widthOf(cell)) + gap)
			}
		}
		lines = append(lines, cut(strings.TrimRight(line.String(), " "), width))
	}
	return lines, nil
}

// widthOf is how wide a text is on a terminal.
func widthOf(text string) int {
	// Most of what there is to lay out is plain, and there may be a hundred thousand cells.
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return lipgloss.Width(text)
		}
	}
	return len(text)
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
	for _, row := range t.rows {
		for c := range row {
			if t.shrinks[c] {
				row[c] = ansi.Truncate(row[c], widths[c], "…")
			}
		}
	}
}

// widths are how wide the columns are, and the least that they can be cut to.
func (t *table) widths() (widths, least []int) {
	widths, least = make([]int, len(t.titles)), make([]int, len(t.titles))
	for c, title := range t.titles {
		widths[c] = widthOf(title)
		for _, row := range t.rows {
			widths[c] = max(widths[c], widthOf(row[c]))
		}
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
	for i := range t.rows {
		t.rows[i] = without(t.rows[i], columns)
	}
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
	if width == 0 {
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
