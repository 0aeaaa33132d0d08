// Package cancel ends dispatches.
package cancel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// cancelFlags are cancel's flags as the user gave them.
type cancelFlags struct {
	*util.GlobalFlags
	to            string
	labelSelector string
	kinds         []string
	// choosesKinds is set if --kinds was given.
	choosesKinds bool
	owner        writing.OwnerFlags
	abandon      bool
	yes          bool
	dryRun       string
	output       string
}

// cancelOptions are the checked options of cancel.
type cancelOptions struct {
	util.Environment
	flags *cancelFlags
	// called is the command with its parsed flags.
	called  *cobra.Command
	targets []writing.Target
	origin  fleet.Context
	// contexts are all contexts that are searched, including the origin's.
	contexts []fleet.Context
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &cancelFlags{GlobalFlags: global}
	completer := complete.New(env, global)
	cmd := &cobra.Command{
		Use:                   "cancel ([KIND/]NAME... | -l SELECTOR) [options]",
		DisableFlagsInUseLine: true,
		Annotations:           util.InOneContext(),
		ValidArgsFunction:     completer.Func(completer.DispatchedJobs),
		Short:                 "End a dispatch: delete the mirror and fail the Job",
		Long: `End the dispatch of a Job of this context (--context, or the current one). cancel
deletes the mirror with its Pods. The Job then fails with the reason
` + dispatch.CancelReason + `. A Job that has finished keeps its result.

cancel looks for mirrors by their label, in all namespaces of the other contexts of the
kubeconfig, or of the context of --to. If it cannot search one of them, it changes
nothing and says so. If you may list Jobs in some namespaces only, cancel deletes just
the mirrors that the Job names.

cancel shows what it would do and asks first. Once it has ended a Job, it requests the
deletion of the mirror even after Ctrl-C.

Other kinds fail in their own way. A kind without a failed state, such as RayService,
keeps its status, and is no longer dispatched.`,
		Example: strings.ReplaceAll(`  # End a dispatch
  NAME cancel train -n ml

  # End all dispatches of an experiment, whose Jobs are in another context
  NAME cancel -l experiment=a -n ml --context management

  # End a dispatch to a worker that no longer exists
  NAME cancel train -n ml --abandon-mirror

  # Only show what would happen, as the API servers see it
  NAME cancel train -n ml --dry-run=server

  # In a script: do not ask
  NAME cancel train -n ml --yes`, "NAME", env.DisplayName()),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "Context to search for mirrors, instead of all others")
	util.Describe(cmd, util.ForClusters, completer.Func(completer.OtherContexts), "to")
	flags.StringVarP(&f.labelSelector, "selector", "l", "", "Selector (label query): end all dispatches of the namespace that match")
	util.Describe(cmd, util.ForObjects, cobra.NoFileCompletions, "selector")
	util.AddKindsFlag(cmd, &f.kinds, "Kinds that --selector is for", delegation.Job().Name)
	f.owner.AddTo(cmd, completer, "the Job was dispatched with --as-multikueue: its managedBy is "+string(delegation.MultiKueue))
	flags.BoolVar(&f.abandon, "abandon-mirror", false, "If present, fail the Job, and leave its mirrors running without looking for them")
	util.Describe(cmd, util.ForMirror, nil, "abandon-mirror")
	writing.AddYesFlag(cmd, &f.yes)
	writing.RefuseFrom(cmd, f.GlobalFlags)
	writing.AddDryRunFlag(cmd, &f.dryRun, "check only what can be read", "have the API servers check it, too", "Nothing is changed")
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: (json, yaml, kyaml), a line or document for each event")
	util.Describe(cmd, util.ForOutput, util.OneOf("json", "yaml", "kyaml"), "output")
	cmd.RunE = util.Runs(func(args []string) (*cancelOptions, error) { return f.toOptions(env, args, cmd) })
	return cmd
}

func (f *cancelFlags) toOptions(env util.Environment, names []string, called *cobra.Command) (*cancelOptions, error) {
	o := &cancelOptions{Environment: env, flags: f, called: called}
	isGiven := called.Flags().Changed
	f.choosesKinds = isGiven("kinds")
	err := f.owner.Complete(isGiven)
	if err == nil {
		err = f.check(names)
	}
	if err == nil {
		o.targets, err = writing.ParseTargets(names)
	}
	if err != nil {
		return nil, &util.UsageError{Err: err}
	}
	current, err := fleet.Load(f.Kube, fleet.Selection{})
	if err != nil {
		return nil, err
	}
	o.origin = current[0]
	searched := fleet.Selection{All: true}
	if f.to != "" {
		searched = fleet.Selection{Patterns: []string{o.origin.Name, f.to}}
	}
	if f.abandon {
		o.contexts = current
	} else if o.contexts, err = fleet.Load(f.Kube, searched); err != nil {
		return nil, err
	}
	if f.to != "" && !slices.ContainsFunc(o.contexts, func(c fleet.Context) bool { return c.Name != o.origin.Name }) {
		return nil, o.searchesNothing()
	}
	if err := writing.CanConfirm(env.In, f.yes, f.dryRun, "cancel must ask before it ends dispatches"); err != nil {
		return nil, err
	}
	f.ConfigureClients(env, o.contexts)
	return o, nil
}

// searchesNothing returns an error for a --to that has no cluster besides the Job's own.
func (o *cancelOptions) searchesNothing() error {
	return &util.UsageError{Err: fmt.Errorf("--to %s names only the cluster of the Job, context %q. Mirrors are on other clusters", o.flags.to, o.origin.Name)}
}

// formats returns the values of -o.
func formats() []string { return []string{"json", "yaml", "kyaml"} }

func (f *cancelFlags) check(names []string) error {
	switch {
	case (len(names) > 0) == (f.labelSelector != ""):
		return errors.New("cancel takes either NAMEs of Jobs or --selector")
	case f.choosesKinds && f.labelSelector == "":
		return errors.New("--kinds requires --selector. With a NAME, write KIND/NAME")
	case f.AllContexts || len(f.Contexts) > 0:
		return errors.New("cancel works in one context. Use --context, not --contexts or --all-contexts")
	case f.abandon && f.to != "":
		return errors.New("--abandon-mirror does not search the mirror, so it cannot be combined with --to")
	case f.output != "" && !slices.Contains(formats(), f.output):
		return printers.UnknownFormat(f.output, formats())
	case f.output != "" && f.dryRun != writing.DryRunNone:
		return errors.New("--output prints events, so it cannot be combined with --dry-run")
	}
	return writing.CheckDryRun(f.dryRun)
}

// aliasesOf returns the contexts whose clusters are searched through other contexts.
func aliasesOf(f *fleet.Fleet) (names []string) {
	for _, a := range f.Aliases() {
		names = append(names, a.Context)
	}
	return names
}

func (o *cancelOptions) Run(ctx context.Context) error {
	clusters, opened, unreached := writing.Connect(ctx, o.Environment, o.flags.GlobalFlags, o.contexts)
	if err := util.Interrupted(ctx); err != nil {
		return err
	}
	origin, ok := clusters[o.origin.Name]
	if !ok {
		return unreached
	}
	delete(clusters, o.origin.Name)
	jobs, err := o.find(ctx, origin, writing.FindKinds(origin))
	if err != nil {
		return err
	}
	canceller := &dispatch.Canceller{
		Origin: origin, Others: map[string][]*fleet.Cluster{}, Owner: o.owner(), Abandon: o.flags.abandon, Only: o.flags.to,
		Identity: o.Identity(), OriginMinor: writing.Minor(ctx, origin), Clock: o.Clock,
	}
	o.addWorkers(canceller, clusters, opened)
	if o.flags.to != "" && len(canceller.Workers)+len(canceller.Unreached) == 0 {
		return o.searchesNothing()
	}
	isDry := o.flags.dryRun != writing.DryRunNone
	if isDry || !o.flags.yes {
		if err := o.preview(ctx, canceller, jobs, unreached); err != nil || isDry {
			if err != nil && !isDry && len(jobs) > 1 {
				util.Report(o.ErrOut, "note: no dispatch was ended, because the one below cannot be")
			}
			return err
		}
		if err := o.confirm(ctx, len(jobs)); err != nil {
			return err
		}
	}
	return o.cancel(ctx, canceller, jobs, unreached)
}

// addWorkers adds the clusters that are searched for mirrors, and the contexts that do not answer.
func (o *cancelOptions) addWorkers(canceller *dispatch.Canceller, clusters map[string]*fleet.Cluster, opened *fleet.Fleet) {
	aliases := aliasesOf(opened)
	for _, c := range o.contexts {
		switch worker, ok := clusters[c.Name]; {
		case ok:
			canceller.Workers = append(canceller.Workers, worker)
			canceller.Others[c.Name] = slices.DeleteFunc(opened.Routes(c.Name), func(route *fleet.Cluster) bool { return route.Context == c.Name })
		case c.Name != o.origin.Name && !slices.Contains(aliases, c.Name):
			canceller.Unreached = append(canceller.Unreached, c.Name)
		}
	}
}

// confirm asks whether to end some dispatches.
func (o *cancelOptions) confirm(ctx context.Context, count int) error {
	if count == 1 {
		return writing.Confirm(ctx, o.Environment, "End this dispatch?")
	}
	return writing.Confirm(ctx, o.Environment, fmt.Sprintf("End these %d dispatches?", count))
}

// cancel ends the dispatches of objects. unreached is the error of the contexts that do not answer.
func (o *cancelOptions) cancel(ctx context.Context, canceller *dispatch.Canceller, jobs []dispatched, unreached error) error {
	view := writing.NewView(o.Environment, o.flags.GlobalFlags, o.flags.output, len(jobs)).NameJobs()
	defer view.Close()
	events := dispatch.NewRecorder(o.Clock, view.Event)
	err := o.each(ctx, jobs, unreached, func(j dispatched) error {
		return canceller.Cancel(ctx, events, j.kind, o.origin.Namespace, j.name)
	})
	return util.JoinErrors([]error{err, view.Err()})
}

// preview shows what would happen to objects: in a dry run on standard output, otherwise where the
// question is. Its error names the objects that cannot be cancelled.
func (o *cancelOptions) preview(ctx context.Context, canceller *dispatch.Canceller, jobs []dispatched, unreached error) error {
	to := o.ErrOut
	if o.flags.dryRun != writing.DryRunNone {
		to = o.Out
	}
	events := dispatch.NewRecorder(o.Clock, func(e *dispatch.Event) {
		util.Report(o.ErrOut, "warning: %s", command.Prose(e.Message).Reached(o.CommandReach(o.flags.GlobalFlags)))
	})
	return o.each(ctx, jobs, unreached, func(j dispatched) error {
		text, err := canceller.Preview(ctx, events, j.kind, o.origin.Namespace, j.name, o.flags.dryRun == writing.DryRunServer)
		if err == nil {
			util.Report(to, "%s%s", text, writing.DryRunSuffix(o.flags.dryRun))
		}
		return err
	})
}

// each calls do for objects until a signal, and returns all errors. unreached is added to them, because
// an unreached context may have the mirror.
func (o *cancelOptions) each(ctx context.Context, jobs []dispatched, unreached error, do func(dispatched) error) error {
	var errs []error
	for _, j := range jobs {
		if err := do(j); err != nil {
			errs = append(errs, err)
			o.hint(j, err)
		}
		if err := util.Interrupted(ctx); err != nil {
			return util.JoinErrors(append(errs, err))
		}
	}
	if len(errs) > 0 && unreached != nil {
		errs = append(errs, unreached)
	}
	return util.JoinErrors(errs)
}

// hint prints the command that searches only where a mirror was found.
func (o *cancelOptions) hint(j dispatched, err error) {
	var unsearched *dispatch.UnsearchedError
	if errors.As(err, &unsearched) && len(unsearched.On) > 0 && o.flags.to == "" {
		narrower := command.Plugin("cancel").With(command.Argument(j.kind, j.name), "-n", o.origin.Namespace, "--context", o.origin.Name, "--to", strings.Join(unsearched.On, ",")).
			With(util.RepeatFlags(o.called.Flags(), func(flag string) bool {
				return !slices.Contains([]string{"namespace", "context", "selector", "kinds"}, flag)
			})...)
		util.Report(o.ErrOut, "to search these contexts only: %s", o.Line(narrower))
	}
}

func (o *cancelOptions) owner() delegation.Owner {
	return delegation.Job().OwnerOf(o.flags.owner.ManagedBy)
}

// dispatched is an object to cancel.
type dispatched struct {
	kind delegation.Kind
	name string
}

// find returns the objects to cancel.
func (o *cancelOptions) find(ctx context.Context, origin *fleet.Cluster, finder *writing.KindFinder) (found []dispatched, err error) {
	for _, t := range o.targets {
		kind, err := finder.Named(ctx, t.Kind)
		if err != nil {
			return nil, err
		}
		found = append(found, dispatched{kind, t.Name})
	}
	if len(o.targets) > 0 {
		return found, nil
	}
	kinds, err := finder.Chosen(ctx, o.flags.kinds, o.owner())
	if err != nil {
		return nil, err
	}
	others := 0
	for _, kind := range kinds {
		jobs, othersOfKind, err := dispatch.Find(ctx, origin, kind, o.owner(), o.origin.Namespace, o.flags.labelSelector)
		if err != nil {
			return nil, err
		}
		others += othersOfKind
		for _, job := range jobs {
			found = append(found, dispatched{kind, job.GetName()})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("context %q: no %s managed by %s in namespace %q matches %q; %d matches have another owner. Name the namespace with -n",
			origin.Context, writing.Noun(kinds), o.owner(), o.origin.Namespace, o.flags.labelSelector, others)
	}
	return found, nil
}
