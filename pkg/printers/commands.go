package printers

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// advice lays out a text with commands at an indent. If there is a width, each command has its
// own lines, which can be pasted into a shell.
func advice(text command.Prose, indent string, o TableOptions) []string {
	parts := text.Parts()
	if o.Width == 0 || !slices.ContainsFunc(parts, func(p command.Part) bool { return p.IsCommand }) {
		return wrap(string(text), o.Width, indent)
	}
	p := palette{o.Color}
	var lines []string
	for _, part := range parts {
		if part.IsCommand {
			for _, line := range continuationLines(part.Text, indent+gap, o.Width) {
				lines = append(lines, indent+gap+p.bold(strings.TrimPrefix(line, indent+gap)))
			}
			continue
		}
		// Skip the punctuation after the last command.
		words := strings.TrimSpace(strings.TrimLeft(part.Text, ",;:."))
		if words != "" {
			lines = append(lines, wrap(words, o.Width, indent)...)
		}
	}
	return lines
}

// continuationLines returns a shell command on lines that end with a backslash, except the last. It
// never breaks a word, quoted or not, even if the word is wider.
func continuationLines(typed, indent string, width int) []string {
	const lineEnd = ` \`
	var lines []string
	line := indent
	for i, word := range words(typed) {
		switch {
		case i == 0:
			line += word
		case lipgloss.Width(line+" "+word+lineEnd) > width:
			lines = append(lines, line+lineEnd)
			line = indent + gap + word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// words returns the words of a command, including their quotes.
func words(typed string) []string {
	var within rune
	isEscaped := false
	return strings.FieldsFunc(typed, func(r rune) bool {
		switch {
		case isEscaped:
			isEscaped = false
			return false
		case r == '\\' && within != '\'':
			isEscaped = true
		case within == 0 && (r == '\'' || r == '"'):
			within = r
		case r == within:
			within = 0
		}
		return r == ' ' && within == 0
	})
}
