// Package cmd is the root of the commands: the flags that all of them have, help, signals and
// exit codes. Each command is a package below it, and util has what they share.
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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/mcp"
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

// Run runs the command that the environment asks for and returns the exit code of the process.
// The first SIGINT, SIGTERM or SIGHUP ends the command cleanly, the second at once.
func Run(env util.Environment) int {
	ctx, stop := withSignals(context.Background())
	defer stop()
	flags := util.NewGlobalFlags()
	root, outcome := newRoot(env, flags)
	cmd, err := root.ExecuteContextC(ctx)
	return exitCode(env.ErrOut, outcome(cmd, err), env.CommandReach(flags))
}

// call runs the command of env in this process, for mcp. It returns the messages of its error,
// and the exit code.
func call(ctx context.Context, env util.Environment, flags *util.GlobalFlags) (texts []string, code int) {
	root, outcome := newRoot(env, flags)
	cmd, err := root.ExecuteContextC(ctx)
	if err = outcome(cmd, err); err == nil {
		return nil, util.ExitOK
	}
	return messages(err, env.CommandReach(flags)), codeOf(err)
}

// NewRootCommand returns the tree of commands, for the generated documentation.
func NewRootCommand(env util.Environment) *cobra.Command {
	root, _ := newRootCommand(env)
	return root
}

// newRootCommand is newRoot with new flags.
func newRootCommand(env util.Environment) (root *cobra.Command, outcome func(called *cobra.Command, err error) error) {
	return newRoot(env, util.NewGlobalFlags())
}

// newRoot returns the tree of commands. outcome converts the error of the called command to the
// error for the user.
func newRoot(env util.Environment, flags *util.GlobalFlags) (root *cobra.Command, outcome func(called *cobra.Command, err error) error) {
	// ran is set once the code of a command runs: an error before is a usage error.
	ran := false
	root = &cobra.Command{
		// With "kubectl jobs-managedby" in Use, cobra would use "kubectl" as the command's name.
		Use:         "jobs-managedby",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: env.DisplayName()},
		Short:       "Trace and diagnose Jobs with managedBy, across all clusters",
		Long: `Find out why a Job does not run, where it runs, and which controller runs it, across all
clusters of your kubeconfig. The plugin covers Jobs of external controllers
(.spec.managedBy), such as MultiKueue.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(flags.Validate(), util.ValidateKinds(cmd), util.ValidateSelectors(cmd), util.ValidateFrom(cmd)); err != nil {
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
	root.AddCommand(mcp.NewCommand(env, flags, call, func() *cobra.Command { return NewRootCommand(env) }))
	setHelp(root)
	// cobra would add it too late for the generated documentation.
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
		return flags.Warnings.Outcome(err)
	}
}
