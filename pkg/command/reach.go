package command

import "strings"

// Reached adds flags to all commands of kubectl and this plugin in a text, with which they reach
// the same clusters. In another kubeconfig, a context of the same name may point elsewhere.
func (p Prose) Reached(flags []string) Prose {
	if len(flags) == 0 {
		return p
	}
	var b strings.Builder
	for _, part := range p.Parts() {
		if part.IsCommand {
			part.Text = mark + Reached(part.Text, flags) + mark
		}
		b.WriteString(part.Text)
	}
	return Prose(b.String())
}

// Reached is Prose.Reached for a result of Command.Shell.
func Reached(shell string, flags []string) string {
	if len(flags) == 0 {
		return shell
	}
	words := Of(flags...).Shell()
	stages := pipeline(shell)
	for i, stage := range stages {
		stages[i] = reached(stage, words)
	}
	return strings.Join(stages, pipe)
}

// pipe separates two commands, the second of which reads the output of the first.
const pipe = " | "

// reached inserts the flags where they read best: after kubectl, and at the end of a command of
// this plugin. A command with its own kubeconfig stays unchanged.
func reached(command, flags string) string {
	arguments, isKubectl := strings.CutPrefix(command, "kubectl ")
	switch {
	case !isKubectl || strings.HasPrefix(arguments, "--kubeconfig"):
		return command
	case strings.HasPrefix(arguments, "jobs-managedby "):
		return command + " " + flags
	}
	return "kubectl " + flags + " " + arguments
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
