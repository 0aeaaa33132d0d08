// Package logs prints the logs of a Job's pods, from the clusters that run them.
package logs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/running"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// defaultMaxRequests is the number of logs that are followed at once by default: an indexed Job has
// many Pods, and an API server answers a hundred requests on a connection.
const defaultMaxRequests = 50

// logsFlags are logs' flags as the user gave them.
type logsFlags struct {
	*util.GlobalFlags
	logs.Options
	follow    bool
	sinceTime string
	prefix    bool
	// set are the flags that were given.
	set *pflag.FlagSet
}

// logsOptions are the checked options of logs.
type logsOptions struct {
	running.Search
	logs   logs.Options
	follow bool
	prefix printers.PrefixMode
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	completer := complete.New(env, global)
	f := &logsFlags{GlobalFlags: global, Options: logs.Options{Tail: -1, MaxRequests: defaultMaxRequests}}
	cmd := &cobra.Command{
		Use: "logs [KIND/]NAME [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Print the logs of a Job from the cluster that runs it",
		Long: `Print the logs of a Job's Pods, from the cluster that runs them.

NAME is the name of the origin or of the mirror. logs looks for it in all contexts of the
kubeconfig, or in those of --contexts. Without -n, it takes the namespace of the current
context. KIND is a name that the kinds command lists. The default is job.

All Pods are read in the order of their completion index, retries by age. If the Job
has finished, the logs are those of the last mirror, if it still exists. MultiKueue
deletes a mirror and its Pods as soon as the Job finishes.

With --follow, lines appear as they are written, including those of later Pods, retries
and other clusters. logs ends when the Job ends, with exit code 0 even if the Job failed.
If a connection breaks, it is restored without losing or repeating lines.

Lines of several Pods begin with POD CONTAINER, and with the context if there are
several. Everything else goes to standard error.`,
		Example: strings.ReplaceAll(`  # The logs of a Job, wherever it runs
  NAME logs train -n ml

  # Follow it, through retries and moves to other clusters, until it has ended
  NAME logs train -n ml -f

  # The last ten minutes of all containers of its Pods
  NAME logs train -n ml --all-containers --since 10m

  # The logs of a JobSet, into a file without colors or names
  NAME logs jobset/sweep -n ml --prefix=false > sweep.log`, "NAME", env.DisplayName()),
		Args: util.ExactlyOne("the Job's name", "[KIND/]NAME"),

		ValidArgsFunction: util.FirstOnly(completer.Func(completer.Objects(util.EveryContext))),
	}
	f.addTo(cmd, completer)
	cmd.RunE = util.Runs(func(args []string) (*logsOptions, error) { return f.toOptions(env, args) })
	return cmd
}

func (f *logsFlags) addTo(cmd *cobra.Command, completer *complete.Completer) {
	flags := cmd.Flags()
	f.set = flags
	flags.BoolVarP(&f.follow, "follow", "f", false, "If present, print lines as they are written, until the Job ends")
	util.Describe(cmd, util.ForFollowing, nil, "follow")
	flags.Int64Var(&f.Tail, "tail", f.Tail, "How many last lines of each log to print. -1 prints all. Logs that start later are printed completely")
	flags.DurationVar(&f.Since, "since", 0, "Only print lines newer than a relative duration like 5s, 2m or 3h. Only one of --since-time and --since may be used")
	flags.StringVar(&f.sinceTime, "since-time", "", "Only print lines after a time (RFC3339). Only one of --since-time and --since may be used")
	util.Describe(cmd, util.ForLogs, cobra.NoFileCompletions, "tail", "since", "since-time")
	flags.BoolVar(&f.Timestamps, "timestamps", false, "If present, print the time before each line")
	util.Describe(cmd, util.ForOutput, nil, "timestamps")
	flags.StringVarP(&f.Container, "container", "c", "", "Print the logs of this container. The default is that of the Pod's annotation kubectl.kubernetes.io/default-container, or the first")
	util.Describe(cmd, util.ForLogs, completer.Func(completer.Containers), "container")
	flags.BoolVar(&f.AllContainers, "all-containers", false, "If present, print the logs of all containers, including init containers")
	flags.BoolVarP(&f.Previous, "previous", "p", false, "If present, print the logs of restarted containers from before the restart")
	util.Describe(cmd, util.ForLogs, nil, "all-containers", "previous")
	flags.BoolVar(&f.prefix, "prefix", false, "Print POD CONTAINER before each line. The default is true for several Pods or containers")
	util.Describe(cmd, util.ForOutput, nil, "prefix")
	flags.IntVar(&f.MaxRequests, "max-log-requests", f.MaxRequests, "How many logs to follow at once. Others start when one of them ends")
	util.Describe(cmd, util.ForLogs, cobra.NoFileCompletions, "max-log-requests")
	f.RefuseFrom(cmd, "a snapshot has no logs")
}

func (f *logsFlags) toOptions(env util.Environment, args []string) (*logsOptions, error) {
	o := &logsOptions{Search: running.Search{Environment: env, Flags: f.GlobalFlags, What: args[0]}, logs: f.Options, follow: f.follow}
	err := o.Parse()
	if err == nil {
		err = f.check(o)
	}
	if err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if f.set.Changed("prefix") {
		o.prefix = printers.PrefixNever
		if f.prefix {
			o.prefix = printers.PrefixAlways
		}
	}
	err = o.Load()
	return o, err
}

// check returns an error for invalid flags, and parses --since-time.
func (f *logsFlags) check(o *logsOptions) error {
	switch {
	case f.Since != 0 && f.sinceTime != "":
		return errors.New("--since and --since-time cannot be combined")
	case f.set.Changed("since") && f.Since <= 0:
		return fmt.Errorf("--since must be greater than zero, not %s", f.Since)
	case f.Tail < -1:
		return fmt.Errorf("--tail must be a number of lines, or -1 for all, not %d", f.Tail)
	case f.AllContainers && f.Container != "":
		return fmt.Errorf("--all-containers cannot be combined with --container %s", f.Container)
	case f.Previous && f.follow:
		return errors.New("--previous cannot be combined with --follow: a previous run writes nothing more")
	case f.MaxRequests < 1:
		return fmt.Errorf("--max-log-requests must be greater than zero, not %d", f.MaxRequests)
	}
	if f.sinceTime != "" {
		at, err := time.Parse(time.RFC3339, f.sinceTime)
		if err != nil {
			return fmt.Errorf("--since-time must be a time like 2026-08-30T06:00:00Z, not %q", f.sinceTime)
		}
		o.logs.SinceTime = &metav1.Time{Time: at}
	}
	return nil
}
