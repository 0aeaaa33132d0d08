// Package explain tells what the codes of check mean.
package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// NewCommand makes the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	return &cobra.Command{
		Use: "explain [CODE]",

		DisableFlagsInUseLine: true,
		Short:                 "Tell what a code of check means, how it shows, and what to do",
		Long: `Tell what a code of check means, how it comes about, how it shows, what to do, and
where it is documented. Without a CODE, list all of them. No cluster is asked.`,
		Example: strings.ReplaceAll(`  # All codes
  NAME explain

  # One of them
  NAME explain JM034

  # What is known of it, from what check has found
  NAME check -A -o jsonpath='{.items[0].code}' |
      xargs NAME explain`, "NAME", env.DisplayName()),
		Args: util.AtMostOne("a code", "CODE"),

		ValidArgsFunction: util.FirstOnly(util.OneOf(util.Codes()...)),

		RunE: func(cmd *cobra.Command, args []string) error {
			all := rules.Catalogue()
			table := env.TableNow(printers.TableOptions{Color: env.WantsColor(global.Color)})
			if len(args) == 0 {
				return util.Written(env.Out, func(w io.Writer) error { return printers.Rules(w, all, table) })
			}
			rule, ok := rules.ByCode(strings.ToUpper(args[0]))
			if !ok {
				for _, u := range rules.AllUnseen() {
					if strings.EqualFold(u.Code, args[0]) {
						return fmt.Errorf("check has no rule for %s (%s): %s", u.Code, u.Title, u.Reason)
					}
				}
				return &util.UsageError{Err: util.UnknownCode(args[0], all), Command: cmd.CommandPath()}
			}
			return util.Written(env.Out, func(w io.Writer) error { return printers.Rule(w, rule, table) })
		},
	}
}
