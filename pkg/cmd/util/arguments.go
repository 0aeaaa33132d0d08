package util

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// NoArguments is like cobra.NoArgs, in words that help.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but got %q", cmd.CommandPath(), args)
	}
	return nil
}

// AtMostOne is like cobra.MaximumNArgs(1), in words that help.
func AtMostOne(what, form string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 || len(args) == 1 && args[0] == "" {
			return fmt.Errorf("%s takes at most one argument, %s as %s, but got %q", cmd.CommandPath(), what, form, args)
		}
		return nil
	}
}

// ExactlyOne is like cobra.ExactArgs(1), in words that help.
func ExactlyOne(what, form string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] != "" {
			return nil
		}
		given := ""
		if len(args) > 0 {
			given = fmt.Sprintf(", but got %q", args)
		}
		return fmt.Errorf("%s takes one argument, %s: %s %s%s", cmd.CommandPath(), what, cmd.CommandPath(), form, given)
	}
}

// SuggestFlag adds to an error about a flag that is not there which one may be meant.
func SuggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	nearest := fleet.Nearest(unknown.GetSpecifiedName(), names)
	if nearest == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, nearest)
}
