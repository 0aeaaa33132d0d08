// Package check finds Jobs that are stuck, orphaned or run twice.
package check

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
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

// checkFlags are check's flags as the user gave them.
type checkFlags struct {
	*util.GlobalFlags
	kinds     []string
	grace     time.Duration
	failOn    string
	suppress  []string
	watch     bool
	output    string
	noHeaders bool
	selector  string
	// withPassed adds the passed rules to a JUnit report.
	withPassed bool
	// exec is the command to run for each finding that appears or is cleared.
	exec        string
	execTimeout time.Duration
	// isExecGiven and isTimeoutGiven are set if --exec and --exec-timeout were given, with any value.
	isExecGiven, isTimeoutGiven bool
}

// checkOptions are the checked options of check.
type checkOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	query    read.Query
	// names are the Jobs to check, empty for all.
	names []read.Wanted
	named namedJobs
	// missing is the error for the names that the last reading did not find, nil if it found all.
	missing error
	rules   []rules.Rule
	judging rules.Options
	failOn  inspect.Severity
	watch   bool
	// withPassed adds the passed rules to a JUnit report.
	withPassed bool
	// notifier runs a command while check watches; nil without --exec.
	notifier *notifier
	format   *printers.Format
	table    printers.TableOptions
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &checkFlags{GlobalFlags: global}
	completer := complete.New(env, global)
	cmd := &cobra.Command{
		Use: "check [[KIND/]NAME...] [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Find stuck, orphaned and duplicated Jobs, and their fixes",
		Long: `Check delegated Jobs, their mirrors and MultiKueue's objects in the current namespace, or
in all with -A. check reads all contexts of the kubeconfig, unless you choose some. It
prints a summary, then each problem with its fix, the worst first. For named Jobs, or
with -o wide, it prints the evidence too. "explain CODE" describes a problem.

check does not list problems younger than --grace, because many pass by themselves: the
summary counts the errors and warnings among them. It also says what could not be checked.
The exit code is 3 if there is a finding at or above --fail-on, and 4 if something could
not be checked.`,
		Example: strings.ReplaceAll(`  # Check everything, on all clusters of the kubeconfig
  NAME check -A

  # Check one Job, with the evidence
  NAME check train -n ml

  # Right after a change: show all problems, except known ones
  NAME check -A --grace 0s --suppress JM029,JM053=ml/train-old

  # Run a program for each new or cleared finding
  NAME check -A -w --exec ./notify.sh

  # In CI, for one team
  NAME check -A -l team=vision -o junit > report.xml`, "NAME", env.DisplayName()),

		ValidArgsFunction: completer.Func(completer.Objects(util.EveryContext)),
	}
	f.addTo(cmd)
	cmd.RunE = util.Runs(func(args []string) (*checkOptions, error) {
		f.isExecGiven, f.isTimeoutGiven = cmd.Flags().Changed("exec"), cmd.Flags().Changed("exec-timeout")
		return f.toOptions(env, args)
	})
	return cmd
}

func (f *checkFlags) addTo(cmd *cobra.Command) {
	f.AddNamespacesFlag(cmd, "check Jobs")
	util.AddKindsFlag(cmd, &f.kinds, "Kinds to read", delegation.Job().Name)
	f.AddFromFlag(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.selector, "selector", "l", "", "Selector (label query): check the Jobs whose origin or mirror matches")
	util.Describe(cmd, util.ForObjects, cobra.NoFileCompletions, "selector")
	flags.DurationVar(&f.grace, "grace", util.DefaultGrace, "How long a problem may last before it counts. Some codes wait longer. 0s counts all")
	util.Describe(cmd, util.ForFindings, cobra.NoFileCompletions, "grace")
	util.AddFindingsFlags(cmd, &f.failOn, &f.suppress)
	flags.BoolVarP(&f.watch, "watch", "w", false, "Keep checking, and show what changes")
	flags.StringVar(&f.exec, "exec", "", "With --watch, the command to run for each new or cleared finding at or above --fail-on, with the finding as JSON on standard input. No shell runs")
	flags.DurationVar(&f.execTimeout, "exec-timeout", 30*time.Second, "How long a command of --exec may run")
	util.Describe(cmd, util.ForFollowing, nil, "watch")
	util.Describe(cmd, util.ForFollowing, cobra.NoFileCompletions, "exec-timeout")
	util.Describe(cmd, util.ForFollowing, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), "exec")
	formats := append(printers.Formats(), junit, sarif)
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: ("+strings.Join(formats, ", ")+")")
	util.Describe(cmd, util.ForOutput, util.OneOf(formats...), "output")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "Print one row per finding, without summary and fixes")
	flags.BoolVar(&f.withPassed, "with-passed", false, "With -o junit, add a test case for each rule that found nothing")
	util.Describe(cmd, util.ForOutput, nil, "no-headers", "with-passed")
}

func (f *checkFlags) toOptions(env util.Environment, args []string) (*checkOptions, error) {
	o := &checkOptions{
		Environment: env, flags: f.GlobalFlags, named: namedJobs{}, rules: rules.All(), watch: f.watch, withPassed: f.withPassed,
		query:  read.Query{AllNamespaces: f.AllNamespaces, Kinds: f.kinds, LabelSelector: f.selector},
		failOn: inspect.Severity(f.failOn),
	}
	suppressed, err := util.NewSuppression(f.suppress)
	var formatErr, namesErr error
	o.names, namesErr = util.ParseJobNames(args)
	o.format, formatErr = printers.NewFormat(reflect.TypeFor[inspect.Finding](), f.output, f.noHeaders, junit, sarif)
	if err := errors.Join(err, formatErr, namesErr, util.NamesOrSelectors(args, f.selector), f.RefuseWatch(util.WatchFlag(f.watch)), o.format.RefuseWatch(util.WatchFlag(f.watch)), f.conflicts(), util.ValidateFailOn(f.failOn)); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if f.isExecGiven {
		words, err := parseCommand(f.exec)
		if err != nil {
			return nil, &util.UsageError{Err: err}
		}
		o.notifier = &notifier{command: words, timeout: f.execTimeout, killDelay: killDelay, leastSeverity: o.failOn, env: env.Environ, clock: env.Clock}
	}
	o.judging = rules.Options{Grace: f.grace, Suppressed: suppressed.Matches, Reach: env.CommandReach(f.GlobalFlags)}
	o.contexts, err = f.Load(&o.Environment, util.EveryContext)
	if err != nil {
		return nil, err
	}
	util.OneNamespace(o.contexts)
	for i := range o.names {
		if !f.AllNamespaces {
			o.names[i].Namespace = o.contexts[0].Namespace
		}
	}
	o.query.Kinds = util.WithKinds(o.query.Kinds, o.names)
	o.table = printers.TableOptions{Kinds: !o.query.OnlyJobs(), Wide: o.format.Wide(), Evidence: len(o.names) > 0, NoHeaders: f.noHeaders, Color: env.WantsColor(f.Color), Markdown: o.format.Is(printers.Markdown)}
	return o, nil
}

func (f *checkFlags) conflicts() error {
	switch {
	case f.grace < 0:
		return fmt.Errorf("--grace must be zero or more, not %s", f.grace)
	case f.isExecGiven && !f.watch:
		return errors.New("--exec requires --watch")
	case f.isExecGiven && f.failOn == util.FailOnNone:
		return errors.New("--exec cannot be combined with --fail-on none: no finding would run the command")
	case f.isTimeoutGiven && !f.isExecGiven:
		return errors.New("--exec-timeout requires --exec")
	case f.execTimeout <= 0:
		return fmt.Errorf("--exec-timeout must be more than zero, not %s", f.execTimeout)
	case f.withPassed && f.output != junit:
		return errors.New("--with-passed requires -o junit")
	case f.watch && (f.output == junit || f.output == sarif):
		return fmt.Errorf("-o %s cannot be combined with --watch: it writes one report", f.output)
	}
	return nil
}
