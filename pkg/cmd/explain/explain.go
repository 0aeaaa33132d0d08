// Package explain describes the codes of check.
package explain

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// explainOptions are the checked options of explain.
type explainOptions struct {
	util.Environment
	// rules are the rules to describe, and isAll is set if these are all.
	rules  []rules.Rule
	isAll  bool
	format *printers.Format
	table  printers.TableOptions
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "explain [CODE...] [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Explain a code: cause, signs and fix",
		Long: `Explain a code of check, trace or doctor: how the problem happens, how it shows, and what
to do. Without a CODE, list all codes. explain needs no cluster.`,
		Example: strings.ReplaceAll(`  # All codes
  NAME explain

  # One of them
  NAME explain JM034

  # Explain all codes that check finds
  NAME check -A \
      -o jsonpath='{range .items[*]}{.code}{"\n"}{end}' |
      sort -u | xargs -r NAME explain`, "NAME", env.DisplayName()),

		ValidArgsFunction: completeCodes,
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "Output format. One of: ("+strings.Join(documents(), ", ")+")")
	util.Describe(cmd, util.ForOutput, util.OneOf(documents()...), "output")
	cmd.RunE = util.Runs(func(args []string) (*explainOptions, error) { return newOptions(env, global, args, output) })
	return cmd
}

// completeCodes completes a code that was not given before.
func completeCodes(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	isGiven := func(choice string) bool {
		return slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(strings.ToUpper(choice), strings.ToUpper(arg)) })
	}
	choices, directive := util.OneOf(util.Codes()...)(cmd, args, typed)
	return slices.DeleteFunc(choices, isGiven), directive
}

// documents returns the values of -o.
func documents() []string { return []string{"json", "yaml", "kyaml"} }

func newOptions(env util.Environment, global *util.GlobalFlags, args []string, output string) (*explainOptions, error) {
	o := &explainOptions{Environment: env, rules: rules.Catalogue(), isAll: len(args) == 0, table: printers.TableOptions{Color: env.WantsColor(global.Color)}}
	var err error
	if output != "" && !slices.Contains(documents(), output) {
		return nil, &util.UsageError{Err: printers.UnknownFormat(output, documents())}
	}
	if o.format, err = printers.NewFormat(nil, output, false); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if o.isAll {
		return o, nil
	}
	o.rules = nil
	for _, code := range args {
		rule, err := ruleOf(code)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(o.rules, func(r rules.Rule) bool { return r.Code == rule.Code }) {
			o.rules = append(o.rules, rule)
		}
	}
	return o, nil
}

// ruleOf returns the rule of a code that the user typed.
func ruleOf(code string) (rules.Rule, error) {
	rule, ok := rules.ByCode(strings.ToUpper(code))
	if ok {
		return rule, nil
	}
	for _, u := range rules.UndetectableCodes() {
		if strings.EqualFold(u.Code, code) {
			return rule, fmt.Errorf("check has no rule for %s (%s): %s", u.Code, u.Title, u.Reason)
		}
	}
	return rule, &util.UsageError{Err: util.UnknownCode(code)}
}

// Run prints the descriptions.
func (o *explainOptions) Run(context.Context) error {
	return o.Print(o.write, o.writeTable)
}

func (o *explainOptions) write(w io.Writer) error {
	if o.format.IsTable() {
		return o.writeTable(w)
	}
	list := inspect.NewCodeList()
	for i := range o.rules {
		r := &o.rules[i]
		list.Items = append(list.Items, inspect.CodeDescription{
			Code: r.Code, Severity: r.Severity, Title: r.Title, Docs: r.Docs(), Link: r.Link,
			Why: r.Why, Shows: r.Shows, Remedy: r.Remedy,
		})
	}
	return o.format.PrintObject(w, list)
}

func (o *explainOptions) writeTable(w io.Writer) error {
	table := o.TableNow(o.table)
	if o.isAll {
		return printers.Rules(w, o.rules, table)
	}
	for i := range o.rules {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := printers.Rule(w, o.rules[i], table); err != nil {
			return err
		}
	}
	return nil
}
