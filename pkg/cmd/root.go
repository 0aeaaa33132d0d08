// Package cmd is the root of the commands: the flags that all of them have, help, signals
// and exit codes. Each command is a package of its own below it, and what they share is in
// util.
package cmd

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/cancel"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/check"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/completion"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/doctor"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/exec"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/explain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/history"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/kinds"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/logs"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/ls"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/portforward"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/recreate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/snapshot"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/trace"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/wait"

	// Credential plugins: exec, OIDC, and what tells users of the old cloud
	// providers' ones how to migrate.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

// Run runs the command that the environment asks for and returns the exit code
// of the process. The first SIGINT, SIGTERM or SIGHUP ends the command in good
// order, the second at once.
func Run(env util.Environment) int {
	ctx, stop := withSignals(context.Background())
	defer stop()
	flags := util.NewGlobalFlags()
	root, outcome := newRoot(env, flags)
	cmd, err := root.ExecuteContextC(ctx)
	return exitCode(env.ErrOut, outcome(cmd, err), flags.ReachFlags()...)
}

// NewRootCommand builds the tree of commands, for what documents it.
func NewRootCommand(env util.Environment) *cobra.Command {
	root, _ := newRootCommand(env)
	return root
}

// newRootCommand is newRoot with flags that nobody else has to know.
func newRootCommand(env util.Environment) (root *cobra.Command, outcome func(called *cobra.Command, err error) error) {
	return newRoot(env, util.NewGlobalFlags())
}

// newRoot builds the tree of commands. outcome makes of the error of the one
// that was called what the user is told.
func newRoot(env util.Environment, flags *util.GlobalFlags) (root *cobra.Command, outcome func(called *cobra.Command, err error) error) {
	// Whether the code of a command was reached: what goes wrong before is usage.
	ran := false
	root = &cobra.Command{
		// With "kubectl jobs-managedby" in Use, cobra would take "kubectl" for the
		// command's name.
		Use:         "jobs-managedby",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: env.DisplayName()},
		Short:       "Show the Jobs whose reconciliation is delegated through managedBy",
		Long: `Show the Jobs whose reconciliation is delegated to an external controller through
.spec.managedBy, over any number of clusters, in the state that is true.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(flags.Validate(), util.ValidateSelectors(cmd)); err != nil {
				return &util.UsageError{Err: err, Command: cmd.CommandPath()}
			}
			ran = true
			return nil
		},
	}
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.ErrOut)
	root.SetArgs(env.Args)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &util.UsageError{Err: util.SuggestFlag(cmd, err), Command: cmd.CommandPath()}
	})
	addGlobalFlags(root, flags, complete.New(env, flags))
	root.AddCommand(ls.NewCommand(env, flags), trace.NewCommand(env, flags), check.NewCommand(env, flags), doctor.NewCommand(env, flags), explain.NewCommand(env, flags), kinds.NewCommand(env, flags), queues.NewCommand(env, flags), history.NewCommand(env, flags),
		dispatch.NewCommand(env, flags), cancel.NewCommand(env, flags), snapshot.NewCommand(env, flags), recreate.NewCommand(env, flags), completion.NewCommand(env), newOptionsCommand(), newVersionCommand(env))
	root.AddCommand(logs.NewCommand(env, flags), exec.NewCommand(env, flags), portforward.NewCommand(env, flags), wait.NewCommand(env, flags))
	setHelp(root)
	// cobra would add it too late for what documents it.
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.ValidArgsFunction != nil {
			cmd.ValidArgsFunction = util.PlainChoices(cmd.ValidArgsFunction)
		}
	}
	return root, func(called *cobra.Command, err error) error {
		var usage *util.UsageError
		if err != nil && !ran && !errors.As(err, &usage) {
			// cobra found an unknown command, or too many arguments.
			return &util.UsageError{Err: err, Command: called.CommandPath()}
		}
		return flags.Warned.Outcome(err)
	}
}
