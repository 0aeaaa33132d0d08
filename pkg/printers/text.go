package printers

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
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

// jsonPathAsJSON is the one template whose output is a document.
const jsonPathAsJSON = "jsonpath-as-json"

// visibleJSON is a printer of JSON with only visible characters.
type visibleJSON struct{ printers.ResourcePrinter }

// PrintObj writes an object.
func (p visibleJSON) PrintObj(o runtime.Object, w io.Writer) error {
	return p.ResourcePrinter.PrintObj(o, escape.JSONWriter(w))
}

// yamlPrinter is kubectl's printer of YAML, with only visible characters.
type yamlPrinter struct{ printed int }

// PrintObj writes an object, after a separator if it is not the first.
func (p *yamlPrinter) PrintObj(o runtime.Object, w io.Writer) error {
	text, err := escape.YAML(o)
	if err != nil {
		return err
	}
	p.printed++
	if p.printed > 1 {
		if err := writeAll(w, "---\n"); err != nil {
			return err
		}
	}
	return writeAll(w, string(text))
}

// replaceTexts replaces every text in an object, also the names of fields, because a template
// prints them unchanged, on a terminal too. Custom columns are a table, so their texts become
// Safe. Those of other templates become SafeLines, because templates print lines. The text of the
// template itself stays as the user wrote it.
func replaceTexts(value any, by func(string) string) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if text, isText := field.(string); isText {
				field = by(text)
			}
			replaceTexts(field, by)
			if name := by(key); name != key {
				delete(v, key)
				v[name] = field
				continue
			}
			v[key] = field
		}
	case []any:
		for i, item := range v {
			if text, isText := item.(string); isText {
				v[i] = by(text)
			}
			replaceTexts(item, by)
		}
	}
}

func lineCount(text string) int { return 1 + strings.Count(text, "\n") }

// widthOf returns the width of a text on a terminal.
func widthOf(text string) int {
	// Most cells are plain text, or plain text in a colour, and there may be a hundred thousand
	// cells.
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

// colorLength returns the length of the sequence that sets a colour at the start of a text, 0 if
// there is none (ECMA-48: SGR).
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

// cut shortens a line that is too wide for a terminal; a width of 0 is unlimited.
func cut(line string, width int) string {
	if width == 0 || widthOf(line) <= width {
		return line
	}
	return ansi.Truncate(line, width, "…")
}

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
