package command

import "strings"

// Reached is a text whose commands, kubectl's and our own, have more flags: those by which
// whoever runs them reaches the same clusters. A context of that name may lead elsewhere in
// another kubeconfig.
func (p Prose) Reached(by []string) Prose {
	if len(by) == 0 {
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

// Reached is Prose.Reached for what Command.Shell wrote.
func Reached(shell string, by []string) string {
	if len(by) == 0 {
		return shell
	}
	flags := Of(by...).Shell()
	stages := pipeline(shell)
	for i, stage := range stages {
		stages[i] = reached(stage, flags)
	}
	return strings.Join(stages, pipe)
}

// pipe stands between commands of which the first feeds the second.
const pipe = " | "

// reached has the flags where they read best: behind kubectl, and at the end of a command of
// ours. What names a kubeconfig of its own has its own way.
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

// pipeline are the commands of which a line consists. Where a word is quoted, that is in
// single quotes, and single quotes are in double ones, as Word writes them.
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
