// Package recreate gives a Job another owner: deletes it and creates it again.
package recreate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// recreateFlags are recreate's flags as the user gave them.
type recreateFlags struct {
	*util.GlobalFlags
	managedBy string
	queue     string
	force     bool
	yes       bool
	backup    string
	timeout   time.Duration
	dryRun    string
	output    string
}

// recreateOptions are the checked options of recreate.
type recreateOptions struct {
	util.Environment
	flags   *recreateFlags
	target  writing.Target
	context fleet.Context
	replace recreate.Options
	// format is nil for output for people.
	format *printers.Format
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &recreateFlags{GlobalFlags: global, dryRun: writing.DryRunNone, timeout: time.Minute}
	completer := complete.New(env, global)
	cmd := &cobra.Command{
		Use:                   "recreate [KIND/]NAME --managed-by VALUE [options]",
		DisableFlagsInUseLine: true,
		Annotations:           util.InOneContext(),
		ValidArgsFunction:     util.FirstOnly(completer.Func(completer.Objects(util.CurrentContext))),
		Args:                  util.ExactlyOne("the NAME of a Job", "[KIND/]NAME"),
		Short:                 "Delete a Job and create it again with another owner",
		Long: `Change the owner of a Job of this context (--context, or the current one).
spec.managedBy is immutable, so recreate deletes the Job and creates it again.

recreate shows a diff and asks first. Before recreate deletes anything, it has the API
server try the new Job, and saves the old one to a file. If the new Job cannot be
created, recreate restores the old one. Once the deletion has started, Ctrl-C waits for
the end.

The owner '' is the built-in controller, which runs the Job in its own cluster. A Job
that runs, is dispatched, or belongs to another object such as a CronJob needs --force.
A finished Job runs again.`,
		Example: strings.ReplaceAll(`  # Move a Job to MultiKueue, into the queue of its team
  NAME recreate train -n ml \
      --managed-by kueue.x-k8s.io/multikueue --queue research

  # Make a Job wait for dispatch, instead of running it here
  NAME recreate train -n ml --queue '' \
      --managed-by jobmanagedby.github.io/dispatch

  # Have the built-in controller run it here
  NAME recreate train -n ml --managed-by '' --queue ''

  # Only show the diff, as the API server sees it
  NAME recreate train -n ml \
      --managed-by example.com/runner --dry-run=server

  # In a script: do not ask, and save the old Job to a given file
  NAME recreate train -n ml --managed-by '' --queue '' \
      --yes --backup train-before.yaml`, "NAME", env.DisplayName()),
	}
	f.addTo(cmd, completer)
	writing.RefuseFrom(cmd, f.GlobalFlags)
	cmd.RunE = util.Runs(func(args []string) (*recreateOptions, error) {
		return f.toOptions(env, args[0], cmd.Flags().Changed)
	})
	return cmd
}

func (f *recreateFlags) addTo(cmd *cobra.Command, completer *complete.Completer) {
	flags := cmd.Flags()
	flags.StringVar(&f.managedBy, "managed-by", "", "The Job's new spec.managedBy; '' or "+delegation.Job().Reserved+" is the built-in controller")
	util.Describe(cmd, util.ForNewObject, completer.Func(completer.Owners(delegation.Job().Reserved, string(delegation.Dispatch), string(delegation.MultiKueue))), "managed-by")
	flags.StringVar(&f.queue, "queue", "", "LocalQueue to put the Job into, for MultiKueue; '' takes it out of its queue")
	util.Describe(cmd, util.ForNewObject, completer.Func(completer.Queues), "queue")
	flags.BoolVar(&f.force, "force", false, "If present, recreate a Job that runs, is dispatched, or belongs to another object, and do not check its queue")
	util.Describe(cmd, util.ForRun, nil, "force")
	writing.AddYesFlag(cmd, &f.yes)
	flags.StringVar(&f.backup, "backup", "", "New file for a copy of the old Job (default KIND-NAMESPACE-NAME-TIME.yaml in the current directory)")
	util.Describe(cmd, util.ForRun, util.Files, "backup")
	flags.DurationVar(&f.timeout, "timeout", f.timeout, "How long to wait for the deletion of the old Job, before exit code 124")
	util.Describe(cmd, util.ForRun, cobra.NoFileCompletions, "timeout")
	writing.AddDryRunFlag(cmd, &f.dryRun, "check only what can be read", "have the API server check it, too", "Nothing is changed")
	flags.StringVarP(&f.output, "output", "o", "", "Output format of the new Job. One of: (json, yaml, kyaml, name)")
	util.Describe(cmd, util.ForOutput, util.OneOf("json", "yaml", "kyaml", "name"), "output")
}

func (f *recreateFlags) toOptions(env util.Environment, name string, isGiven func(flag string) bool) (*recreateOptions, error) {
	o := &recreateOptions{Environment: env, flags: f}
	o.replace = recreate.Options{ManagedBy: f.managedBy, Force: f.force}
	if isGiven("queue") {
		o.replace.Queue = &f.queue
	}
	targets, err := writing.ParseTargets([]string{name})
	if err == nil {
		err = f.check(isGiven("managed-by"))
	}
	if err != nil {
		return nil, &util.UsageError{Err: err}
	}
	o.target = targets[0]
	if kind, known := delegation.KindNamed(o.target.Kind); known {
		o.replace.Kind = kind
	}
	if err := o.replace.Validate(); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if err := writing.CanConfirm(env.In, f.yes, f.dryRun, "recreate must ask before it deletes the Job"); err != nil {
		return nil, err
	}
	if f.output != "" {
		if o.format, err = printers.NewObjectFormat(f.output, false); err != nil {
			return nil, &util.UsageError{Err: err}
		}
	}
	current, err := fleet.Load(f.Kube, fleet.Selection{})
	if err != nil {
		return nil, err
	}
	o.context = current[0]
	f.ConfigureClients(env, current)
	return o, nil
}

// formats returns the values of -o.
func formats() []string { return []string{"json", "yaml", "kyaml", "name"} }

// check returns an error for flags that make no sense, alone or together.
func (f *recreateFlags) check(hasOwner bool) error {
	switch {
	case !hasOwner:
		return errors.New("--managed-by is required: the new owner, or '' for the built-in controller")
	case f.AllContexts || len(f.Contexts) > 0:
		return errors.New("recreate works in one context. Use --context, not --contexts or --all-contexts")
	case f.timeout <= 0:
		return fmt.Errorf("--timeout must be greater than zero, not %s", f.timeout)
	case f.output != "" && !slices.Contains(formats(), f.output):
		return printers.UnknownFormat(f.output, formats())
	}
	return writing.CheckDryRun(f.dryRun)
}
