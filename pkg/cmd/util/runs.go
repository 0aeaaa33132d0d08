package util

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// runner has the checked flags and arguments of a command.
type runner interface {
	Run(ctx context.Context) error
}

// Runs returns the RunE of a command, which converts arguments and flags to options, and runs
// these. It makes wrong patterns and combinations of global flags usage errors, and adds the command's
// name to a usage error.
func Runs[O runner](toOptions func(args []string) (O, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		o, err := toOptions(args)
		var refused *fleet.RefusedFlagsError
		var badPattern *fleet.BadPatternError
		var usage *UsageError
		switch {
		case err == nil:
			return unlessInterrupted(cmd.Context(), o.Run(cmd.Context()))
		case errors.As(err, &usage):
			usage.Command = cmd.CommandPath()
			return err
		case errors.As(err, &refused), errors.As(err, &badPattern):
			return &UsageError{Err: err, Command: cmd.CommandPath()}
		}
		return err
	}
}

// oneContext marks commands that work in one context, --context or the current one.
const oneContext = "jobmanagedby.github.io/one-context"

// InOneContext returns the annotations of such a command.
func InOneContext() map[string]string { return map[string]string{oneContext: ""} }

// IsInOneContext reports whether a command works in one context.
func IsInOneContext(cmd *cobra.Command) bool {
	_, ok := cmd.Annotations[oneContext]
	return ok
}
