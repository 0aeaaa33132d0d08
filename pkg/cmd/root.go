package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	// Credential plugins: exec, OIDC, and what tells users of the old cloud
	// providers' ones how to migrate.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

// Run runs the command that the environment asks for and returns the exit code
// of the process. The first SIGINT, SIGTERM or SIGHUP ends the command in good
// order, the second at once.
func Run(env Environment) int {
	ctx, stop := withSignals(context.Background())
	defer stop()
	root, outcome := newRootCommand(env)
	cmd, err := root.ExecuteContextC(ctx)
	return exitCode(env.ErrOut, outcome(cmd, err))
}

// NewRootCommand builds the tree of commands, for what documents it.
func NewRootCommand(env Environment) *cobra.Command {
	root, _ := newRootCommand(env)
	return root
}

// newRootCommand builds the tree of commands. outcome makes of the error of the one
// that was called what the user is told.
func newRootCommand(env Environment) (root *cobra.Command, outcome func(called *cobra.Command, err error) error) {
	// Whether the code of a command was reached: what goes wrong before is usage.
	ran := false
	flags := newGlobalFlags()
	root = &cobra.Command{
		// With "kubectl jobs-managedby" in Use, cobra would take "kubectl" for the
		// command's name.
		Use:         "jobs-managedby",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: env.displayName()},
		Short:       "Show the Jobs whose reconciliation is delegated through managedBy",
		Long: `Show the Jobs whose reconciliation is delegated to an external controller through
.spec.managedBy, over any number of clusters, in the state that is true.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.validate(); err != nil {
				return &usageError{err: err, command: cmd.CommandPath()}
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
		return &usageError{err: suggestFlag(cmd, err), command: cmd.CommandPath()}
	})
	addGlobalFlags(root, flags, newCompleter(env, flags))
	root.AddCommand(newListCommand(env, flags), newTraceCommand(env, flags), newCheckCommand(env, flags), newExplainCommand(env, flags), newKindsCommand(env, flags), newQueuesCommand(env, flags),
		newDispatchCommand(env, flags), newCancelCommand(env, flags), newSnapshotCommand(env, flags), newRecreateCommand(env, flags), newCompletionCommand(env), newOptionsCommand(), newVersionCommand(env))
	root.AddCommand(newLogsCommand(env, flags), newExecCommand(env, flags), newPortForwardCommand(env, flags))
	setHelp(root)
	// cobra would add it too late for what documents it.
	root.InitDefaultHelpCmd()
	return root, func(called *cobra.Command, err error) error {
		var usage *usageError
		if err != nil && !ran && !errors.As(err, &usage) {
			// cobra found an unknown command, or too many arguments.
			return &usageError{err: err, command: called.CommandPath()}
		}
		return flags.warned.outcome(err)
	}
}
