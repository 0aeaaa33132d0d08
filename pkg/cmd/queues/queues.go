// Package queues shows what Kueue's queues have, use, and are asked for.
package queues

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// queuesFlags are what a user typed behind queues.
type queuesFlags struct {
	*util.GlobalFlags
	summary   bool
	watch     bool
	output    string
	noHeaders bool
}

// queuesOptions are what queues needs to run, checked.
type queuesOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	// names are the queues and cohorts that are wanted, none for all.
	names   []string
	scope   read.Scope
	summary bool
	watch   bool
	format  *printers.Format
	table   printers.TableOptions
}

// NewCommand makes the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &queuesFlags{GlobalFlags: global}
	ask := complete.New(env, global)
	cmd := &cobra.Command{
		Use: "queues [NAME...] [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Show what Kueue's queues have, use, and are asked for",
		Long: `Show what Kueue's queues have, use, and are asked for, on all contexts of the
kubeconfig unless some are chosen: a row for each ClusterQueue, flavor and resource,
the members of a cohort below it.

NOMINAL is a queue's own quota, USED what Workloads hold of it, whether their pods run
or not, BORROWED how much of that is not its own, and FREE what it could still give,
with what it may borrow now. Of a cohort, NOMINAL and USED are of all its members.
PENDING is what waits for the resource; as it waits for any flavor, it stands with the
first one. WORKERS, of a queue that MultiKueue gives to other clusters, is what the
queues there have that its Jobs get into: as much as it has itself, at the least, or
Jobs can get quota that they cannot run with.

NAMEs are those of queues, and of cohorts, which are shown with their members.

With --summary there is a row for each cluster and resource. STATE is what the manager
says of its worker: Active, or Lost and since when. KUEUE is the version of Kueue's
controller, if you may read its Deployment. RUNNING counts the Workloads with quota of
the resource, WAITING the Workloads that request it without quota. LARGEST-FIT is the
most that one ClusterQueue could give now, in one flavor. LAST-ADMITTED is how long ago
the last running Workload got its quota.

With --namespace or -A it is LocalQueues that are shown: USED and PENDING are then
what came through them, and the rest is of the ClusterQueue that they lead to.
What may not be looked at, or cannot be known without, is a question mark.`,
		Example: strings.ReplaceAll(`  # All clusters of the kubeconfig
  NAME queues

  # Two queues of them, or a cohort with its members
  NAME queues team-a team-b
  NAME queues research

  # The clusters: state, usage, and the largest request that fits now
  NAME queues --summary

  # What a team sees that may look into its namespace alone
  NAME queues -n team-a

  # Names and what is free of them, for a script
  NAME queues --no-headers -o custom-columns=:.name,:.free`, "NAME", env.DisplayName()),

		ValidArgsFunction: ask.Asks(ask.QuotaNames),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.AllNamespaces, "all-namespaces", "A", f.AllNamespaces, "If present, show the LocalQueues of all namespaces. The namespace in each context is ignored even if specified with --namespace")
	util.Describe(cmd, util.ForObjects, nil, "all-namespaces")
	f.AddFromFlag(cmd)
	flags.BoolVar(&f.summary, "summary", false, "Show one row for each cluster and resource: whether it is reached, what runs and waits, and the largest request that fits now")
	flags.BoolVarP(&f.watch, "watch", "w", false, "After looking, watch, and show what has changed")
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: ("+strings.Join(printers.Formats(), ", ")+")")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "Print rows alone, without titles and reasons")
	util.Describe(cmd, util.ForFollowing, nil, "watch")
	util.Describe(cmd, util.ForOutput, nil, "summary", "no-headers")
	util.Describe(cmd, util.ForOutput, util.OneOf(printers.Formats()...), "output")
	cmd.RunE = util.Runs(func(args []string) (*queuesOptions, error) { return f.toOptions(env, args) })
	return cmd
}

func (f *queuesFlags) toOptions(env util.Environment, names []string) (*queuesOptions, error) {
	o := &queuesOptions{Environment: env, flags: f.GlobalFlags, names: names, scope: f.scope(), summary: f.summary, watch: f.watch}
	var err error
	o.format, err = printers.NewFormat(f.output, f.noHeaders)
	if err := errors.Join(err, f.RefuseWatch(f.watch), o.format.RefuseWatch(f.watch), f.conflicts(names)); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if o.contexts, err = f.Load(&o.Environment, util.EveryContext); err != nil {
		return nil, err
	}
	o.table = printers.TableOptions{
		Contexts: len(o.contexts) > 1, Namespaces: o.scope == read.AllNamespaces,
		Wide: o.format.Wide(), NoHeaders: f.noHeaders, Color: env.WantsColor(f.Color), Markdown: o.format.Is(printers.Markdown),
	}
	return o, nil
}

// scope is whose queues are meant: those of a namespace that is named.
func (f *queuesFlags) scope() read.Scope {
	switch {
	case f.AllNamespaces:
		return read.AllNamespaces
	case *f.Kube.Namespace != "":
		return read.NamespaceScope
	}
	return read.ClusterScope
}

func (f *queuesFlags) conflicts(names []string) error {
	switch {
	case slices.Contains(names, ""):
		return errors.New("empty NAME")
	case f.summary && len(names) > 0:
		return errors.New("--summary shows whole clusters and takes no NAME")
	}
	if f.summary && f.scope() != read.ClusterScope {
		return errors.New("--summary shows whole clusters, so it cannot be combined with --namespace or --all-namespaces")
	}
	return nil
}

func (o *queuesOptions) Run(ctx context.Context) error {
	f, err := o.flags.Reach(ctx, o.Environment, o.contexts, nil)
	if err != nil {
		return err
	}
	addresses := o.flags.Addresses(o.contexts, f)
	again := &util.Repeated[*queuesRead]{
		Environment: o.Environment, IsTable: o.format.IsTable(), Write: o.write, Show: o.show,
		Read: func(ctx context.Context) (*queuesRead, error) {
			r := o.read(ctx, f, addresses)
			if len(r.List.Items) == 0 && o.scope == read.NamespaceScope && !o.watch && o.format.IsTable() {
				util.NoteMissingNamespace(ctx, o.ErrOut, f)
			}
			return r, nil
		},
	}
	if o.watch {
		return again.Run(ctx, f)
	}
	return again.Once(ctx)
}

// queuesRead is what was read, with what is to be told beside it.
type queuesRead struct {
	List *inspect.QueueList
	// Without are the contexts that do not serve Kueue's API.
	Without []string
	// Notes tell why something is not known that nobody who looks into one namespace
	// counts on.
	Notes []inspect.ContextError
	// Missing are the names that no queue has.
	Missing []string
}

func (o *queuesOptions) read(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address) *queuesRead {
	inventory := read.Read(ctx, f, read.Want{Quotas: o.scope, Release: o.summary, Addresses: addresses, Now: o.Clock.Now})
	r := &queuesRead{List: inspect.NewQueueList()}
	switch {
	case o.summary:
		r.List.Items = queues.Sum(inventory)
	case o.scope == read.ClusterScope:
		r.List.Items = queues.List(inventory)
	default:
		r.List.Items = queues.Locals(inventory)
	}
	r.keep(o.names)
	r.List.Errors = inventory.Errors()
	for _, facts := range inventory.Clusters {
		if facts.NoKueue {
			r.Without = append(r.Without, facts.Context)
		}
		for _, gap := range inspect.QuotaGaps(facts) {
			if o.scope == read.NamespaceScope {
				r.Notes = append(r.Notes, gap)
			} else {
				r.List.Errors = append(r.List.Errors, gap)
			}
		}
	}
	r.List.Unchecked = inspect.Unread(r.List.Errors)
	return r
}

// keep leaves the rows of some names, if there are any, and of what is below them.
func (r *queuesRead) keep(names []string) {
	if len(names) == 0 {
		return
	}
	found := sets.New[string]()
	r.List.Items = slices.DeleteFunc(r.List.Items, func(row inspect.QueueQuota) bool {
		wanted := sets.New(names...).Intersection(sets.New(append(row.Cohorts, row.Name)...))
		if row.Kind == inspect.KindLocalQueue {
			wanted = sets.New(names...).Intersection(sets.New(row.Name))
		}
		found = found.Union(wanted)
		return wanted.Len() == 0
	})
	for _, name := range names {
		if !found.Has(name) && !slices.Contains(r.Missing, name) {
			r.Missing = append(r.Missing, name)
		}
	}
}

// missed is an error for the names that no queue has; where not all could be looked at, that
// is told as it is.
func (o *queuesOptions) missed(r *queuesRead) error {
	if len(r.Missing) == 0 {
		return nil
	}
	what := "queue or cohort"
	if o.scope != read.ClusterScope {
		what = "LocalQueue"
	}
	text := fmt.Sprintf("there is no %s %q", what, strings.Join(r.Missing, ", ")) + o.where()
	if len(r.List.Errors)+len(r.Notes) > 0 {
		text += " on the contexts that were read"
	}
	if o.watch {
		util.Tell(o.ErrOut, "note: %s", text)
		return nil
	}
	return errors.New(text)
}

func (o *queuesOptions) show(r *queuesRead) error {
	if err := util.Written(o.Out, func(w io.Writer) error { return o.write(w, r) }); err != nil {
		return err
	}
	if !o.format.TellsErrors() && (!o.format.IsTable() || o.table.NoHeaders) {
		util.TellErrors(o.ErrOut, r.List.Errors)
	}
	for _, note := range inspect.FoldRefusals(r.Notes) {
		util.Tell(o.ErrOut, "note: %s", note.Message)
	}
	if len(r.Without) > 0 && len(r.List.Items) == 0 && o.format.IsTable() {
		util.Tell(o.ErrOut, "no queues: %s %s Kueue's API", strings.Join(r.Without, ", "), map[bool]string{true: "does not serve", false: "do not serve"}[len(r.Without) == 1])
	} else if len(r.List.Items) == 0 && len(r.List.Errors) == 0 && len(r.Missing) == 0 && o.format.IsTable() {
		util.Tell(o.ErrOut, "no queues found%s", o.where())
	}
	return util.Joined([]error{o.missed(r), util.Partial(r.List.Errors, len(o.contexts))})
}

// where is where it was looked for LocalQueues.
func (o *queuesOptions) where() string {
	if o.scope != read.NamespaceScope {
		return ""
	}
	namespaces := []string{}
	for _, c := range o.contexts {
		if !slices.Contains(namespaces, c.Namespace) {
			namespaces = append(namespaces, c.Namespace)
		}
	}
	return " in namespace " + strings.Join(namespaces, ", ")
}

func (o *queuesOptions) write(w io.Writer, r *queuesRead) error {
	switch {
	case o.format.IsPerJob():
		return o.format.PrintQueues(w, r.List)
	case !o.format.IsTable():
		return o.format.PrintObject(w, r.List)
	}
	return printers.Queues(w, r.List, o.TableNow(o.table))
}
