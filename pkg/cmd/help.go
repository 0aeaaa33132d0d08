package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
)

// usageTemplate is what kubectl's own help looks like. kubectl's templater is
// not used: the hints at its end leave "kubectl " out of a plugin's name.
const usageTemplate = `{{if .HasExample}}Examples:
{{.Example}}

{{end}}{{if .HasAvailableSubCommands}}Available Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}

{{end}}{{if .HasAvailableLocalFlags}}{{if .HasParent}}Options:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}

{{end}}{{end}}Usage:
  {{if .Runnable}}{{.UseLine}}{{else}}{{.CommandPath}} COMMAND [options]{{end}}
{{if .HasAvailableSubCommands}}
Use "{{.CommandPath}} COMMAND --help" for more information about a given command.{{end}}
Use "{{.Root.CommandPath}} options" for a list of global command-line options (applies to all commands).
`

func setHelp(root *cobra.Command) {
	root.SetUsageTemplate(usageTemplate)
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, _, err := cmd.Root().Find(args)
			if err != nil {
				return &usageError{err: err, command: cmd.Root().CommandPath()}
			}
			return found.Help()
		},
	})
}

func newOptionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the options that all commands have",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "The following options can be passed to any command:\n\n%s",
				cmd.Root().PersistentFlags().FlagUsagesWrapped(80))
			return err
		},
	}
}

func newVersionCommand(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this plugin",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(env.Out, "%s %s\n", env.displayName(), version())
			return err
		},
	}
}
