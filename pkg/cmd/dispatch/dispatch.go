// Package dispatch is the command that runs Jobs in another context: which ones are meant,
// what is in their way, and how it is told what becomes of them.
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
	// choosesKinds is whether --kinds was given.
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

// NewCommand makes the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &dispatchFlags{GlobalFlags: global, dryRun: writing.DryRunNone, mirrorTTL: 24 * time.Hour, onInterrupt: leaveMirror}
	ask := complete.New(env, global)
	cmd := &cobra.Command{
		Use:                   "dispatch ([KIND/]NAME... | -l SELECTOR | -f FILE) --to CONTEXT [options]",
		DisableFlagsInUseLine: true,
		Annotations:           util.InOneContext(),
		ValidArgsFunction:     ask.Asks(ask.Dispatchable),
		Short:                 "Run a Job in another context, and copy its status back",
		Long: `Run a Job of this context (--context, or the current one) on the cluster of
another one (--to), and copy its status back for as long as this command runs.

The Job must be delegated to this plugin: its spec.managedBy is
` + string(delegation.Dispatch) + `, so that the built-in controller keeps
its hands off. With -f it is created so, and its spec.managedBy may be left out.

Everything that would keep it from running is looked for first, on both sides,
and nothing is created while there is something. Then a copy of the Job, its
mirror, is made on the other cluster. What the user changes on the origin while it
runs, such as suspend or parallelism, is written to the mirror.

--to may name several contexts, comma-separated and as patterns. Each Job goes to the
first one, in this order, that preflight has nothing against, or with --spread to the one
that has fewest of them; it is told why others were passed over. A Job that has its mirror
already stays where that is. --dry-run then tells of each context what is in the way
there (as JSON, in the placements of a Trace), and asks the servers either way.

Nothing is lost when this command ends, for whatever reason: the mirror goes on
running, and the same command finds it again and goes on. Ctrl-C does that, or
removes the mirror with --on-interrupt=delete. Deleting the origin deletes the
mirror. The exit code is 0 if all Jobs are complete, and 5 if one has failed.

Objects of other kinds that the kinds command lists are dispatched in the same way,
where both clusters serve them: their whole status is copied back, and of their
spec only what holds them back is carried over later. Some kinds allow no owner but
their own controller and MultiKueue: of these, --as-multikueue dispatches what is
delegated to MultiKueue, where that is not installed.`,
		Example: strings.ReplaceAll(`  # Run a Job of a file on another cluster, and wait for its end
  NAME dispatch -f train.yaml --to worker-1

  # What would be made there, and what is in its way
  NAME dispatch train -n ml --to worker-1 --dry-run=client
  NAME dispatch train -n ml --to worker-1 --dry-run=server

  # All Jobs of an experiment, with the ConfigMaps that they need
  NAME dispatch -l experiment=a -n ml --to worker-1 \
      --with-dependencies

  # On whichever cluster takes it, the first one first; or on all in turn
  NAME dispatch train -n ml --to worker-1,worker-2
  NAME dispatch -l experiment=a -n ml --to 'worker-*' --spread

  # A JobSet, and a TrainJob that nobody but MultiKueue may own
  NAME dispatch jobset/train -n ml --to worker-1
  NAME dispatch trainjob/tune -n ml --to worker-1 \
      --as-multikueue

  # Wait an hour at most, and leave nothing running
  NAME dispatch train -n ml --to worker-1 --timeout 1h \
      --on-interrupt=delete`, "NAME", env.DisplayName()),
	}
	f.addTo(cmd, ask)
	cmd.RunE = util.Runs(func(args []string) (*dispatchOptions, error) { return f.toOptions(env, args, cmd) })
	return cmd
}

func (f *dispatchFlags) addTo(cmd *cobra.Command, ask *complete.Completer) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.to, "to", nil, "Context of the cluster to run the Jobs on. Of several, comma-separated, as names, globs, or /regexes/, ^ in front of one leaves out what it matches: each Job goes to the first that preflight has nothing against, and stays where it has its mirror")
	util.Describe(cmd, util.ForClusters, util.ListOf(ask.Asks(ask.OtherContexts), "^"), "to")
	flags.BoolVar(&f.spread, "spread", false, "If present, put the Jobs on several contexts of --to in turn: each on the one that has fewest of them, of those that preflight has nothing against")
	util.Describe(cmd, util.ForClusters, nil, "spread")
	flags.StringArrayVarP(&f.filenames, "filename", "f", nil, "Filename, directory, or URL to files with the Jobs to create and dispatch; - is standard input. Jobs that exist already are gone on with as they are")
	util.Describe(cmd, util.ForObjects, util.Manifests, "filename")
	flags.StringVarP(&f.labelSelector, "selector", "l", "", "Selector (label query): dispatch all unfinished Jobs of the namespace that match and are delegated to this plugin")
	util.Describe(cmd, util.ForObjects, cobra.NoFileCompletions, "selector")
	f.AddKindsFlag(cmd, "Kinds that --selector is for", delegation.Job().Name)
	f.owner.AddTo(cmd, ask, ". Refused where Kueue is installed")
	f.addMirrorTo(cmd, ask)
	flags.StringVar(&f.dryRun, "dry-run", f.dryRun, `Must be "none", "client" (print the mirrors, and what is changed and why), or "server" (have both servers check them, too). Nothing is created`)
	flags.Lookup("dry-run").NoOptDefVal = writing.DryRunClient
	util.Describe(cmd, util.ForRun, util.OneOf(writing.DryRunNone, writing.DryRunClient, writing.DryRunServer), "dry-run")
	flags.StringVar(&f.onInterrupt, "on-interrupt", f.onInterrupt, `What Ctrl-C, a termination, a closed terminal and --timeout do to mirrors: "leave" them running, or "delete" them`)
	util.Describe(cmd, util.ForRun, util.OneOf(leaveMirror, deleteMirror), "on-interrupt")
	flags.DurationVar(&f.timeout, "timeout", 0, "How long to wait for the Jobs' end before giving up with exit code 124. Zero waits without bound")
	util.Describe(cmd, util.ForRun, cobra.NoFileCompletions, "timeout")
	flags.BoolVar(&f.detach, "detach-after-start", false, "If present, end as soon as the pods run; nothing is copied after that until the same command is run again")
	util.Describe(cmd, util.ForRun, nil, "detach-after-start")
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: (json, yaml, kyaml), a line or document for each event; with --dry-run also name")
	util.Describe(cmd, util.ForOutput, func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return util.OneOf(f.formats()...)(cmd, args, typed)
	}, "output")
}

// addMirrorTo adds the flags that say what the mirror is to be.
func (f *dispatchFlags) addMirrorTo(cmd *cobra.Command, ask *complete.Completer) {
	flags := cmd.Flags()
	flags.StringVar(&f.namespaceTo, "namespace-to", "", "Namespace of the mirrors, if it is not that of the Jobs")
	util.Describe(cmd, util.ForClusters, ask.Asks(ask.NamespacesThere), "namespace-to")
	flags.StringToStringVar(&f.setLabels, "set-labels", nil, "Labels to put on the mirrors, such as kueue.x-k8s.io/queue-name=QUEUE for a queue over there; their pods keep theirs")
	flags.StringSliceVar(&f.stripLabels, "strip-labels", nil, "Labels to leave out of the mirrors, besides those that would make tools over there act on them")
	flags.DurationVar(&f.mirrorTTL, "mirror-ttl", f.mirrorTTL, "How long a mirror is kept after its final status has been copied. Zero deletes it at once, less than zero (-1s) never")
	util.Describe(cmd, util.ForMirror, cobra.NoFileCompletions, "set-labels", "strip-labels", "mirror-ttl")
	flags.BoolVar(&f.configMaps, "with-dependencies", false, "If present, copy the ConfigMaps that the pods need and that are missing; they are deleted with the mirror")
	flags.StringArrayVar(&f.secrets, "with-secret", nil, "Copy this Secret too if it is missing; may be repeated")
	util.Describe(cmd, util.ForMirror, ask.Asks(ask.Secrets), "with-secret")
	flags.BoolVar(&f.newMirror, "new-mirror", false, "If present, and somebody has deleted a Job's mirror, make another: the Job runs again from the start")
	util.Describe(cmd, util.ForMirror, nil, "with-dependencies", "new-mirror")
}

// formats are what --output can be.
func (f *dispatchFlags) formats() []string {
	formats := []string{"json", "yaml", "kyaml"}
	if f.dryRun != writing.DryRunNone {
		formats = append(formats, "name")
	}
	return formats
}

// dispatchOptions are what dispatch needs to run, checked.
type dispatchOptions struct {
	util.Environment
	flags *dispatchFlags
	// called is the command, with its flags as they were parsed.
	called  *cobra.Command
	targets []writing.Target
	origin  fleet.Context
	// workers are those that Jobs may be given to, the first that takes one before others.
	workers []fleet.Context
	// kinds are those that the origin's cluster serves.
	kinds  *writing.KindFinder
	loop   dispatch.LoopOptions
	format *printers.Format
}

func (f *dispatchFlags) toOptions(env util.Environment, args []string, called *cobra.Command) (*dispatchOptions, error) {
	given := called.Flags()
	// What is told while the footer stands has to stay clear of it.
	env.ErrOut = &writing.Redirect{To: env.ErrOut}
	o := &dispatchOptions{Environment: env, flags: f, called: called}
	f.choosesKinds = given.Changed("kinds")
	err := f.owner.Complete(given.Changed)
	if err == nil {
		err = f.check(args)
	}
	if err == nil {
		o.targets, err = writing.TargetsOf(args)
	}
	if err != nil {
		return nil, &util.UsageError{Err: err}
	}
	o.loop = dispatch.LoopOptions{
		Plan: plan.Options{
			Owner: delegation.Job().OwnerOf(f.owner.ManagedBy), Namespace: f.namespaceTo, SetLabels: f.setLabels, StripLabels: f.stripLabels,
		},
		Identity: env.Identity(), MirrorTTL: f.mirrorTTL, DeleteOnInterrupt: f.onInterrupt == deleteMirror,
		DetachAfterStart: f.detach, NewMirror: f.newMirror,
	}
	if o.format, err = printers.NewObjectFormat(f.output, false); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	o.origin, o.workers, err = f.LoadWorkers(env, f.to)
	return o, err
}

// check says which flags make no sense, alone or together.
func (f *dispatchFlags) check(names []string) error {
	given := 0
	for _, is := range []bool{len(names) > 0, f.labelSelector != "", len(f.filenames) > 0} {
		if is {
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

// isPlain says whether a text is one name, and no list and no pattern.
func isPlain(to string) bool { return !strings.ContainsAny(to, ",*?[^/") }

// checkValues says which flags have values that make no sense.
func (f *dispatchFlags) checkValues() error {
	switch {
	case !slices.Contains([]string{writing.DryRunNone, writing.DryRunClient, writing.DryRunServer}, f.dryRun):
		return fmt.Errorf("--dry-run must be none, client or server, not %q", f.dryRun)
	case !slices.Contains([]string{leaveMirror, deleteMirror}, f.onInterrupt):
		return fmt.Errorf("--on-interrupt must be leave or delete, not %q", f.onInterrupt)
	case f.mirrorTTL > math.MaxInt32*time.Second:
		return fmt.Errorf("--mirror-ttl must be at most %s, not %s", math.MaxInt32*time.Second, f.mirrorTTL)
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
	if f.output != "" && !slices.Contains(f.formats(), f.output) {
		return fmt.Errorf("unknown output format %q. Use json, yaml or kyaml, or name with --dry-run", f.output)
	}
	return nil
}
