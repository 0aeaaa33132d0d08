package printers

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
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
	var buffer bytes.Buffer
	w := tablewriter.NewTable(&buffer, tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
		Borders: tw.BorderNone,
		Symbols: tw.NewSymbols(tw.StyleNone),
		Settings: tw.Settings{
			Lines:      tw.LinesNone,
			Separators: tw.SeparatorsNone,
		},
	})), tablewriter.WithConfig(tablewriter.Config{
		Header: cellConfig(),
		Row:    cellConfig(),
		// Measure as lipgloss does, which does not ask the locale.
	}), tablewriter.WithEastAsian(tw.Off))
	w.Header(t.titles)
	if err := w.Bulk(t.rows); err != nil {
		return nil, fmt.Errorf("could not lay out the table: %w", err)
	}
	if err := w.Render(); err != nil {
		return nil, fmt.Errorf("could not lay out the table: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(buffer.String(), "\n"), "\n")
	if len(lines) != len(t.rows)+1 {
		return nil, fmt.Errorf("could not lay out the table: %d rows came out as %d lines", len(t.rows), len(lines)-1)
	}
	for i := range lines {
		// tablewriter adds a reset of its own behind each cell with a style, which
		// has one already; at the end of a line it hides the padding.
		lines[i] = cut(strings.TrimRight(strings.ReplaceAll(lines[i], "\x1b[0m", ""), " "), width)
	}
	return lines, nil
}

// cellConfig makes tablewriter look like kubectl: left-aligned, no lines, titles
// as they are (its own formatting makes "MANAGED - BY" of MANAGED-BY).
func cellConfig() tw.CellConfig {
	return tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft},
		Padding:    tw.CellPadding{Global: tw.Padding{Right: gap, Overwrite: true}},
	}
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
		widths[c] = lipgloss.Width(title)
		for _, row := range t.rows {
			widths[c] = max(widths[c], lipgloss.Width(row[c]))
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
		width = max(width, lipgloss.Width(line))
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
