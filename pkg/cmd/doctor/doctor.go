// Package doctor checks that a fleet is set up so that Jobs will run.
package doctor

import (
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
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

// doctorFlags are doctor's flags as the user gave them.
type doctorFlags struct {
	*util.GlobalFlags
	failOn   string
	suppress []string
	output   string
	// noHeaders prints one row per finding, as in check.
	noHeaders bool
	// identity is the user of managers whose kubeconfigs do not show one.
	identity string
	probeFlags
}

// doctorOptions are the checked options of doctor.
type doctorOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	// namespace is the namespace whose queues are checked, "" for all.
	namespace string
	identity  string
	judging   rules.Options
	failOn    inspect.Severity
	format    *printers.Format
	table     printers.TableOptions
	probe     probeFlags
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &doctorFlags{GlobalFlags: global}
	cmd := &cobra.Command{
		Use: "doctor [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Check that the fleet is set up so that Jobs will run",
		Long: `Check how MultiKueue is set up on managers and workers, before you submit Jobs. doctor
reads all contexts of the kubeconfig, or the ones you choose. It checks the queues of
all namespaces, or of one with -n. Without --probe, it needs no Job and changes nothing.

For each cluster, doctor prints what passed, and each problem with its fix. It checks
connections, configuration, namespaces, queues, quotas, workload priority classes,
kinds, versions, clocks, and the credentials and rights of managers on workers.
"explain CODE" describes a problem. doctor lists what it could not check, with the
missing right.

--probe submits a tiny Job to a MultiKueue queue instead. It times each step until the
status of the Pod is back, says where the Job stopped and why, and deletes the Job,
also after Ctrl-C. It needs the rights to create, get and delete Jobs in the namespace.

The exit code is 3 if there is a problem at or above --fail-on, or if the probe failed,
and 4 if something could not be checked, other than the quotas of queues in cohorts.`,
		Example: strings.ReplaceAll(`  # Check the whole fleet
  NAME doctor

  # Check the queues of one namespace, with the evidence
  NAME doctor -n ml -o wide

  # Send a tiny Job through a queue, and ask all workers if they would run it
  NAME doctor --probe -n ml --queue gpu --all-workers

  # Show that Job, and create nothing
  NAME doctor --probe -n ml --queue gpu --dry-run=server

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
	cmd.Flags().StringVar(&f.identity, "worker-identity", "", "User of managers on their workers, if kubeconfigs do not show it, such as system:serviceaccount:NAMESPACE:NAME")
	util.Describe(cmd, util.ForFindings, cobra.NoFileCompletions, "worker-identity")
	cmd.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Print one row per finding, without summary and fixes")
	util.Describe(cmd, util.ForOutput, nil, "no-headers")
	f.addTo(cmd)
	cmd.RunE = util.Runs(func([]string) (*doctorOptions, error) { return f.toOptions(env, cmd.Flags().Changed) })
	return cmd
}

func (f *doctorFlags) toOptions(env util.Environment, isGiven func(flag string) bool) (*doctorOptions, error) {
	o := &doctorOptions{Environment: env, flags: f.GlobalFlags, probe: f.probeFlags, failOn: inspect.Severity(f.failOn), namespace: *f.Kube.Namespace, identity: f.identity}
	suppressed, err := util.NewSuppression(f.suppress)
	var formatErr error
	o.format, formatErr = printers.NewFormat(reflect.TypeFor[inspect.Finding](), f.output, f.noHeaders, junit, sarif)
	if err := errors.Join(err, formatErr, util.ValidateFailOn(f.failOn), f.validate(f.GlobalFlags, isGiven)); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	o.judging = rules.Options{Suppressed: suppressed.Matches, Reach: env.CommandReach(f.GlobalFlags), Namespace: o.namespace}
	if o.contexts, err = f.Load(&o.Environment, util.EveryContext); err != nil {
		return nil, err
	}
	o.table = printers.TableOptions{Evidence: o.format.Wide(), NoHeaders: f.noHeaders, Color: env.WantsColor(f.Color), Markdown: o.format.Is(printers.Markdown)}
	return o, nil
}

// Run checks once.
func (o *doctorOptions) Run(ctx context.Context) error {
	if o.probe.probe {
		return o.runProbe(ctx)
	}
	f, err := o.flags.Reach(ctx, o.Environment, o.contexts, nil)
	if err != nil {
		return err
	}
	o.table.NowOn = f.Now
	inventory := read.Read(ctx, f, read.Want{Setup: true, SetupIn: o.namespace, Addresses: o.flags.Addresses(o.contexts, f), Now: o.Clock.Now})
	if o.namespace != "" {
		if err := util.MissingNamespace(ctx, f, "or leave out -n for all"); err != nil {
			return err
		}
	}
	read.Denied(ctx, f, inventory, o.identity)
	if stopped := util.Interrupted(ctx); stopped != nil {
		return stopped
	}
	report := rules.Report(inventory, o.judging)
	if err := o.Print(func(w io.Writer) error { return o.write(w, report) }, func(w io.Writer) error { return o.writeTable(w, report) }); err != nil {
		return err
	}
	if o.format.OmitsUnchecked(o.table.NoHeaders) && !o.format.Is(junit) && !o.format.Is(sarif) {
		util.ReportUnchecked(o.ErrOut, report.Unchecked)
	}
	return errors.Join(util.Verdict(report.Items, o.failOn), util.Incomplete(report.Unchecked))
}

func (o *doctorOptions) write(w io.Writer, report *inspect.DoctorReport) error {
	switch {
	case o.format.Is(junit):
		return printers.JUnit(w, "doctor", report.Findings(), rules.ForSetup(), true, util.Fails(o.failOn))
	case o.format.Is(sarif):
		return printers.SARIF(w, report.Findings(), rules.ForSetup(), util.Version())
	case o.format.IsPerJob():
		return o.format.PrintFindings(w, slices.Clone(report.Items))
	case !o.format.IsTable():
		return o.format.PrintObject(w, report)
	}
	return o.writeTable(w, report)
}

func (o *doctorOptions) writeTable(w io.Writer, report *inspect.DoctorReport) error {
	if o.table.NoHeaders {
		return printers.Findings(w, report.Findings(), o.TableNow(o.table))
	}
	return printers.Doctor(w, report, o.TableNow(o.table))
}

// runProbe probes, prints the report, and makes an error of its result.
func (o *doctorOptions) runProbe(ctx context.Context) error {
	p := &prober{Environment: o.Environment, flags: o.flags, probe: o.probe, contexts: o.contexts}
	report, err := p.run(ctx, choice{o.namespace, o.probe.queue})
	if report == nil {
		return err
	}
	if err == nil {
		err = util.WriteBuffered(o.Out, func(w io.Writer) error { return o.writeProbe(w, report) })
	}
	for _, l := range report.Left {
		util.Report(o.ErrOut, "error: %s %s/%s may still be in context %q: %s. Remove it with: %s",
			l.Kind, l.Namespace, l.Name, l.Context, l.Reason, command.Of(l.Command...).Shell())
	}
	return errors.Join(err, o.probeVerdict(ctx, report))
}

// probeVerdict returns an error if the probe did not pass.
func (o *doctorOptions) probeVerdict(ctx context.Context, r *inspect.ProbeReport) error {
	if stopped := util.Interrupted(ctx); stopped != nil {
		return stopped
	}
	isRefused := slices.ContainsFunc(r.Workers, func(w inspect.ProbeWorker) bool { return w.Verdict == inspect.Never })
	isFailure := (r.Result == inspect.ProbeFailed || isRefused) && o.failOn != util.FailOnNone
	if isFailure {
		return &probeError{r}
	}
	if r.Result == inspect.ProbeUnknown {
		return &util.IncompleteError{}
	}
	return util.Incomplete(r.Unchecked)
}

func (o *doctorOptions) writeProbe(w io.Writer, r *inspect.ProbeReport) error {
	switch {
	case o.format.Is(junit):
		return printers.ProbeJUnit(w, r)
	case o.format.Is(sarif):
		return printers.ProbeSARIF(w, r, util.Version())
	case !o.format.IsTable():
		return o.format.PrintObject(w, r)
	}
	return printers.Probe(w, r, o.TableNow(o.table))
}
