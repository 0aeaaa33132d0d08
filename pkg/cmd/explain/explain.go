// Package explain describes the codes of check.
package explain

import (
	"context"
	"fmt"
	"io"
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
		Use: "explain [CODE] [options]",

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
      sort -u | xargs -n 1 NAME explain`, "NAME", env.DisplayName()),
		Args: util.AtMostOne("a code", "CODE"),

		ValidArgsFunction: util.FirstOnly(util.OneOf(util.Codes()...)),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "Output format. One of: ("+strings.Join(documents(), ", ")+")")
	util.Describe(cmd, util.ForOutput, util.OneOf(documents()...), "output")
	cmd.RunE = util.Runs(func(args []string) (*explainOptions, error) { return newOptions(env, global, args, output) })
	return cmd
}

// documents returns the values of -o.
func documents() []string { return []string{"json", "yaml", "kyaml"} }

func newOptions(env util.Environment, global *util.GlobalFlags, args []string, output string) (*explainOptions, error) {
	o := &explainOptions{Environment: env, rules: rules.Catalogue(), isAll: len(args) == 0, table: printers.TableOptions{Color: env.WantsColor(global.Color)}}
	var err error
	if o.format, err = printers.NewFormat(output, false); err == nil && output != "" && !o.format.IsDocument() {
		err = fmt.Errorf("unknown output format %q; choose one of %s", output, strings.Join(documents(), ", "))
	}
	if err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if o.isAll {
		return o, nil
	}
	rule, ok := rules.ByCode(strings.ToUpper(args[0]))
	if ok {
		o.rules = []rules.Rule{rule}
		return o, nil
	}
	for _, u := range rules.UndetectableCodes() {
		if strings.EqualFold(u.Code, args[0]) {
			return nil, fmt.Errorf("check has no rule for %s (%s): %s", u.Code, u.Title, u.Reason)
		}
	}
	return nil, &util.UsageError{Err: util.UnknownCode(args[0])}
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
	return printers.Rule(w, o.rules[0], table)
}
