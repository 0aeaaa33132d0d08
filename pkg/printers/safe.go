package printers

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Safe makes a string from a cluster or a kubeconfig harmless on a terminal: characters that are
// not printable, such as escape sequences, carriage returns and marks that change the direction
// of text, become Go escapes. Its result has no line breaks.
func Safe(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			// The byte is not UTF-8.
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[0]), 16))
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}

// SafeLines is Safe for text with line breaks and tabs, which it keeps.
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
