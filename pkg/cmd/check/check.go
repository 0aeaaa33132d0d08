// Package check finds Jobs that are stuck, orphaned or run twice.
package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// Output formats that only check has.
const (
	junit = "junit"
	sarif = "sarif"
)

// failOnNone has no finding make the exit code.
const failOnNone = "none"

// checkFlags are what a user typed behind check.
type checkFlags struct {
	*util.GlobalFlags
	grace     time.Duration
	failOn    string
	suppress  []string
	watch     bool
	output    string
	noHeaders bool
}

// checkOptions are what check needs to run, checked.
type checkOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	query    read.Query
	rules    []rules.Rule
	judging  rules.Options
	failOn   inspect.Severity
	watch    bool
	format   *printers.Format
	table    printers.TableOptions
}

// NewCommand makes the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &checkFlags{GlobalFlags: global}
	cmd := &cobra.Command{
		Use: "check [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Find Jobs that are stuck, orphaned or run twice, and what to do",
		Long: `Look at delegated Jobs, their mirrors, and what MultiKueue has made of them, on
all contexts of the kubeconfig unless some are chosen, and tell what is wrong, the
worst first: a code, what was seen, and what to do. explain CODE tells more.

What began less than --grace ago counts as in progress. What could not be looked
at is told, with the codes that were therefore not judged, and never taken for
health. The exit code is 3 if there is a finding at or above --fail-on.`,
		Example: strings.ReplaceAll(`  # Everything, on all clusters of the kubeconfig
  NAME check -A

  # Not Jobs alone, but every kind that can be delegated
  NAME check -A --kinds all

  # Right after a change: judge all as it stands, and leave out what is known
  NAME check -A --grace 0s --suppress JM029,JM053=ml/train-old

  # In CI
  NAME check -A --fail-on error -o junit > report.xml`, "NAME", env.DisplayName()),
		Args: util.NoArguments,

		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.addTo(cmd)
	cmd.RunE = util.Runs(func([]string) (*checkOptions, error) { return f.toOptions(env) })
	return cmd
}

func (f *checkFlags) addTo(cmd *cobra.Command) {
	f.AddListFlags(cmd)
	f.AddFromFlag(cmd)
	flags := cmd.Flags()
	flags.DurationVar(&f.grace, "grace", util.DefaultGrace, "How long something may be in progress before it is judged; some rules wait longer. Zero judges all as it stands")
	util.Describe(cmd, util.ForFindings, cobra.NoFileCompletions, "grace")
	flags.StringVar(&f.failOn, "fail-on", string(inspect.Warning), "The least severity that makes the exit code 3. One of: (error, warning, info, none)")
	util.Describe(cmd, util.ForFindings, util.OneOf(severities()...), "fail-on")
	flags.StringSliceVar(&f.suppress, "suppress", nil, "Findings to leave out, comma-separated: CODE, or CODE=NAMESPACE/NAME, where * stands for anything")
	util.Describe(cmd, util.ForFindings, util.ListOf(util.OneOf(util.Codes()...), ""), "suppress")
	flags.BoolVarP(&f.watch, "watch", "w", false, "After looking, watch, and show what has changed")
	util.Describe(cmd, util.ForFollowing, nil, "watch")
	formats := append(printers.Formats(), junit, sarif)
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: ("+strings.Join(formats, ", ")+")")
	util.Describe(cmd, util.ForOutput, util.OneOf(formats...), "output")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "Print rows alone, without titles, evidence and remedies")
	util.Describe(cmd, util.ForOutput, nil, "no-headers")
}

// severities are what --fail-on can be.
func severities() []string {
	var values []string
	for _, s := range inspect.Severities() {
		values = append(values, string(s))
	}
	return append(values, failOnNone)
}

func (f *checkFlags) toOptions(env util.Environment) (*checkOptions, error) {
	o := &checkOptions{
		Environment: env, flags: f.GlobalFlags, rules: rules.All(), watch: f.watch,
		query:  read.Query{AllNamespaces: f.AllNamespaces, Kinds: f.Kinds},
		failOn: inspect.Severity(f.failOn),
	}
	suppressed, err := newSuppression(f.suppress, o.rules)
	var formatErr error
	o.format, formatErr = printers.NewFormat(f.output, f.noHeaders, junit, sarif)
	if err := errors.Join(err, formatErr, f.conflicts()); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	o.judging = rules.Options{Grace: f.grace, Suppressed: suppressed.matches, Reach: f.ReachFlags()}
	o.contexts, err = f.Load(&o.Environment, util.EveryContext)
	if err != nil {
		return nil, err
	}
	util.OneNamespace(o.contexts)
	o.table = printers.TableOptions{Kinds: !o.query.OnlyJobs(), Wide: o.format.Wide(), NoHeaders: f.noHeaders, Color: env.WantsColor(f.Color)}
	return o, nil
}

func (f *checkFlags) conflicts() error {
	severities := inspect.Severities()
	switch {
	case f.grace < 0:
		return fmt.Errorf("--grace cannot be less than zero, and is %s", f.grace)
	case f.failOn != failOnNone && !slices.Contains(severities, inspect.Severity(f.failOn)):
		return fmt.Errorf("--fail-on is one of error, warning, info and none, not %q", f.failOn)
	case f.From != "" && f.watch:
		return errors.New("--from cannot be combined with --watch: nothing changes in a bundle")
	case f.watch && (f.output == junit || f.output == sarif):
		return fmt.Errorf("-o %s is one report, and cannot be combined with --watch", f.output)
	}
	return nil
}
