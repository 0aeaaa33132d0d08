// Package doctor checks that a fleet is set up so that Jobs will run.
package doctor

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// Output formats of reports.
const (
	junit = "junit"
	sarif = "sarif"
)

// doctorFlags are what a user typed behind doctor.
type doctorFlags struct {
	*util.GlobalFlags
	failOn   string
	suppress []string
	output   string
}

// doctorOptions are what doctor needs to run, checked.
type doctorOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	// namespace is where queues are checked, "" for all.
	namespace string
	judging   rules.Options
	failOn    inspect.Severity
	format    *printers.Format
	table     printers.TableOptions
}

// NewCommand makes the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &doctorFlags{GlobalFlags: global}
	cmd := &cobra.Command{
		Use: "doctor [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Check that the fleet is set up so that Jobs will run",
		Long: `Check how MultiKueue is set up on managers and workers, before the first Job hangs: on all
contexts of the kubeconfig unless some are chosen, for the queues of all namespaces unless
one is given. Needs no Job and changes nothing.

Prints per cluster what passed, then each problem with its fix. Checks connections,
configuration, namespaces, queues, quotas, priority classes, kinds, versions, clocks, and
the credentials and rights of managers on workers. "explain CODE" describes a problem.

What could not be read is listed as not checked, with the right that it takes. The exit
code is 3 if there is a problem at or above --fail-on, and 4 if something could not be
checked.`,
		Example: strings.ReplaceAll(`  # Check the whole fleet
  NAME doctor

  # Check the queues of one namespace, with what shows each problem
  NAME doctor -n ml -o wide

  # A gate in CI, after an upgrade of Kueue
  NAME doctor --fail-on error -o junit > report.xml`, "NAME", env.DisplayName()),
		Args: util.NoArguments,

		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.AddFromFlag(cmd)
	util.AddFindingsFlags(cmd, &f.failOn, &f.suppress)
	formats := append(printers.Formats(), junit, sarif)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Output format. One of: ("+strings.Join(formats, ", ")+")")
	util.Describe(cmd, util.ForOutput, util.OneOf(formats...), "output")
	cmd.RunE = util.Runs(func([]string) (*doctorOptions, error) { return f.toOptions(env) })
	return cmd
}

func (f *doctorFlags) toOptions(env util.Environment) (*doctorOptions, error) {
	o := &doctorOptions{Environment: env, flags: f.GlobalFlags, failOn: inspect.Severity(f.failOn), namespace: *f.Kube.Namespace}
	suppressed, err := util.NewSuppression(f.suppress, rules.ForSetup())
	var formatErr error
	o.format, formatErr = printers.NewFormat(f.output, false, junit, sarif)
	if err := errors.Join(err, formatErr, util.ValidateFailOn(f.failOn)); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	o.judging = rules.Options{Suppressed: suppressed.Matches, Reach: f.ReachFlags()}
	if o.contexts, err = f.Load(&o.Environment, util.EveryContext); err != nil {
		return nil, err
	}
	o.table = printers.TableOptions{Evidence: o.format.Wide(), Color: env.WantsColor(f.Color), Markdown: o.format.Is(printers.Markdown)}
	return o, nil
}

// Run checks once.
func (o *doctorOptions) Run(ctx context.Context) error {
	f, err := o.flags.Reach(ctx, o.Environment, o.contexts, nil)
	if err != nil {
		return err
	}
	inventory := read.Read(ctx, f, read.Want{Setup: true, SetupIn: o.namespace, Addresses: o.flags.Addresses(o.contexts, f), Now: o.Clock.Now})
	read.Denied(ctx, f, inventory)
	if stopped := util.Interrupted(ctx); stopped != nil {
		return stopped
	}
	report := rules.Report(inventory, o.judging)
	if err := util.Written(o.Out, func(w io.Writer) error { return o.write(w, report) }); err != nil {
		return err
	}
	if !o.format.TellsErrors() && !o.format.IsTable() && !o.format.Is(junit) && !o.format.Is(sarif) {
		for _, u := range report.Unchecked {
			util.Tell(o.ErrOut, "not checked: %s", printers.UncheckedText(u))
		}
	}
	return errors.Join(util.Verdict(report.Items, o.failOn), util.Incomplete(report.Unchecked))
}

func (o *doctorOptions) write(w io.Writer, report *inspect.DoctorReport) error {
	switch {
	case o.format.Is(junit):
		return printers.JUnit(w, "doctor", report.Findings(), rules.ForSetup(), true)
	case o.format.Is(sarif):
		return printers.SARIF(w, report.Findings(), rules.ForSetup(), util.Version())
	case o.format.IsPerJob():
		return o.format.PrintFindings(w, slices.Clone(report.Items))
	case !o.format.IsTable():
		return o.format.PrintObject(w, report)
	}
	return printers.Doctor(w, report, o.TableNow(o.table))
}
