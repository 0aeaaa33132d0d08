package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// cancelFlags are cancel's flags as the user gave them.
type cancelFlags struct {
	*globalFlags
	to            string
	labelSelector string
	managedBy     string
	abandon       bool
	output        string
}

// cancelOptions are what cancel needs to run, checked.
type cancelOptions struct {
	Environment
	flags  *cancelFlags
	names  []string
	origin fleet.Context
	// contexts are all that may be asked, with the origin's.
	contexts []fleet.Context
}

func newCancelCommand(env Environment, global *globalFlags) *cobra.Command {
	f := &cancelFlags{globalFlags: global, managedBy: string(delegation.Dispatch)}
	cmd := &cobra.Command{
		Use:                   "cancel (NAME... | -l SELECTOR) [options]",
		DisableFlagsInUseLine: true,
		Short:                 "End a dispatch: remove the mirror, and have the Job fail",
		Long: `End the dispatch of a Job of this context (--context, or the current one): its
mirror is removed with its pods, and the Job fails with the reason
` + dispatch.CancelReason + `. A Job that has ended keeps its end, and loses its mirror. Whoever
dispatches it sees that, and stops.

The mirror is looked for on all contexts of the kubeconfig, or in --to. If its
cluster cannot be reached, nothing is changed.`,
		Example: strings.ReplaceAll(`  # End a dispatch
  NAME cancel train -n ml

  # End all dispatches of an experiment, from another context
  NAME cancel -l experiment=a -n ml --context management

  # The worker is gone for good, and so is the mirror
  NAME cancel train -n ml --abandon-mirror`, "NAME", env.displayName()),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "Context of the mirror's cluster, if others are not to be asked")
	flags.StringVarP(&f.labelSelector, "selector", "l", "", "Selector (label query): end all dispatches of the namespace that match")
	flags.StringVar(&f.managedBy, "managed-by", f.managedBy, "The spec.managedBy of the Jobs, if it is not this plugin's own")
	flags.BoolVar(&f.abandon, "abandon-mirror", false, "If present, have the Job fail without looking for its mirror, which stays where it is")
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: (json, yaml), a line or document for each event")
	cmd.RunE = runs(func(args []string) (*cancelOptions, error) { return f.toOptions(env, args) })
	return cmd
}

func (f *cancelFlags) toOptions(env Environment, names []string) (*cancelOptions, error) {
	o := &cancelOptions{Environment: env, flags: f, names: names}
	if err := f.check(names); err != nil {
		return nil, &usageError{err: err}
	}
	here, err := fleet.Load(f.kube, fleet.Selection{})
	if err != nil {
		return nil, err
	}
	o.origin = here[0]
	others := fleet.Selection{All: true}
	if f.to != "" {
		others = fleet.Selection{Patterns: []string{o.origin.Name, f.to}}
	}
	if f.abandon {
		o.contexts = here
	} else if o.contexts, err = fleet.Load(f.kube, others); err != nil {
		return nil, err
	}
	introduce(env, o.contexts)
	return o, nil
}

func (f *cancelFlags) check(names []string) error {
	switch {
	case (len(names) > 0) == (f.labelSelector != ""):
		return errors.New("cancel takes the NAMEs of Jobs, or --selector, and one of these only")
	case slices.ContainsFunc(names, func(n string) bool { return n == "" || strings.Contains(n, "/") }):
		return fmt.Errorf("%q are not all names of Jobs; a namespace is given with -n", names)
	case f.allContexts || len(f.contexts) > 0:
		return errors.New("cancel ends dispatches from one context, --context or the current one; --contexts and --all-contexts make no sense here")
	case f.abandon && f.to != "":
		return errors.New("--abandon-mirror does not look for the mirror, and cannot be combined with --to")
	case !slices.Contains([]string{"", "json", "yaml"}, f.output):
		return fmt.Errorf("unknown output format %q; there are json and yaml", f.output)
	}
	return nil
}

func (o *cancelOptions) run(ctx context.Context) error {
	sides, opened, unreached := o.flags.sides(ctx, o.Environment, o.contexts)
	if err := interrupted(ctx); err != nil {
		return err
	}
	origin, ok := sides[o.origin.Name]
	if !ok {
		return unreached
	}
	delete(sides, o.origin.Name)
	var aliases []string
	for _, a := range opened.Aliases() {
		aliases = append(aliases, a.Context)
	}
	names, err := o.find(ctx, origin)
	if err != nil {
		return err
	}
	// As for several, so that each line has its Job's name.
	view := newDispatchView(o.Environment, o.flags.globalFlags, o.flags.output, len(names)+1)
	defer view.close()
	canceller := &dispatch.Canceller{
		Origin: origin, Owner: delegation.Job().OwnerOf(o.flags.managedBy), Abandon: o.flags.abandon, Only: o.flags.to,
		Identity: o.identity(), OriginMinor: minor(origin), Clock: o.Clock, Events: dispatch.NewRecorder(o.Clock, view.event),
	}
	for _, c := range o.contexts {
		switch side, ok := sides[c.Name]; {
		case ok:
			canceller.Workers = append(canceller.Workers, side)
		case c.Name != o.origin.Name && !slices.Contains(aliases, c.Name):
			canceller.Unreached = append(canceller.Unreached, c.Name)
		}
	}
	var errs []error
	for _, name := range names {
		if err := canceller.Cancel(ctx, o.origin.Namespace, name); err != nil {
			errs = append(errs, err)
		}
		if err := interrupted(ctx); err != nil {
			return joined(append(errs, err))
		}
	}
	if len(errs) > 0 && unreached != nil {
		// It may be there that a mirror is.
		errs = append(errs, unreached)
	}
	return joined(errs)
}

// find returns the names of the Jobs that are meant.
func (o *cancelOptions) find(ctx context.Context, origin *dispatch.Side) ([]string, error) {
	if len(o.names) > 0 {
		return o.names, nil
	}
	owner := delegation.Job().OwnerOf(o.flags.managedBy)
	jobs, others, err := dispatch.Find(ctx, origin, owner, o.origin.Namespace, o.flags.labelSelector)
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("context %s: no Job of %s in namespace %q matches %q; %d that match are managed by somebody else", origin.Context, owner, o.origin.Namespace, o.flags.labelSelector, others)
	}
	names := make([]string, len(jobs))
	for i, job := range jobs {
		names[i] = job.GetName()
	}
	return names, nil
}
