// Package completion prints and installs the scripts by which shells complete words.
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

// forKubectl is the script that kubectl runs, beside those for shells.
const forKubectl = "kubectl"

// completionOptions are what completion needs to run, checked.
type completionOptions struct {
	util.Environment
	// script is forKubectl or the name of a shell.
	script  string
	install bool
}

// NewCommand makes the command.
func NewCommand(env util.Environment) *cobra.Command {
	var install bool
	cmd := &cobra.Command{
		Use:                   "completion [kubectl|bash|zsh|fish|powershell] [options]",
		DisableFlagsInUseLine: true,
		Short:                 "Have the shell complete Jobs, contexts, owners, codes and more",
		Long: strings.NewReplacer("NAME", env.DisplayName(), "SCRIPT", completionFile(pluginName(env)),
			"FILE", program(env), "TIMEOUT", complete.TimeVariable).Replace(`Print a script that has NAME <TAB> complete commands, flags and
their values: Jobs, namespaces, contexts, owners, kinds, codes, output formats.

kubectl runs it as SCRIPT, which has to be
in a folder of PATH. --install puts it beside the plugin; done once, it holds for
later versions of the plugin too. kubectl's own completion has to be set up: see
kubectl completion --help.

What is in a cluster is asked of the context that the words so far choose, by trace
of all of them, and within a quarter of a second: what does not answer by then gives
nothing to choose from, and no message either. For clusters that are far away,
TIMEOUT=1s in the environment waits longer.

With the name of a shell, print that shell's script for the plugin as it is called
without kubectl, FILE.`),
		Example: strings.ReplaceAll(`  # Once, and in all shells that complete kubectl
  NAME completion --install

  # The same by hand
  NAME completion > ~/bin/SCRIPT
  chmod +x ~/bin/SCRIPT

  # For the plugin's file itself, in this bash
  source <(NAME completion bash)`, "NAME", env.DisplayName()),
		Args: util.AtMostOne("what to print a script for", strings.Join(scriptNames(), ", ")),

		ValidArgsFunction: util.FirstOnly(util.OneOf(scripts()...)),
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "SCRIPT", completionFile(pluginName(env)))
	cmd.Flags().BoolVar(&install, "install", install, "Put the script where kubectl looks for it, instead of printing it")
	util.Describe(cmd, util.ForNothingElse, nil, "install")
	cmd.RunE = util.Runs(func(args []string) (*completionOptions, error) {
		o := &completionOptions{Environment: env, script: forKubectl, install: install}
		if len(args) > 0 {
			o.script = args[0]
		}
		switch {
		case !slices.Contains(scriptNames(), o.script):
			return nil, &util.UsageError{Err: fmt.Errorf("no completion script for %q. Use one of %s", o.script, strings.Join(scriptNames(), ", "))}
		case o.install && o.script != forKubectl:
			return nil, &util.UsageError{Err: fmt.Errorf("--install is not for %s, only for kubectl. The configuration of your shell says where its scripts go", o.script)}
		}
		return o, nil
	})
	return cmd
}

// scripts are what there are scripts for, with what they are.
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
	return util.Written(o.Out, o.print)
}

func (o *completionOptions) print(w io.Writer) error {
	// cobra's scripts are for the name of the root command, which is not that of
	// the file.
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
