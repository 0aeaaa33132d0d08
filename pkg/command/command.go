// Package command represents commands of kubectl and of this plugin that messages advise, as
// words, and quotes them for a shell. It runs none of them.
//
// It is the only place that converts words to text. Names, values and messages from clusters are
// words, too, and may have been written by an attacker.
package command

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Command is a command in a message. It keeps its words unchanged: a word never becomes more than
// one word.
type Command struct {
	words []string
	// source is the command that writes the standard input; nil if there is none.
	source *Command
}

// Of returns a command of words, the first of which is the program.
func Of(words ...string) Command { return Command{words: slices.Clone(words)} }

// Kubectl returns a kubectl command for a context and a namespace; "" for none.
func Kubectl(context, namespace string, words ...string) Command {
	c := Of("kubectl", "--context", context)
	if namespace != "" {
		c = c.With("-n", namespace)
	}
	return c.With(words...)
}

// mostNodes is how many nodes one command names.
const mostNodes = 10

// Uncordon returns the command that makes nodes of a context schedulable again, the first ones if
// there are many.
func Uncordon(context string, nodes ...string) Command {
	return Kubectl(context, "", "uncordon").With(nodes[:min(mostNodes, len(nodes))]...)
}

// OutOfService returns the command that tells Kubernetes that nodes of a context are shut down, the first ones
// if there are many. Kubernetes then deletes their Pods without an answer of the node (KEP-2268).
func OutOfService(context string, nodes ...string) Command {
	return Kubectl(context, "", "taint", "node").With(nodes[:min(mostNodes, len(nodes))]...).With("node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
}

// plugin calls this plugin, under its first name in kubectl.
const plugin = "kubectl jobs-managedby"

// Plugin returns a command of this plugin. Reach changes its name to that of the user's call.
func Plugin(words ...string) Command { return Of(strings.Fields(plugin)...).With(words...) }

// PluginFor returns a command of this plugin for an object, with its context and namespace.
func PluginFor(k delegation.Kind, verb, context, namespace, name string) Command {
	return Plugin(verb, Argument(k, name), "-n", namespace, "--context", context)
}

// CancelFor returns the command that ends the dispatch of an object, with its owner.
func CancelFor(k delegation.Kind, context, namespace, name string, owner delegation.Owner) Command {
	return PluginFor(k, "cancel", context, namespace, name).With(OwnerFlag(owner)...)
}

// OwnerFlag returns the flag that dispatch and cancel need for the objects of an owner. They need none for our own,
// and take no objects of the built-in controller.
func OwnerFlag(owner delegation.Owner) []string {
	if owner == delegation.Dispatch || owner.IsBuiltIn() {
		return nil
	}
	return []string{"--managed-by", string(owner)}
}

// With returns the command with more words.
func (c Command) With(words ...string) Command {
	c.words = slices.Concat(c.words, words)
	return c
}

// FedBy returns the command with another command's output as its standard input.
func (c Command) FedBy(source Command) Command {
	c.source = &source
	return c
}

// Fed returns the command with a text as its standard input.
func (c Command) Fed(text string) Command { return c.FedBy(Of("printf", `%s\n`, text)) }

// IsZero reports whether there is no command.
func (c Command) IsZero() bool { return len(c.words) == 0 }

// Words returns the words of the command.
func (c Command) Words() []string { return slices.Clone(c.words) }

// Shell returns the command on one line for a shell. It contains neither control characters nor
// backquotes.
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

// String returns the command as it appears in Prose.
func (c Command) String() string {
	if c.IsZero() {
		return ""
	}
	return mark + c.Shell() + mark
}

// Prose returns the command as Prose.
func (c Command) Prose() Prose { return Prose(c.String()) }

// Patch returns a merge patch that sets the field at a path; nil removes the field.
func Patch(value any, path ...string) string {
	for _, name := range slices.Backward(path) {
		value = map[string]any{name: value}
	}
	return JSON(value)
}

// JSON returns a value of JSON types as text, for manifests and patches.
func JSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		// The value has only maps, strings, numbers and the like.
		panic(err)
	}
	return string(text)
}
