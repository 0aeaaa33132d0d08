package util

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// NoArguments is cobra.NoArgs with a better message.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but got %q", cmd.CommandPath(), args)
	}
	return nil
}

// AtMostOne is cobra.MaximumNArgs(1) with a better message.
func AtMostOne(what, form string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			hint := ""
			if kind, isKind := delegation.KindNamed(args[0]); isKind && len(args) == 2 {
				hint = fmt.Sprintf(". Write %s/%s", kind.Name, args[1])
			}
			return fmt.Errorf("%s takes at most one argument, %s as %s. It got %q%s", cmd.CommandPath(), what, form, args, hint)
		}
		return nil
	}
}

// ExactlyOne is cobra.ExactArgs(1) with a better message.
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

// SuggestFlag adds a similar flag to an error about a flag that does not exist, and says how to write a
// duration.
func SuggestFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration" {
		return fmt.Errorf("--%s %q is not a duration; write it as 90s, 5m or 36h", invalid.GetFlag().Name, invalid.GetValue())
	}
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

// ValidateSelectors checks the selectors of a command, which servers would refuse later.
func ValidateSelectors(cmd *cobra.Command) error {
	parse := map[string]func(string) error{
		"selector":       func(text string) error { _, err := labels.Parse(text); return err },
		"field-selector": func(text string) error { _, err := fields.ParseSelector(text); return err },
	}
	for _, name := range []string{"selector", "field-selector"} {
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			continue
		}
		if err := parse[name](flag.Value.String()); err != nil {
			return fmt.Errorf("--%s %q is invalid: %w", name, flag.Value, err)
		}
	}
	return nil
}
