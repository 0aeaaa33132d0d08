package command

import (
	"cmp"
	"strings"
)

// Reach is how the user of a message must call commands, so that they work as this call of the plugin.
type Reach struct {
	// Plugin calls the plugin, such as "kubectl jobmanagedby"; "" for the name that Plugin uses. The same program
	// can be installed under several names.
	Plugin string
	// Flags reach the same clusters as the same user. In another kubeconfig, a context of the same name may
	// point elsewhere.
	Flags []string
}

// isUsual reports whether all commands work as they are.
func (r Reach) isUsual() bool { return cmp.Or(r.Plugin, plugin) == plugin && len(r.Flags) == 0 }

// Reached changes all commands of kubectl and this plugin in a text so that they work for a user.
func (p Prose) Reached(by Reach) Prose {
	if by.isUsual() {
		return p
	}
	var b strings.Builder
	for _, part := range p.Parts() {
		if part.IsCommand {
			part.Text = mark + Reached(part.Text, by) + mark
		}
		b.WriteString(part.Text)
	}
	return Prose(b.String())
}

// Reached is Prose.Reached for a result of Command.Shell.
func Reached(shell string, by Reach) string {
	if by.isUsual() {
		return shell
	}
	stages := pipeline(shell)
	for i, stage := range stages {
		stages[i] = by.reached(stage)
	}
	return strings.Join(stages, pipe)
}

// pipe separates two commands, the second of which reads the output of the first.
const pipe = " | "

// reached inserts the flags where they read best: after kubectl, and at the end of a command of
// this plugin, which gets the user's name for it. A command with its own kubeconfig stays unchanged.
func (r Reach) reached(command string) string {
	flags := ""
	if len(r.Flags) > 0 {
		flags = " " + Of(r.Flags...).Shell()
	}
	if arguments, isOurs := strings.CutPrefix(command, plugin+" "); isOurs {
		return cmp.Or(r.Plugin, plugin) + " " + arguments + flags
	}
	arguments, isKubectl := strings.CutPrefix(command, "kubectl ")
	if !isKubectl || strings.HasPrefix(arguments, "--kubeconfig") {
		return command
	}
	return "kubectl" + flags + " " + arguments
}

// pipeline returns the commands of a line. It relies on the quoting of Word: words are in single
// quotes, and single quotes in double quotes.
func pipeline(shell string) []string {
	var stages []string
	start, quote := 0, byte(0)
	for i := range len(shell) {
		switch c := shell[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case i >= start && strings.HasPrefix(shell[i:], pipe):
			stages = append(stages, shell[start:i])
			start = i + len(pipe)
		}
	}
	return append(stages, shell[start:])
}
