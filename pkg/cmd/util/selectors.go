package util

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

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
