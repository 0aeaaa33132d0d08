package printers

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestLayoutCosts: a row costs little more than what tablewriter needs for it. There may be ten
// thousand rows.
func TestLayoutCosts(t *testing.T) {
	const rows = 1000
	names := make([][]string, rows)
	for i := range names {
		names[i] = []string{"team-" + strconv.Itoa(i%10), "job-" + strconv.Itoa(i), "\x1b[33mPending\x1b[m", "0/1", "", "3d"}
	}
	each := testing.AllocsPerRun(5, func() {
		lines, err := (&table{titles: []string{"NAMESPACE", "NAME", "STATUS", "COMPLETIONS", "MIRROR", "AGE"}, shrinks: make([]bool, 6), rows: slices.Values(names)}).layout(0)
		assert.NilError(t, err)
		assert.Equal(t, len(lines), rows+1)
	}) / rows
	assert.Assert(t, each < 90, "%.0f allocations per row", each)
}

// TestLayout: columns have the visible width of their cells, and lines have no trailing blanks.
func TestLayout(t *testing.T) {
	lines, err := (&table{titles: []string{"NAME", "STATE", "WHY"}, shrinks: make([]bool, 3), rows: slices.Values([][]string{
		{"a", "\x1b[33mwaits\x1b[m", ""},
		{"日本", "ok", "x"},
	})}).layout(0)
	assert.NilError(t, err)
	assert.Equal(t, strings.Join(lines, "\n"), "NAME  STATE  WHY\na     \x1b[33mwaits\x1b[m\n日本  ok     x")
	_, err = (&table{titles: []string{"NAME"}, shrinks: make([]bool, 1), rows: slices.Values([][]string{{"a\nb"}})}).layout(0)
	assert.ErrorContains(t, err, "several lines")
}
