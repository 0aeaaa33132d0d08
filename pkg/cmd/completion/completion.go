// Package completion prints and installs the scripts for completion in shells.
package completion

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
)

// forKubectl is the name of the script that kubectl runs. All other scripts are for shells.
const forKubectl = "kubectl"

// completionOptions are the checked options of completion.
type completionOptions struct {
	util.Environment
	// script is forKubectl or the name of a shell.
	script  string
	install bool
}

// NewCommand returns the command.
func NewCommand(env util.Environment) *cobra.Command {
	var install bool
	cmd := &cobra.Command{
		Use:                   "completion [kubectl|bash|zsh|fish|powershell] [options]",
		DisableFlagsInUseLine: true,
		Short:                 "Complete Jobs, contexts, owners and codes in the shell",
		Long: strings.NewReplacer("NAME", env.DisplayName(), "SCRIPT", completionFile(pluginName(env)),
			"FILE", program(env), "TIMEOUT", complete.TimeVariable).Replace(`Print the script for NAME <TAB>. It completes commands, flags and their
values: Jobs, namespaces, contexts, owners, kinds, codes and output formats.

kubectl runs the script as SCRIPT, which must be in a directory of PATH.
--install writes it next to the plugin, once for all later versions. The script needs
kubectl's own completion: see kubectl completion --help.

Names of objects come from the contexts that the command line chooses, within a quarter
of a second. A cluster that does not answer by then adds nothing. For clusters that are
far away, set TIMEOUT=1s in the environment.

With the name of a shell, print that shell's script for FILE, the plugin
without kubectl.`),
		Example: strings.ReplaceAll(`  # Install it once, for all shells that complete kubectl
  NAME completion --install

  # Install it by hand
  NAME completion > ~/bin/SCRIPT
  chmod +x ~/bin/SCRIPT

  # Complete the plugin's file itself, in this bash
  source <(NAME completion bash)`, "NAME", env.DisplayName()),
		Args: util.AtMostOne("the program to complete", "one of "+strings.Join(scriptNames(), ", ")),

		ValidArgsFunction: util.FirstOnly(util.OneOf(scripts()...)),
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "SCRIPT", completionFile(pluginName(env)))
	cmd.Flags().BoolVar(&install, "install", install, "Write the script to where kubectl finds it, instead of printing it")
	util.Describe(cmd, util.ForNothingElse, nil, "install")
	cmd.RunE = util.Runs(func(args []string) (*completionOptions, error) {
		o := &completionOptions{Environment: env, script: forKubectl, install: install}
		if len(args) > 0 {
			o.script = args[0]
		}
		switch {
		case !slices.Contains(scriptNames(), o.script):
			return nil, &util.UsageError{Err: fmt.Errorf("unknown shell %q; choose one of %s", o.script, strings.Join(scriptNames(), ", "))}
		case o.install && o.script != forKubectl:
			return nil, &util.UsageError{Err: fmt.Errorf("--install does not support %s. Save that script where your shell loads completions", o.script)}
		}
		return o, nil
	})
	return cmd
}

// scripts returns the available scripts with their descriptions.
func scripts() []string {
	return []string{
		forKubectl + "\tfor the plugin as kubectl calls it", "bash\tfor the plugin's file itself", "zsh\tfor the plugin's file itself",
		"fish\tfor the plugin's file itself", "powershell\tfor the plugin's file itself",
	}
}

func scriptNames() []string {
	var names []string
	for _, s := range scripts() {
		name, _, _ := strings.Cut(s, "\t")
		names = append(names, name)
	}
	return names
}

func (o *completionOptions) Run(context.Context) error {
	if o.install {
		return o.installScripts()
	}
	return util.WriteBuffered(o.Out, o.print)
}

func (o *completionOptions) print(w io.Writer) error {
	// cobra's scripts are for the name of the root command, which is not the name of the file.
	file := &cobra.Command{Use: program(o.Environment)}
	switch o.script {
	case "bash":
		return file.GenBashCompletionV2(w, true)
	case "zsh":
		return file.GenZshCompletion(w)
	case "fish":
		return file.GenFishCompletion(w, true)
	case "powershell":
		return file.GenPowerShellCompletionWithDesc(w)
	}
	_, err := io.WriteString(w, completionScript(pluginName(o.Environment)))
	return err
}
