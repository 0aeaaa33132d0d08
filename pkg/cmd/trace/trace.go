// Package trace shows a Job's way from its origin to its pods, and tells where one could
// run that waits or is not submitted yet.
package trace

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// mermaid is the format of the chain as a picture; only trace has it.
const mermaid = "mermaid"

// traceFlags are what a user typed behind trace.
type traceFlags struct {
	*util.GlobalFlags
	labelSelector string
	// choosesKinds is whether --kinds was given.
	choosesKinds bool
	orphans      bool
	watch        bool
	output       string
	noHeaders    bool
	timeline     bool
	filenames    []string
	queue        string
}

// traceOptions are what trace needs to run, checked.
type traceOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	// wanted is the Job to trace; its Name is "" where all pairs are wanted.
	wanted  read.Wanted
	query   read.Query
	orphans bool
	watch   bool
	format  *printers.Format
	table   printers.TableOptions
	// filenames are manifests of what is not submitted, none where clusters are to be
	// looked at, and submitTo the LocalQueue in place of the one that they name.
	filenames []string
	submitTo  string
}

// NewCommand makes the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &traceFlags{GlobalFlags: global}
	ask := complete.New(env, global)
	cmd := &cobra.Command{
		Use: "trace [[KIND/]NAME] [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Show a Job's way from its origin to the pods on another cluster",
		Long: `Show one Job's way, hop by hop and over all clusters: the Job that was made (the
origin), the queues, the Workload and the checks it goes through, the clusters it
may be given to, its copy there (the mirror), and the pods. Then what differs
between origin and mirror, and what happened when.

NAME is the origin's or the mirror's, in the namespace of -n or of the current
context, and is looked for on all contexts of the kubeconfig unless some are
chosen. KIND is one that the kinds command lists, and a Job unless it is told.
Without a NAME, all pairs of origins and mirrors are listed.

Of a Job that waits in a queue of Kueue it also tells where it could run: each cluster
that it may be given to, what it lacks there, who holds that, and what would have to be
different. --filename asks the same of Jobs that are not submitted yet, with the defaults
of the clusters that they would be submitted to, where those may be asked for a dry run:
nothing is created, and the exit code is 3 if one of them can run nowhere as things stand.`,
		Example: strings.ReplaceAll(`  # Where does this Job run, and if it does not, what does it wait for?
  NAME trace train -n ml

  # All pairs of all namespaces, and mirrors that nobody owns any more
  NAME trace -A
  NAME trace -A --orphans

  # The same of an object of another kind, and pairs of all kinds
  NAME trace jobset/train -n ml
  NAME trace -A --kinds all

  # Could this Job run anywhere, in that queue?
  NAME trace -f train.yaml --queue user-queue -n ml

  # The chain as a picture for a ticket, and the time that each step took
  NAME trace train -n ml -o mermaid
  NAME trace train -n ml -o svg > train.svg`, "NAME", env.DisplayName()),
		Args: util.AtMostOne("the Job's name", "[KIND/]NAME"),

		ValidArgsFunction: ask.Asks(ask.Traced),
	}
	f.addTo(cmd, ask)
	cmd.RunE = util.Runs(func(args []string) (*traceOptions, error) {
		f.choosesKinds = cmd.Flags().Changed("kinds")
		return f.toOptions(env, args)
	})
	return cmd
}

func (f *traceFlags) addTo(cmd *cobra.Command, ask *complete.Completer) {
	f.AddNamespacesFlag(cmd, "look")
	f.AddKindsFlag(cmd, "Kinds to look at", delegation.Job().Name)
	f.AddFromFlag(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.labelSelector, "selector", "l", "", "Selector (label query) to filter the table of pairs on: those whose origin or mirror matches")
	util.Describe(cmd, util.ForObjects, cobra.NoFileCompletions, "selector")
	flags.StringArrayVarP(&f.filenames, "filename", "f", nil, "Filename, directory, or URL to files with Jobs that are not submitted yet, to tell where they could run; - is standard input")
	util.Describe(cmd, util.ForObjects, util.Manifests, "filename")
	flags.StringVar(&f.queue, "queue", "", "With --filename, the LocalQueue to submit to, in place of the one that a Job names")
	util.Describe(cmd, util.ForNewObject, ask.Asks(ask.Queues), "queue")
	flags.BoolVar(&f.orphans, "orphans", false, "List only mirrors whose origin was not found")
	util.Describe(cmd, util.ForObjects, nil, "orphans")
	flags.BoolVar(&f.timeline, "timeline", false, "Show all events of a Job, not only the last ones")
	util.Describe(cmd, util.ForOutput, nil, "timeline")
	flags.BoolVarP(&f.watch, "watch", "w", false, "After looking, watch, and show what has changed")
	util.Describe(cmd, util.ForFollowing, nil, "watch")
	formats := append(printers.Formats(), mermaid, printers.SVG)
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: ("+strings.Join(formats, ", ")+")")
	util.Describe(cmd, util.ForOutput, util.OneOf(formats...), "output")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "When using the default or custom-column output format, don't print headers")
	util.Describe(cmd, util.ForOutput, nil, "no-headers")
}

func (f *traceFlags) toOptions(env util.Environment, args []string) (*traceOptions, error) {
	o := &traceOptions{
		Environment: env, flags: f.GlobalFlags, orphans: f.orphans, watch: f.watch, filenames: f.filenames, submitTo: f.queue,
		query: read.Query{AllNamespaces: f.AllNamespaces, LabelSelector: f.labelSelector, Kinds: f.Kinds},
	}
	var err, formatErr error
	o.wanted, err = util.WantedJob(args)
	o.format, formatErr = printers.NewFormat(f.output, f.noHeaders, mermaid, printers.SVG)
	if err := errors.Join(err, formatErr, o.format.RefuseWatch(f.watch), f.fileConflicts(o), f.conflicts(o)); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if o.contexts, err = f.Load(&o.Environment, util.EveryContext); err != nil {
		return nil, err
	}
	util.OneNamespace(o.contexts)
	if !f.AllNamespaces {
		o.wanted.Namespace = o.contexts[0].Namespace
	}
	o.table = printers.TableOptions{Kinds: !o.query.OnlyJobs(), Wide: o.format.Wide(), NoHeaders: f.noHeaders, Timeline: f.timeline, Color: env.WantsColor(f.Color), Markdown: o.format.Is(printers.Markdown)}
	return o, nil
}

// fileConflicts says which flags make no sense with manifests.
func (f *traceFlags) fileConflicts(o *traceOptions) error {
	switch {
	case len(f.filenames) == 0 && f.queue != "":
		return errors.New("--queue requires --filename")
	case len(f.filenames) == 0:
		return nil
	case o.wanted.Name != "":
		return errors.New("trace takes either a NAME or --filename")
	case f.watch || f.orphans || f.labelSelector != "" || f.choosesKinds || f.AllNamespaces:
		return errors.New("--filename cannot be combined with --watch, --orphans, --selector, --kinds or --all-namespaces")
	case o.draws():
		return fmt.Errorf("-o %s cannot be combined with --filename", f.output)
	}
	return nil
}

// draws says whether the answer is a picture.
func (o *traceOptions) draws() bool {
	return o.format != nil && (o.format.Is(mermaid) || o.format.Is(printers.SVG))
}

// conflicts says which flags make no sense together.
func (f *traceFlags) conflicts(o *traceOptions) error {
	switch {
	case f.From != "" && f.watch:
		return errors.New("--from cannot be combined with --watch: a snapshot never changes")
	case o.wanted.Name != "" && f.orphans:
		return errors.New("--orphans cannot be combined with a NAME")
	case o.wanted.Name != "" && f.labelSelector != "":
		return errors.New("--selector cannot be combined with a NAME")
	case o.wanted.Name != "" && f.choosesKinds:
		return errors.New("--kinds cannot be combined with a NAME. Write KIND/NAME")
	case o.wanted.Name == "" && len(f.filenames) == 0 && o.draws():
		return fmt.Errorf("-o %s requires the NAME of a Job", f.output)
	}
	return nil
}
