package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// runner is what flags and arguments become once they are checked.
type runner interface {
	run(ctx context.Context) error
}

// runs is the code of a command: it makes options of arguments and flags, and runs
// them. A mistake in the call becomes a usage error that names the command.
func runs[O runner](toOptions func(args []string) (O, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		o, err := toOptions(args)
		var refused *fleet.RefusedFlagsError
		var usage *usageError
		switch {
		case err == nil:
			return unlessInterrupted(cmd.Context(), o.run(cmd.Context()))
		case errors.As(err, &usage):
			usage.command = cmd.CommandPath()
			return err
		case errors.As(err, &refused):
			return &usageError{err: err, command: cmd.CommandPath()}
		}
		return err
	}
}

// oneContext marks commands that work in one context, --context or the current one.
const oneContext = "jobmanagedby.github.io/one-context"

// inOneContext are the annotations of such a command.
func inOneContext() map[string]string { return map[string]string{oneContext: ""} }

func isInOneContext(cmd *cobra.Command) bool {
	_, is := cmd.Annotations[oneContext]
	return is
}
