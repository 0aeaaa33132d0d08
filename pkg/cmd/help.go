package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/mitchellh/go-wordwrap"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// usageTemplate looks like kubectl's own help. kubectl's templater is not used, because the hints
// at its end leave "kubectl " out of a plugin's name.
const usageTemplate = `{{if .Aliases}}Aliases:
  {{.NameAndAliases}}

{{end}}{{with .Example}}Examples:
{{.}}

{{end}}{{if .HasAvailableSubCommands}}Available Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}

{{end}}{{if .HasParent}}{{with flagUsages .}}{{.}}

{{end}}{{end}}Usage:
  {{if .Runnable}}{{.UseLine}}{{else}}{{.CommandPath}} COMMAND [options]{{end}}

{{if .HasAvailableSubCommands -}}
Use "{{.CommandPath}} COMMAND --help" for help with a command, and
"{{.Root.CommandPath}} options" for the options that all commands have.
{{else -}}
Use "{{.Root.CommandPath}} options" for the options that all commands have.
{{end}}`

// setHelp sets the form of help, and wraps the texts of all commands to its width.
func setHelp(root *cobra.Command) {
	usage := template.Must(template.New("usage").Funcs(template.FuncMap{
		"flagUsages": func(cmd *cobra.Command) string { return util.FlagUsages(helpFlags(cmd)) },
		"rpad":       func(s string, width int) string { return fmt.Sprintf("%-*s", width, s) },
	}).Parse(usageTemplate))
	root.SetUsageFunc(func(cmd *cobra.Command) error { return usage.Execute(cmd.OutOrStderr(), cmd) })
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		// The words behind it are the words of a command.
		ValidArgsFunction: subcommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, _, err := cmd.Root().Find(args)
			if err != nil {
				return &util.UsageError{Err: err, Command: cmd.Root().CommandPath()}
			}
			return found.Help()
		},
	})
	for _, cmd := range append(root.Commands(), root) {
		cmd.Long = fill(cmd.Long)
		cmd.DisableFlagsInUseLine = true
	}
}

// withoutContexts returns the commands that work in one context, or in none.
func withoutContexts() []string {
	return []string{"cancel", "completion", "dispatch", "explain", "help", "options", "recreate", "version"}
}

// helpFlags returns the flags in the help of a command: its own, and those that choose contexts
// if it reads several.
func helpFlags(cmd *cobra.Command) *pflag.FlagSet {
	shown := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	shown.AddFlagSet(cmd.LocalFlags())
	if !slices.Contains(withoutContexts(), cmd.Name()) {
		for _, name := range []string{"contexts", "all-contexts"} {
			shown.AddFlag(cmd.InheritedFlags().Lookup(name))
		}
	}
	return shown
}

// fill wraps paragraphs to the width of help. An indented paragraph is a table, and stays
// unchanged.
func fill(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, "  ") {
			continue
		}
		paragraphs[i] = wordwrap.WrapString(strings.Join(strings.Fields(p), " "), util.HelpWidth)
	}
	return strings.Join(paragraphs, "\n\n")
}

func newOptionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the options that all commands have",
		Args:  util.NoArguments,

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), util.FlagUsages(cmd.Root().PersistentFlags())+
				"\n\ndispatch, cancel and recreate take only --context of the options that choose contexts.\n")
			return err
		},
	}
}

func newVersionCommand(env util.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this plugin",
		Args:  util.NoArguments,

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(env.Out, "%s %s\n", env.DisplayName(), util.Version())
			return err
		},
	}
}

// subcommands completes the words of a command, for help.
func subcommands(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var values []string
	if parent, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
		for _, c := range parent.Commands() {
			if c.IsAvailableCommand() {
				values = append(values, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
		}
	}
	return util.OneOf(values...)(cmd, args, typed)
}
