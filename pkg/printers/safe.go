package printers

import (
	"strconv"
	"strings"
)

// Safe makes a string that came from a cluster or a kubeconfig harmless on a
// terminal: whatever is not printable, such as escape sequences, carriage
// returns and marks that turn the direction of writing, is shown as a Go
// escape. No cell of a table has a line break after it.
func Safe(s string) string {
	clean := true
	for _, r := range s {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\uFFFD' && s[i] != "\uFFFD"[0]:
			// One byte that is not UTF-8.
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i]), 16))
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// SafeLines is Safe for text of several lines, with tabs in them.
func SafeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		cells := strings.Split(lines[i], "\t")
		for n := range cells {
			cells[n] = Safe(cells[n])
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}
