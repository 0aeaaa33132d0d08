// Package dispatch is the command that runs Jobs in another context: it selects the Jobs, reports
// their problems, and shows their progress.
package dispatch

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/manifest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

const (
	leaveMirror  = "leave"
	deleteMirror = "delete"
)

// dispatchFlags are dispatch's flags as the user gave them.
type dispatchFlags struct {
	*util.GlobalFlags
	to            []string
	spread        bool
	filenames     []string
	labelSelector string
	kinds         []string
	// choosesKinds is set if --kinds was given.
	choosesKinds bool
	owner        writing.OwnerFlags
	namespaceTo  string
	setLabels    map[string]string
	stripLabels  []string
	configMaps   bool
	secrets      []string
	dryRun       string
	mirrorTTL    time.Duration
	onInterrupt  string
	timeout      time.Duration
	detach       bool
	newMirror    bool
	output       string
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &dispatchFlags{GlobalFlags: global, dryRun: writing.DryRunNone, mirrorTTL: 24 * time.Hour, onInterrupt: leaveMirror}
	completer := complete.New(env, global)
	cmd := &cobra.Command{
		Use:                   "dispatch ([KIND/]NAME... | -l SELECTOR | -f FILE) --to CONTEXT [options]",
		DisableFlagsInUseLine: true,
		Annotations:           util.InOneContext(),
		ValidArgsFunction:     completer.Func(completer.DispatchableJobs),
		Short:                 "Run a Job in another context, and copy its status back",
		Long: `Run a Job of this context (--context, or the current one) in another context (--to),
and copy its status back while this command runs.

The Job is the origin. Its spec.managedBy must be jobmanagedby.github.io/dispatch, so
that the built-in controller ignores it. With -f, the Job is created, and managedBy may
be left out. The copy in the other context is the mirror.

Before it creates anything, dispatch checks both clusters and lists all problems with
their fixes. While the Job runs, changes to the origin, such as suspend or parallelism,
are written to the mirror.

If --to names several contexts, each Job goes to the first one that passes the checks.
With --spread, it goes to the one that has the fewest of these Jobs. A Job that has a
mirror stays there.

With one context, --dry-run prints the mirror. With several, it prints one row per
context, with its problems.

If this command ends early, the mirror keeps running, and the same command resumes. With
--on-interrupt=delete, Ctrl-C deletes the mirror. If you delete the origin while this
command runs, it deletes the mirror. The exit code is 0 if all Jobs completed, and 5 if
one failed.

For other kinds, dispatch copies the whole status back. Some kinds allow only MultiKueue
as external owner. For these, use --as-multikueue, if Kueue is not installed here.`,
		Example: strings.ReplaceAll(`  # Run a Job of a file on another cluster, and wait for its end
  NAME dispatch -f train.yaml --to worker-1

  # Show the mirror and all problems, and create nothing
  NAME dispatch train -n ml --to worker-1 --dry-run=server

  # All Jobs of an experiment, with the ConfigMaps that they need
  NAME dispatch -l experiment=a -n ml --to worker-1 \
      --with-dependencies

  # On the first cluster that fits, or distributed over all
  NAME dispatch train -n ml --to worker-1,worker-2
  NAME dispatch -l experiment=a -n ml --to 'worker-*' --spread

  # Wait for one hour, and leave nothing running
  NAME dispatch train -n ml --to worker-1 --timeout 1h \
      --on-interrupt=delete`, "NAME", env.DisplayName()),
	}
	f.addTo(cmd, completer)
	writing.RefuseFrom(cmd, f.GlobalFlags)
	cmd.RunE = util.Runs(func(args []string) (*dispatchOptions, error) { return f.toOptions(env, args, cmd) })
	return cmd
}

func (f *dispatchFlags) addTo(cmd *cobra.Command, completer *complete.Completer) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.to, "to", nil, "Contexts that may run the Jobs, comma-separated: names, globs or /regular expressions/; ^ excludes. Each Job goes to the first context that passes the checks, and stays where its mirror is")
	util.Describe(cmd, util.ForClusters, util.ListOf(completer.Func(completer.OtherContexts), "^"), "to")
	flags.BoolVar(&f.spread, "spread", false, "If present, distribute the Jobs: each goes to the context that passes the checks and has the fewest of them")
	util.Describe(cmd, util.ForClusters, nil, "spread")
	flags.StringArrayVarP(&f.filenames, "filename", "f", nil, "Filename, directory, or URL to files with the Jobs to create and dispatch; - is standard input. Jobs that exist are resumed")
	util.Describe(cmd, util.ForObjects, util.Manifests, "filename")
	flags.StringVarP(&f.labelSelector, "selector", "l", "", "Selector (label query): dispatch all unfinished Jobs of the namespace that match and are delegated to this plugin")
	util.Describe(cmd, util.ForObjects, cobra.NoFileCompletions, "selector")
	util.AddKindsFlag(cmd, &f.kinds, "Kinds that --selector is for", delegation.Job().Name)
	f.owner.AddTo(cmd, completer, "set managedBy to "+string(delegation.MultiKueue)+", for kinds that allow no other external owner. Refused where Kueue is installed")
	f.addMirrorTo(cmd, completer)
	writing.AddDryRunFlag(cmd, &f.dryRun, "print the mirrors, and what is changed and why", "have both servers check them, too", "Nothing is created")
	flags.StringVar(&f.onInterrupt, "on-interrupt", f.onInterrupt, `What Ctrl-C, a termination, a closed terminal and --timeout do to mirrors: "leave" them running, or "delete" them`)
	util.Describe(cmd, util.ForRun, util.OneOf(leaveMirror, deleteMirror), "on-interrupt")
	flags.DurationVar(&f.timeout, "timeout", 0, "How long to wait for the end of the Jobs, before exit code 124. 0s waits without limit")
	util.Describe(cmd, util.ForRun, cobra.NoFileCompletions, "timeout")
	flags.BoolVar(&f.detach, "detach-after-start", false, "If present, end as soon as the Pods run. To copy the status later, run the same command again")
	util.Describe(cmd, util.ForRun, nil, "detach-after-start")
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: (json, yaml, kyaml), a line or document for each event; with --dry-run also name")
	util.Describe(cmd, util.ForOutput, func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return util.OneOf(f.formats()...)(cmd, args, typed)
	}, "output")
}

// addMirrorTo adds the flags for the mirror.
func (f *dispatchFlags) addMirrorTo(cmd *cobra.Command, completer *complete.Completer) {
	flags := cmd.Flags()
	flags.StringVar(&f.namespaceTo, "namespace-to", "", "Namespace of the mirrors, if it is not that of the Jobs")
	util.Describe(cmd, util.ForClusters, completer.Func(completer.WorkerNamespaces), "namespace-to")
	flags.StringToStringVar(&f.setLabels, "set-labels", nil, "Labels to add to the mirrors, such as kueue.x-k8s.io/queue-name=QUEUE for a queue of the other cluster. Labels of Pods do not change")
	flags.StringSliceVar(&f.stripLabels, "strip-labels", nil, "More labels to remove from mirrors. Labels that would trigger tools on the other cluster are always removed")
	flags.DurationVar(&f.mirrorTTL, "mirror-ttl", f.mirrorTTL, "How long to keep a mirror after its final status was copied. 0s deletes it at once, -1s never")
	util.Describe(cmd, util.ForMirror, cobra.NoFileCompletions, "set-labels", "strip-labels", "mirror-ttl")
	flags.BoolVar(&f.configMaps, "with-dependencies", false, "If present, copy missing ConfigMaps that the Pods need. They are deleted with the mirror")
	flags.StringArrayVar(&f.secrets, "with-secret", nil, "Copy this Secret, if it is missing; may be repeated")
	util.Describe(cmd, util.ForMirror, completer.Func(completer.Secrets), "with-secret")
	flags.BoolVar(&f.newMirror, "new-mirror", false, "If present, and a mirror was deleted, create another. The Job starts from scratch")
	util.Describe(cmd, util.ForMirror, nil, "with-dependencies", "new-mirror")
}

// formats returns the values of --output.
func (f *dispatchFlags) formats() []string {
	formats := []string{"json", "yaml", "kyaml"}
	if f.dryRun != writing.DryRunNone {
		formats = append(formats, "name")
	}
	return formats
}

// dispatchOptions are the checked options of dispatch.
type dispatchOptions struct {
	util.Environment
	flags *dispatchFlags
	// called is the command with its parsed flags.
	called  *cobra.Command
	targets []writing.Target
	origin  fleet.Context
	// workers are the contexts that may get Jobs, in order of preference.
	workers []fleet.Context
	// kinds finds the kinds that the origin's cluster serves.
	kinds *writing.KindFinder
	// owner is the managedBy value of the Jobs.
	owner delegation.Owner
	// manifests are the Jobs of --filename, as they are in the files.
	manifests []manifest.Entry
	format    *printers.Format
}

// mirrorOptions returns how mirrors of an origin cluster are planned. The cluster is identified.
func (o *dispatchOptions) mirrorOptions(origin *fleet.Cluster) plan.Options {
	return plan.Options{
		Owner: o.owner, Namespace: o.flags.namespaceTo, SetLabels: o.flags.setLabels, StripLabels: o.flags.stripLabels,
		Context: origin.Context, OriginCluster: origin.Identity(),
	}
}

// loopOptions returns the options of the loop. originMinor is the minor version of the origin's API
// server, 0 if unknown.
func (o *dispatchOptions) loopOptions(mirrors plan.Options, originMinor int) dispatch.LoopOptions {
	return dispatch.LoopOptions{
		Plan: mirrors, Identity: o.Identity(), MirrorTTL: o.flags.mirrorTTL, DeleteOnInterrupt: o.flags.onInterrupt == deleteMirror,
		DetachAfterStart: o.flags.detach, NewMirror: o.flags.newMirror, OriginMinor: originMinor,
	}
}

func (f *dispatchFlags) toOptions(env util.Environment, args []string, called *cobra.Command) (*dispatchOptions, error) {
	given := called.Flags()
	// Messages must not damage the footer.
	env.ErrOut = &writing.Redirect{To: env.ErrOut}
	o := &dispatchOptions{Environment: env, flags: f, called: called}
	f.choosesKinds = given.Changed("kinds")
	err := f.owner.Complete(given.Changed)
	if err == nil {
		err = f.check(args)
	}
	if err == nil {
		o.targets, err = writing.ParseTargets(args)
	}
	if err != nil {
		return nil, &util.UsageError{Err: err}
	}
	o.owner = delegation.Job().OwnerOf(f.owner.ManagedBy)
	if o.format, err = printers.NewObjectFormat(f.output, false); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if err := (plan.Options{SetLabels: f.setLabels, StripLabels: f.stripLabels}).Validate(); err != nil {
		return nil, err
	}
	o.origin, o.workers, err = f.LoadWorkers(env, f.to)
	return o, err
}

// check returns an error for flags that make no sense, alone or together.
func (f *dispatchFlags) check(names []string) error {
	given := 0
	for _, isGiven := range []bool{len(names) > 0, f.labelSelector != "", len(f.filenames) > 0} {
		if isGiven {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("dispatch takes one of: NAMEs of Jobs, --selector or --filename")
	case f.choosesKinds && f.labelSelector == "":
		return errors.New("--kinds requires --selector. With a NAME, write KIND/NAME")
	case strings.Trim(strings.Join(f.to, ""), ", ") == "":
		return errors.New("--to is required: one or more contexts to run the Jobs on")
	case f.spread && len(f.to) == 1 && isPlain(f.to[0]):
		return errors.New("--spread requires several contexts. Name them with --to: comma-separated, or as a pattern")
	case f.AllContexts || len(f.Contexts) > 0:
		return errors.New("dispatch works from one context. Use --context and --to, not --contexts or --all-contexts")
	}
	return f.checkValues()
}

// isPlain reports whether a text is a single name, not a list or a pattern.
func isPlain(to string) bool { return !strings.ContainsAny(to, ",*?[^/") }

// checkValues returns an error for flags whose values make no sense.
func (f *dispatchFlags) checkValues() error {
	if err := writing.CheckDryRun(f.dryRun); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{leaveMirror, deleteMirror}, f.onInterrupt):
		return fmt.Errorf("unknown --on-interrupt %q; choose one of %s, %s", f.onInterrupt, leaveMirror, deleteMirror)
	case f.mirrorTTL > math.MaxInt32*time.Second:
		return fmt.Errorf("--mirror-ttl must be at most %s, not %s", math.MaxInt32*time.Second, f.mirrorTTL)
	case f.mirrorTTL < 0 && f.mirrorTTL != -time.Second:
		return fmt.Errorf("--mirror-ttl must be zero or more, or -1s for never, not %s", f.mirrorTTL)
	case f.timeout < 0:
		return fmt.Errorf("--timeout must be zero or more, not %s", f.timeout)
	case f.detach && f.onInterrupt == deleteMirror:
		return errors.New("--detach-after-start leaves mirrors running, so it cannot be combined with --on-interrupt=delete")
	case object.ValidateManagedBy(f.owner.ManagedBy) != nil:
		return object.ValidateManagedBy(f.owner.ManagedBy)
	case delegation.Job().OwnerOf(f.owner.ManagedBy).IsBuiltIn():
		return fmt.Errorf("--managed-by %q is the built-in controller: it would run the Job here too", f.owner.ManagedBy)
	}
	return f.checkOutput()
}

func (f *dispatchFlags) checkOutput() error {
	if f.output == "name" && f.dryRun == writing.DryRunNone {
		return errors.New("-o name requires --dry-run: dispatch prints events otherwise")
	}
	if f.output != "" && !slices.Contains(f.formats(), f.output) {
		return printers.UnknownFormat(f.output, f.formats())
	}
	return nil
}
