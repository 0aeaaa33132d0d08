package printers_test

import (
	"strconv"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
)

// vt emulates as much of a terminal as a live footer needs. Its rows are endless, but the cursor
// does not go above the last rows, of which there are height.
type vt struct {
	t             *testing.T
	width, height int
	rows          []vtRow
	row, column   int
	// wrapped counts lines that were broken because they were too long.
	wrapped int
}

type vtRow struct {
	// cells are the contents of the columns; "" behind a wide rune.
	cells []string
	// continued is set if the row continues the line of the row above.
	continued bool
}

func newVT(t *testing.T, width int) *vt {
	t.Helper()
	return &vt{t: t, width: width, height: 24, rows: []vtRow{{}}}
}

func (v *vt) Write(p []byte) (int, error) {
	text := []rune(string(p))
	for i := 0; i < len(text); i++ {
		switch r := text[i]; r {
		case '\r':
			v.column = 0
		case '\n':
			v.down(false)
		case '\x1b':
			end := i + 2
			for text[end] < '@' {
				end++
			}
			v.control(string(text[i+2:end]), text[end])
			i = end
		default:
			v.put(r)
		}
	}
	return len(p), nil
}

func (v *vt) down(continued bool) {
	v.row++
	v.column = 0
	if v.row == len(v.rows) {
		v.rows = append(v.rows, vtRow{continued: continued})
	}
}

func (v *vt) put(r rune) {
	width := lipgloss.Width(string(r))
	if v.column+width > v.width {
		v.wrapped++
		v.down(true)
	}
	row := &v.rows[v.row]
	for len(row.cells) < v.column+width {
		row.cells = append(row.cells, " ")
	}
	row.cells[v.column] = string(r)
	for i := 1; i < width; i++ {
		row.cells[v.column+i] = ""
	}
	v.column += width
}

func (v *vt) control(argument string, command rune) {
	switch command {
	case 'm':
	case 'A':
		n, err := strconv.Atoi(argument)
		if err != nil {
			v.t.Fatalf("cursor up by %q", argument)
		}
		v.row = max(v.row-n, len(v.rows)-v.height, 0)
	case 'J':
		v.rows = v.rows[:v.row+1]
		row := &v.rows[v.row]
		row.cells = row.cells[:min(v.column, len(row.cells))]
	default:
		v.t.Fatalf("unknown escape sequence %q %q", argument, command)
	}
}

// lines returns the lines on the screen, each complete.
func (v *vt) lines() []string {
	var lines []string
	for _, row := range v.rows {
		text := strings.Join(row.cells, "")
		if row.continued {
			lines[len(lines)-1] += text
		} else {
			lines = append(lines, text)
		}
	}
	return lines
}

// resize changes the width of the terminal. Some terminals wrap their lines again (reflow),
// others cut them.
func (v *vt) resize(width int, reflow bool) {
	v.width = width
	if !reflow {
		for i := range v.rows {
			v.rows[i].cells = v.rows[i].cells[:min(width, len(v.rows[i].cells))]
		}
		return
	}
	var rows []vtRow
	row := 0
	for i := 0; i < len(v.rows); {
		// The cursor is always at the beginning of a line.
		if i == v.row {
			row = len(rows)
		}
		cells := v.rows[i].cells
		for i++; i < len(v.rows) && v.rows[i].continued; i++ {
			cells = append(cells, v.rows[i].cells...)
		}
		for first := true; first || len(cells) > 0; first = false {
			n := min(width, len(cells))
			if n < len(cells) && cells[n] == "" {
				n--
			}
			rows = append(rows, vtRow{cells: cells[:n:n], continued: !first})
			cells = cells[n:]
		}
	}
	v.rows, v.row = rows, row
}

// lineOfCursor returns the number of the line with the cursor.
func (v *vt) lineOfCursor() int {
	line := -1
	for _, row := range v.rows[:v.row+1] {
		if !row.continued {
			line++
		}
	}
	return line
}
