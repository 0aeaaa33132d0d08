// Package trace shows the chain of a Job from its origin to its pods, and where a Job could run
// that waits or is not submitted yet.
package trace

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// mermaid is the format of the chain as a picture; only trace has it.
const mermaid = "mermaid"

// traceFlags are trace's flags as the user gave them.
type traceFlags struct {
	*util.GlobalFlags
	labelSelector string
	kinds         []string
	// choosesKinds is set if --kinds was given.
	choosesKinds bool
	orphans      bool
	watch        bool
	output       string
	noHeaders    bool
	timeline     bool
	filenames    []string
	queue        string
}

// traceOptions are the checked options of trace.
type traceOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	// wanted is the Job to trace; its Name is "" if all pairs are wanted.
	wanted  read.Wanted
	query   read.Query
	orphans bool
	watch   bool
	format  *printers.Format
	table   printers.TableOptions
	// filenames are manifests of Jobs that are not submitted, empty for Jobs on clusters;
	// submitTo replaces the LocalQueue that they name, and given are the other objects that they may name.
	filenames []string
	submitTo  string
	given     given
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &traceFlags{GlobalFlags: global}
	completer := complete.New(env, global)
	cmd := &cobra.Command{
		Use: "trace [[KIND/]NAME] [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Show why a Job does not run, and where it runs",
		Long: `Show why a Job does not run, where it could run, and every step between the Job and its
Pods, on all clusters. The first lines are the state, the reason and the fix. The time
in the first line counts from the Job's creation or its last eviction or deactivation
while it waits, from its start while it runs, and from its end once it has finished.

NAME is the name of the origin or of the mirror. trace looks for it in all contexts of
the kubeconfig, or in those of --contexts. Without -n, it takes the namespace of the
current context. KIND is a name that the kinds command lists. The default is job.
Without NAME, trace lists all pairs of origins and mirrors.

For a waiting Job, one row per cluster says whether it fits there, and what is missing.
With -o wide, a column for each condition replaces NEEDS, FREE and LIMIT, and a second
table has these of each flavor.
Before you submit Jobs or CronJobs, trace --filename says where they could run. It
creates nothing: a dry run of the API server adds the defaults. For other kinds with
managedBy or a queue label, it checks everything except their requests, so it cannot say
that they fit. A LocalQueue in the same files counts as created where the Job is submitted,
not on workers. A Namespace or a ClusterQueue counts, too, but the verdict is then unknown,
because what the new object will have is unknown. trace skips other objects, such as
Secrets.

With --filename, the exit code is 3 if a Job can never run. Without it, a stuck Job does
not change the exit code: use check for that. The exit code is 4 if the answer depends on
something that was not read, such as the requests of other kinds, the nodes for a Job
without a queue, or a worker in a list of pairs.`,
		Example: strings.ReplaceAll(`  # Where does this Job run? If it does not run, why?
  NAME trace train -n ml

  # Where could this Job run, before you submit it?
  NAME trace -f train.yaml --queue user-queue -n ml

  # All pairs, and mirrors without an origin
  NAME trace -A
  NAME trace -A --orphans

  # An object of another kind
  NAME trace jobset/train -n ml

  # For a ticket: the chain, and what the Job did over time
  NAME trace train -n ml -o mermaid
  NAME trace train -n ml -o svg > train.svg`, "NAME", env.DisplayName()),
		Args: util.AtMostOne("the Job's name", "[KIND/]NAME"),

		ValidArgsFunction: util.FirstOnly(completer.Func(completer.Objects(util.EveryContext))),
	}
	f.addTo(cmd, completer)
	cmd.RunE = util.Runs(func(args []string) (*traceOptions, error) {
		f.choosesKinds = cmd.Flags().Changed("kinds")
		return f.toOptions(env, args)
	})
	return cmd
}

func (f *traceFlags) addTo(cmd *cobra.Command, completer *complete.Completer) {
	f.AddNamespacesFlag(cmd, "trace Jobs")
	util.AddKindsFlag(cmd, &f.kinds, "Kinds to read", delegation.Job().Name)
	f.AddFromFlag(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.labelSelector, "selector", "l", "", "Selector (label query): list the pairs whose origin or mirror matches")
	util.Describe(cmd, util.ForObjects, cobra.NoFileCompletions, "selector")
	flags.StringArrayVarP(&f.filenames, "filename", "f", nil, "Filename, directory, or URL to files with Jobs that are not submitted yet; - is standard input")
	util.Describe(cmd, util.ForObjects, util.Manifests, "filename")
	flags.StringVar(&f.queue, "queue", "", "With --filename, the LocalQueue, instead of that in the Job")
	util.Describe(cmd, util.ForNewObject, completer.Func(completer.Queues), "queue")
	flags.BoolVar(&f.orphans, "orphans", false, "List only mirrors whose origin was not found")
	util.Describe(cmd, util.ForObjects, nil, "orphans")
	flags.BoolVar(&f.timeline, "timeline", false, "Show all events of a Job, not only the last ones")
	util.Describe(cmd, util.ForOutput, nil, "timeline")
	flags.BoolVarP(&f.watch, "watch", "w", false, "Keep watching, and show what changes")
	util.Describe(cmd, util.ForFollowing, nil, "watch")
	formats := append(printers.Formats(), mermaid, printers.SVG)
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: ("+strings.Join(formats, ", ")+")")
	util.Describe(cmd, util.ForOutput, util.OneOf(formats...), "output")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "When using the default or custom-column output format, don't print headers and headings of sections; print columns without content, too")
	util.Describe(cmd, util.ForOutput, nil, "no-headers")
}

func (f *traceFlags) toOptions(env util.Environment, args []string) (*traceOptions, error) {
	o := &traceOptions{
		Environment: env, flags: f.GlobalFlags, orphans: f.orphans, watch: f.watch, filenames: f.filenames, submitTo: f.queue,
		query: read.Query{AllNamespaces: f.AllNamespaces, LabelSelector: f.labelSelector, Kinds: f.kinds},
	}
	var err, formatErr error
	o.wanted, err = util.ParseJobName(args)
	o.format, formatErr = printers.NewFormat(reflect.TypeFor[inspect.Trace](), f.output, f.noHeaders, mermaid, printers.SVG)
	if err := errors.Join(err, formatErr, util.NamesOrSelectors(args, f.labelSelector), f.RefuseWatch(util.WatchFlag(f.watch)), o.format.RefuseWatch(util.WatchFlag(f.watch)), f.fileConflicts(o), f.conflicts(o)); err != nil {
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

// fileConflicts returns an error for flags that make no sense with manifests.
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

// draws reports whether the answer is a picture.
func (o *traceOptions) draws() bool {
	return o.format != nil && (o.format.Is(mermaid) || o.format.Is(printers.SVG))
}

// conflicts returns an error for flags that make no sense together.
func (f *traceFlags) conflicts(o *traceOptions) error {
	switch {
	case o.wanted.Name != "" && f.orphans:
		return errors.New("--orphans cannot be combined with a NAME")
	case o.wanted.Name != "" && f.choosesKinds:
		return errors.New("--kinds cannot be combined with a NAME. Write KIND/NAME")
	case o.wanted.Name == "" && f.timeline:
		return errors.New("--timeline requires the NAME of a Job")
	case o.wanted.Name == "" && len(f.filenames) == 0 && o.draws():
		return fmt.Errorf("-o %s requires the NAME of a Job", f.output)
	}
	return nil
}
