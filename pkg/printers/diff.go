package printers

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/pmezard/go-difflib/difflib"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
)

// Replacement writes what a Job becomes when it is recreated: a unified diff of both as YAML,
// then the changes with their reasons, then the warnings. from and to name the two sides. Of the
// options, only Color and Width count. The diff is not wrapped, so that it stays a valid diff.
func Replacement(w io.Writer, r *recreate.Replacement, from, to string, o TableOptions) error {
	lines, err := diffLines(r.Old.Object, r.New.Object, from, to)
	if err != nil {
		return fmt.Errorf("cannot compare the old Job with the new one: %w", err)
	}
	p := palette{o.Color}
	for i, line := range lines {
		lines[i] = p.diffLine(SafeLines(line), i < 2)
	}
	for _, c := range r.Changes {
		lines = append(lines, indentRest(changeText(c), o.Width)...)
	}
	for _, warning := range r.Warnings {
		wrapped := indentRest("warning: "+warning, o.Width)
		wrapped[0] = p.colored(lipgloss.Yellow, "warning:") + strings.TrimPrefix(wrapped[0], "warning:")
		lines = append(lines, wrapped...)
	}
	return writeLines(w, lines...)
}

// diffLines returns a unified diff of two objects; its first two lines name the sides.
func diffLines(before, after any, from, to string) ([]string, error) {
	texts := make([][]string, 2)
	for i, object := range []any{before, after} {
		text, err := escape.YAML(object)
		if err != nil {
			return nil, err
		}
		texts[i] = slices.Collect(strings.Lines(string(text)))
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: texts[0], B: texts[1], FromFile: Safe(from), ToFile: Safe(to), Context: 3,
	})
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil
}

// diffLine colours a line as diff tools do. isHeader marks the lines that name the sides.
func (p palette) diffLine(line string, isHeader bool) string {
	switch {
	case isHeader:
		return p.bold(line)
	case strings.HasPrefix(line, "@@"):
		return p.colored(lipgloss.Cyan, line)
	case strings.HasPrefix(line, "-"):
		return p.colored(lipgloss.Red, line)
	case strings.HasPrefix(line, "+"):
		return p.colored(lipgloss.Green, line)
	}
	return line
}

// indentRest breaks a text into lines, all indented but the first.
func indentRest(text string, width int) []string {
	lines := wrap(Safe(text), width, "  ")
	lines[0] = strings.TrimPrefix(lines[0], "  ")
	return lines
}
