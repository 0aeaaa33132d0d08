// Package command holds what people are told to run, kubectl's commands and our own, as
// words, and writes them for a shell. It runs none of them.
//
// This is the only place that makes text of words. Names, values and messages of
// clusters are words, too, and whoever may write them may write anything.
package command

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Command is one that people are told to run. It has the words that it was made of,
// whatever is in them: nothing that is given to it as a word is ever more than that.
type Command struct {
	words []string
	// source is what writes its standard input; nil if nothing does.
	source *Command
}

// Of makes a command of its words, the first of which is the program.
func Of(words ...string) Command { return Command{words: slices.Clone(words)} }

// Kubectl is a command of kubectl's: in a context, and in a namespace, or in none if
// that is "".
func Kubectl(context, namespace string, words ...string) Command {
	c := Of("kubectl", "--context", context)
	if namespace != "" {
		c = c.With("-n", namespace)
	}
	return c.With(words...)
}

// Plugin is a command of our own, by the name that kubectl finds the plugin by.
func Plugin(words ...string) Command { return Of("kubectl", "jobs-managedby").With(words...) }

// PluginFor is one of our own commands for an object, in its context and namespace.
func PluginFor(k delegation.Kind, verb, context, namespace, name string) Command {
	return Plugin(verb, Argument(k, name), "-n", namespace, "--context", context)
}

// With is the command with more words.
func (c Command) With(words ...string) Command {
	c.words = slices.Concat(c.words, words)
	return c
}

// FedBy is the command with what another one writes as its standard input.
func (c Command) FedBy(source Command) Command {
	c.source = &source
	return c
}

// Fed is the command with a text as its standard input.
func (c Command) Fed(text string) Command { return c.FedBy(Of("printf", `%s\n`, text)) }

// IsZero says whether there is nothing to run.
func (c Command) IsZero() bool { return len(c.words) == 0 }

// Words are what the command was made of.
func (c Command) Words() []string { return slices.Clone(c.words) }

// Shell is the command on one line that a shell takes as it is. There is nothing in it
// that a terminal would act on, and no backquote.
func (c Command) Shell() string {
	quoted := make([]string, len(c.words))
	for i, word := range c.words {
		quoted[i] = Word(word)
	}
	text := strings.Join(quoted, " ")
	if c.source != nil {
		text = c.source.Shell() + pipe + text
	}
	return text
}

// String is the command as it stands in Prose.
func (c Command) String() string {
	if c.IsZero() {
		return ""
	}
	return mark + c.Shell() + mark
}

// Prose is the command alone.
func (c Command) Prose() Prose { return Prose(c.String()) }

// Patch is a merge patch that gives a field a value, by the names on the way to it; nil
// takes the field off.
func Patch(value any, path ...string) string {
	for _, name := range slices.Backward(path) {
		value = map[string]any{name: value}
	}
	return JSON(value)
}

// JSON is a value of JSON types as text, to be applied or to be patched with.
func JSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		// There is nothing in it but maps, strings, numbers and the like.
		panic(err)
	}
	return string(text)
}
