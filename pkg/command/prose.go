package command

import (
	"fmt"
	"reflect"
	"strings"
)

// mark encloses a command in Prose. It has no other use there.
const mark = "`"

// Prose is a text for people that may contain commands, each between backquotes: the problem and
// the fix. Only Say and constants create it, so that only Commands look like commands.
type Prose string

// Say is fmt.Sprintf for Prose. Commands and Prose among the arguments are kept; all other text
// loses its backquotes. Say changes args in place.
func Say(format string, args ...any) Prose {
	plain(args)
	return Prose(fmt.Sprintf(format, args...))
}

// Text converts a foreign text to Prose, without commands.
func Text(text string) Prose { return Prose(unmarked(text)) }

// Join joins texts with a separator.
func Join(texts []Prose, separator string) Prose {
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = string(t)
	}
	return Prose(strings.Join(all, separator))
}

// JoinCommands is Join for commands.
func JoinCommands(commands []Command, separator string) Prose {
	all := make([]Prose, len(commands))
	for i, c := range commands {
		all[i] = c.Prose()
	}
	return Join(all, separator)
}

// Part is a piece of Prose.
type Part struct {
	Text string
	// IsCommand is whether Text is the result of Command.Shell.
	IsCommand bool
}

// Parts returns the non-empty pieces of a text, in their order.
func (p Prose) Parts() []Part {
	var parts []Part
	for i, text := range strings.Split(string(p), mark) {
		if text != "" {
			parts = append(parts, Part{Text: text, IsCommand: i%2 == 1})
		}
	}
	return parts
}

// plain removes backquotes from arguments that are not commands.
func plain(args []any) {
	for i, arg := range args {
		switch a := arg.(type) {
		case Command, Prose, nil:
		case error:
			args[i] = plainError{a}
		case fmt.Stringer:
			args[i] = unmarked(a.String())
		default:
			if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
				args[i] = unmarked(v.String())
			} else if text := fmt.Sprint(arg); strings.Contains(text, mark) {
				args[i] = unmarked(text)
			}
		}
	}
}

func unmarked(text string) string { return strings.ReplaceAll(text, mark, "'") }
