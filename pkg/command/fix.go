package command

import (
	"slices"
	"strconv"
	"strings"
)

// Fix is one way to solve a problem.
type Fix struct {
	// Text says in the imperative what to do.
	Text string `json:"text"`
	// Command does it, as words; empty where no command does. Words in capitals, such as
	// CONTEXT and FILE, are for the reader to replace.
	Command []string `json:"command"`
}

// or joins alternatives in Prose.
const or = "; or "

// Alternatives joins fixes into one text, from which Prose.Fixes gets them back.
func Alternatives(fixes []Fix) Prose {
	texts := make([]Prose, len(fixes))
	for i, f := range fixes {
		texts[i] = f.Prose()
	}
	return Join(texts, or)
}

// Fixes splits a text into steps: alternatives, and what each command ends. What follows
// the last command is a step of its own.
func (p Prose) Fixes() []Fix {
	var fixes []Fix
	text := ""
	for _, part := range p.Parts() {
		if part.IsCommand {
			fixes = append(fixes, Fix{Text: text, Command: Words(part.Text)})
			text = ""
			continue
		}
		alternatives := strings.Split(part.Text, or)
		last := len(alternatives) - 1
		for _, alternative := range alternatives[:last] {
			if text := step(alternative); text != "" {
				fixes = append(fixes, Fix{Text: text, Command: []string{}})
			}
		}
		text = step(alternatives[last])
	}
	if text != "" {
		fixes = append(fixes, Fix{Text: text, Command: []string{}})
	}
	return fixes
}

// step strips what joins a step to the one before it, and to its command.
func step(text string) string {
	text = strings.Trim(text, " ,;:.")
	for _, conjunction := range []string{"or ", "and "} {
		text = strings.TrimPrefix(text, conjunction)
	}
	return strings.TrimSpace(text)
}

// Shell returns the command on one line for a shell, "" if there is none.
func (f Fix) Shell() string {
	if len(f.Command) == 0 {
		return ""
	}
	if line := f.Command[len(f.Command)-1]; slices.Equal(f.Command, []string{shell, shellCommand, line}) {
		return line
	}
	return Of(f.Command...).Shell()
}

// Prose returns the fix as a text with its command.
func (f Fix) Prose() Prose {
	command := f.Shell()
	switch {
	case command == "":
		return Text(f.Text)
	case f.Text == "":
		return Prose(mark + command + mark)
	}
	return Text(f.Text) + Prose(": "+mark+command+mark)
}

// shell and its flag run a pipeline, which has no words of its own.
const (
	shell        = "sh"
	shellCommand = "-c"
)

// Words returns the words of a line that Command.Shell wrote. A pipeline becomes one word
// for a shell.
func Words(line string) []string {
	if len(pipeline(line)) > 1 {
		return []string{shell, shellCommand, line}
	}
	words := []string{}
	var word strings.Builder
	isWord := false
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ':
			if isWord {
				words = append(words, word.String())
			}
			word.Reset()
			isWord = false
			i++
		case strings.HasPrefix(line[i:], "$'"):
			text, length := quoted(line[i+1:])
			word.WriteString(unescaped(text))
			i, isWord = i+1+length, true
		case c == '\'' || c == '"':
			text, length := quoted(line[i:])
			word.WriteString(text)
			i, isWord = i+length, true
		default:
			word.WriteByte(c)
			i, isWord = i+1, true
		}
	}
	if isWord {
		words = append(words, word.String())
	}
	return words
}

// quoted returns what is between the quote that a text begins with and the next one, and
// the length of both with it.
func quoted(text string) (content string, length int) {
	end := strings.IndexByte(text[1:], text[0])
	if end < 0 {
		return text[1:], len(text)
	}
	return text[1 : end+1], end + len("''")
}

// unescaped replaces the octal escapes that Word writes.
func unescaped(text string) string {
	var b strings.Builder
	const digits = 3
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+digits < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+1+digits], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += digits
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
