// Package queues shows the quota, the usage and the pending Jobs of Kueue's queues.
package queues

import (
	"errors"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// queuesFlags are queues' flags as the user gave them.
type queuesFlags struct {
	*util.GlobalFlags
	summary   bool
	pending   bool
	watch     bool
	output    string
	noHeaders bool
}

// queuesOptions are the checked options of queues.
type queuesOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	// names are the wanted queues and cohorts, empty for all.
	names   []queueName
	scope   read.Scope
	summary bool
	pending bool
	watch   bool
	format  *printers.Format
	table   printers.TableOptions
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &queuesFlags{GlobalFlags: global}
	completer := complete.New(env, global)
	cmd := &cobra.Command{
		Use: "queues [[KIND/]NAME...] [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Show quota, usage and pending Jobs of Kueue's queues",
		Long: `Show quota, usage and pending Jobs of Kueue's queues: one row for each ClusterQueue,
flavor and resource. A cohort has rows of its own, and its members are below them. NAME
is a ClusterQueue or cohort. With --namespace or -A, it is a LocalQueue. KIND is
clusterqueue, cohort or localqueue, as in the output of -o name.

  NOMINAL   the queue's own quota
  BORROWED  the part of USED above the queue's own quota
  USED      what Workloads of the queue reserve
  FREE      what a Job could get now, including what the queue may borrow; for a
            cohort, in the best of its queues
  PENDING   total requests of Workloads without quota
  WORKERS   quota of all workers with an active queue, for a MultiKueue queue

Unknown values are a question mark. PENDING and WORKERS are in the row of the first
flavor. A Job that already has quota on the manager counts as pending on the workers. If
WORKERS is less than the sum of NOMINAL, Kueue can reserve quota for more Jobs than the
workers can run.

With --namespace or -A, queues shows LocalQueues. USED-HERE replaces USED, and counts the
Workloads of the LocalQueue, as PENDING does. NOMINAL and FREE are those of the
ClusterQueue, but nothing is free in a LocalQueue that is stopped.

With --summary, there is one row for each cluster and resource:

  STATE          Manager; for a worker, what its manager says: Active, or Lost
                 and since when
  KUEUE          version of its controller, if you may read its Deployment
  TOTAL          nominal quota of all queues
  RUNNING        admitted Workloads that have the resource
  WAITING        Workloads that are not admitted; on a manager, also Workloads
                 with quota that wait for a worker
  LARGEST-FIT    largest request that fits now into one ClusterQueue and flavor
  LAST-ADMITTED  age of the last admission among running Workloads

With --pending, there is one row for each Workload without quota, in Kueue's order: by
priority, then by age. PLACE is the place in its ClusterQueue. In a StrictFIFO queue, no
Workload passes the first one. In a BestEffortFIFO queue, a Workload that fits may.

STARTS is the latest start of the first Workload: all running Jobs have then reached
their maximumExecutionTimeSeconds. Pods that stop slowly, or a Job with higher priority,
may delay it. STARTS is known if the queue is StrictFIFO and has no cohort and no
AdmissionChecks, and every running Job has such a limit.`,
		Example: strings.ReplaceAll(`  # All clusters of the kubeconfig
  NAME queues

  # One queue, and a cohort with its members
  NAME queues team-a research

  # The clusters: state, usage, and the largest request that fits now
  NAME queues --summary

  # Pending Workloads of a queue, in their order
  NAME queues cluster-queue --pending

  # The LocalQueues of a namespace, with rights in that namespace only
  NAME queues -n team-a`, "NAME", env.DisplayName()),

		ValidArgsFunction: completer.Func(completer.QueueNames),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.AllNamespaces, "all-namespaces", "A", f.AllNamespaces, "If present, show the LocalQueues of all namespaces. The namespace in each context is ignored even if specified with --namespace")
	util.Describe(cmd, util.ForObjects, nil, "all-namespaces")
	f.AddFromFlag(cmd)
	flags.BoolVar(&f.summary, "summary", false, "Show one row for each cluster and resource: its state, usage, and the largest request that fits now")
	flags.BoolVar(&f.pending, "pending", false, "Show one row for each pending Workload: its place in the queue, its latest start, and its reason")
	flags.BoolVarP(&f.watch, "watch", "w", false, "Keep watching, and show what changes")
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: ("+strings.Join(printers.Formats(), ", ")+")")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "Print rows only, without titles and the lines below rows; print columns without content, too")
	util.Describe(cmd, util.ForFollowing, nil, "watch")
	util.Describe(cmd, util.ForOutput, nil, "summary", "pending", "no-headers")
	util.Describe(cmd, util.ForOutput, util.OneOf(printers.Formats()...), "output")
	cmd.RunE = util.Runs(func(args []string) (*queuesOptions, error) { return f.toOptions(env, args) })
	return cmd
}

// rows returns the type of the printed values.
func (f *queuesFlags) rows() reflect.Type {
	if f.pending {
		return reflect.TypeFor[queues.PendingJob]()
	}
	return reflect.TypeFor[queues.QueueQuota]()
}

func (f *queuesFlags) toOptions(env util.Environment, names []string) (*queuesOptions, error) {
	o := &queuesOptions{Environment: env, flags: f.GlobalFlags, scope: f.scope(), summary: f.summary, pending: f.pending, watch: f.watch}
	var err, namesErr error
	o.format, err = printers.NewFormat(f.rows(), f.output, f.noHeaders)
	o.names, namesErr = parseNames(names, o.scope)
	if err := errors.Join(err, namesErr, f.RefuseWatch(util.WatchFlag(f.watch)), o.format.RefuseWatch(util.WatchFlag(f.watch)), f.conflicts(names)); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if o.contexts, err = f.Load(&o.Environment, util.EveryContext); err != nil {
		return nil, err
	}
	o.table = printers.TableOptions{
		Contexts: f.ShowsContexts(env, o.contexts, f.noHeaders), Namespaces: o.scope == read.AllNamespaces || o.pending && o.scope == read.ClusterScope,
		Wide: o.format.Wide(), NoHeaders: f.noHeaders, Color: env.WantsColor(f.Color), Markdown: o.format.Is(printers.Markdown),
	}
	return o, nil
}

// scope returns which queues are shown; a given namespace selects its LocalQueues.
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
	case f.summary && f.pending:
		return errors.New("--summary shows clusters and --pending shows Workloads: choose one")
	case f.summary && len(names) > 0:
		return errors.New("--summary shows whole clusters and takes no NAME")
	}
	if f.summary && f.scope() != read.ClusterScope {
		return errors.New("--summary shows whole clusters, so it cannot be combined with --namespace or --all-namespaces")
	}
	return nil
}
