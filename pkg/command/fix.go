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
	// Then are the steps that complete the fix, in their order; absent if there are none.
	Then []Step `json:"then,omitempty"`
}

// Steps returns all steps of the fix, in their order.
func (f Fix) Steps() []Step { return append([]Step{{Text: f.Text, Command: f.Command}}, f.Then...) }

// FollowedBy returns the fix with the steps of another one as its last steps, each step once.
func (f Fix) FollowedBy(next Fix) Fix {
	f.Then = AddSteps(f.Steps(), next.Steps())[1:]
	return f
}

// Includes reports whether the fix has all steps of another one.
func (f Fix) Includes(other Fix) bool {
	steps := f.Steps()
	return len(AddSteps(steps, other.Steps())) == len(steps)
}

// Step is a further step of a fix.
type Step struct {
	// Text says in the imperative what to do; empty if the command says it.
	Text string `json:"text"`
	// Command does it, as words; empty where no command does.
	Command []string `json:"command"`
}

// AddSteps returns steps and after them those of others that they lack. It changes neither.
func AddSteps(steps, others []Step) []Step {
	steps = slices.Clone(steps)
	for _, other := range others {
		if !slices.ContainsFunc(steps, func(s Step) bool { return s.Text == other.Text && slices.Equal(s.Command, other.Command) }) {
			steps = append(steps, other)
		}
	}
	return steps
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

// Fixes splits a text into alternatives, which "or" joins, and each of them into steps, which a
// command ends.
func (p Prose) Fixes() []Fix {
	var f fixer
	text := ""
	for _, part := range p.Parts() {
		if part.IsCommand {
			f.add(text, Words(part.Text))
			text = ""
			continue
		}
		alternatives := strings.Split(part.Text, or)
		last := len(alternatives) - 1
		for _, alternative := range alternatives[:last] {
			f.add(alternative, []string{})
			f.startsAlternative = true
		}
		text = alternatives[last]
	}
	f.add(text, []string{})
	return f.fixes
}

// fixer collects the fixes of a text.
type fixer struct {
	fixes []Fix
	// startsAlternative is whether the next step begins an alternative.
	startsAlternative bool
}

// add adds a step to the last fix, or begins another one.
func (f *fixer) add(text string, command []string) {
	text = strings.Trim(text, " ,;:.")
	startsAlternative := f.startsAlternative || len(f.fixes) == 0 || text == "or" || strings.HasPrefix(text, "or ")
	if text = step(text); text == "" && len(command) == 0 {
		return
	}
	f.startsAlternative = false
	if startsAlternative {
		f.fixes = append(f.fixes, Fix{Text: text, Command: command})
		return
	}
	last := &f.fixes[len(f.fixes)-1]
	last.Then = append(last.Then, Step{Text: text, Command: command})
}

// step strips what joins a step to the one before it.
func step(text string) string {
	for _, conjunction := range []string{"or", "and", "then"} {
		if rest, isJoined := strings.CutPrefix(text, conjunction); isJoined && (rest == "" || rest[0] == ' ') {
			text = strings.TrimSpace(rest)
		}
	}
	return text
}

// Shell returns the command on one line for a shell, "" if there is none.
func (f Fix) Shell() string { return line(f.Command) }

// line returns words on one line for a shell, "" if there are none.
func line(words []string) string {
	if len(words) == 0 {
		return ""
	}
	if line := words[len(words)-1]; slices.Equal(words, []string{shell, shellCommand, line}) {
		return line
	}
	return Of(words...).Shell()
}

// Prose returns the fix as a text with its commands.
func (f Fix) Prose() Prose {
	text := prose(f.Text, f.Command)
	for _, s := range f.Then {
		text += ", and then " + prose(s.Text, s.Command)
	}
	return text
}

func prose(text string, words []string) Prose {
	command := line(words)
	switch {
	case command == "":
		return Text(text)
	case text == "":
		return Prose(mark + command + mark)
	}
	return Text(text) + Prose(": "+mark+command+mark)
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

// quoted returns the text between the quote at the beginning and the next one, and the length
// including both quotes.
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
