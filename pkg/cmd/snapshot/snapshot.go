// Package snapshot writes what the other commands read to a directory.
package snapshot

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// snapshotOptions are the checked options of snapshot.
type snapshotOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	dir      string
	redact   bool
	// kinds are the kinds to record in addition to Jobs, empty for all.
	kinds []string
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	var redact bool
	var kinds []string
	cmd := &cobra.Command{
		Use: "snapshot DIR [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Record clusters in a new directory, for --from",
		Long: `Record in a new directory what other commands read: Jobs and all other kinds with
managedBy, their Pods, events and Leases, Namespaces, and Kueue's objects. snapshot
records all contexts of the kubeconfig, unless you choose some. Commands with --from read
the directory on any machine. Ages are relative to the time of the snapshot.

--kinds limits the kinds besides Jobs. The snapshot marks the kinds that it lacks as
unknown.

Of the Secrets with kubeconfigs of workers, the snapshot keeps only the server and the
certificate authority. --redact also removes values of environment variables, the names
of dispatchers, and all annotations except those of Kueue, Jobs and this plugin.

The directory is written completely or not at all. Contexts and objects that could not
be read are recorded as unread.`,
		Example: strings.ReplaceAll(`  # Record all clusters of the kubeconfig, then list their Jobs
  NAME snapshot fleet -A
  NAME ls -A --from fleet

  # Record a snapshot for a bug report
  NAME snapshot report -A --redact

  # Jobs and JobSets, and no other kind
  NAME snapshot small -A --kinds job,jobset

  # One namespace of two clusters
  NAME snapshot train -n train --contexts management,worker-1`, "NAME", env.DisplayName()),
		Args: util.ExactlyOne("the directory to write", "DIR"),

		ValidArgsFunction: util.FirstOnly(util.Directories),
	}
	global.AddNamespacesFlag(cmd, "read")
	util.AddKindsFlag(cmd, &kinds, "Kinds to record besides Jobs", kinds...)
	cmd.Flag("kinds").Usage += ". The default is all, and Pods, StatefulSets and LeaderWorkerSets of Kueue"
	cmd.Flags().BoolVar(&redact, "redact", redact, "Remove values of environment variables, and most annotations")
	util.Describe(cmd, util.ForOutput, nil, "redact")
	global.RefuseFrom(cmd, "a snapshot is taken of clusters, not of a snapshot")
	cmd.RunE = util.Runs(func(args []string) (*snapshotOptions, error) {
		o := &snapshotOptions{Environment: env, flags: global, dir: args[0], redact: redact, kinds: kinds}
		err := o.complete()
		return o, err
	})
	return cmd
}

// complete finds errors before any cluster is asked.
func (o *snapshotOptions) complete() (err error) {
	if err := bundle.CheckTarget(o.dir); err != nil {
		return err
	}
	o.contexts, err = o.flags.Load(&o.Environment, util.EveryContext)
	return err
}

func (o *snapshotOptions) Run(ctx context.Context) error {
	f := o.flags.Open(ctx, o.Environment, o.contexts)
	if err := util.Interrupted(ctx); err != nil {
		return err
	}
	if err := util.RequireServed(ctx, o.Environment, f, o.kinds); err != nil {
		return err
	}
	for _, a := range f.Aliases() {
		util.Report(o.ErrOut, "note: %s reaches the same cluster as %s; recorded once", a.Context, a.SameAs)
	}
	recording, err := bundle.Take(ctx, f, bundle.Options{
		AllNamespaces: o.flags.AllNamespaces, Kinds: o.kinds, Redact: o.redact,
		Known: o.flags.Addresses(o.contexts, f), Clock: o.Clock,
	})
	if err != nil {
		return err
	}
	failed := 0
	contexts := recording.Contexts()
	for i := range contexts {
		if !o.report(&contexts[i]) {
			failed++
		}
	}
	if recording.CountReadable() == 0 {
		return errors.New("cannot read any context; nothing was written")
	}
	if err := recording.Write(ctx, o.dir); err != nil {
		return err
	}
	util.Report(o.Out, "%s holds %d of %d contexts. To read it:", o.dir, recording.CountReadable(), len(contexts))
	back := command.Plugin("ls", "--from", o.dir)
	if o.flags.AllNamespaces {
		back = back.With("-A")
	}
	util.Report(o.Out, "  %s", o.Line(back))
	if failed > 0 {
		return &util.PartialError{Failed: failed, Total: len(contexts)}
	}
	return nil
}

// report prints how many objects of a context were recorded and, as errors, what was not and why. It
// reports whether everything was recorded.
func (o *snapshotOptions) report(c *bundle.Context) bool {
	if c.File == "" {
		util.Report(o.ErrOut, "error: context %q: not read (%s): %s", c.Name, c.Code, c.Error)
		return false
	}
	objects := "objects"
	if *c.Objects == 1 {
		objects = "object"
	}
	unread := c.Failed()
	if len(unread) == 0 {
		util.Report(o.Out, "%s: %d %s", c.Name, *c.Objects, objects)
		return true
	}
	names := make([]string, len(unread))
	for i, u := range unread {
		names[i] = u.Resource
		util.Report(o.ErrOut, "error: context %q: cannot read %s: %s", c.Name, u.Resource, kubecontext.ShortRefusals(u.Status.Message))
	}
	util.Report(o.Out, "%s: %d %s, without %s", c.Name, *c.Objects, objects, strings.Join(names, ", "))
	return false
}
