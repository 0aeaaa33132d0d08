package command

import (
	"fmt"
	"reflect"
	"strings"
)

// mark stands on both sides of a command in Prose, and nowhere else in it.
const mark = "`"

// Prose is a text for people that may have commands in it, each between backquotes:
// what is wrong, and what to do. It is made by Say, or is a constant, so that nothing in
// it can be taken for a command but a Command.
type Prose string

// Say is fmt.Sprintf for Prose. Commands and Prose among the arguments stay what they
// are; every other text loses its backquotes. The arguments are changed in place.
func Say(format string, args ...any) Prose {
	plain(args)
	return Prose(fmt.Sprintf(format, args...))
}

// Text is a text of somebody else's as Prose, without commands.
func Text(text string) Prose { return Prose(unmarked(text)) }

// Join puts texts together, with a separator between any two.
func Join(texts []Prose, separator string) Prose {
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = string(t)
	}
	return Prose(strings.Join(all, separator))
}

// JoinCommands is Join for texts that are commands alone.
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
	// IsCommand is whether Text is what Command.Shell wrote.
	IsCommand bool
}

// Parts are the pieces of a text, in their order. None is empty.
func (p Prose) Parts() []Part {
	var parts []Part
	for i, text := range strings.Split(string(p), mark) {
		if text != "" {
			parts = append(parts, Part{Text: text, IsCommand: i%2 == 1})
		}
	}
	return parts
}

// plain takes from texts what could be taken for commands.
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
