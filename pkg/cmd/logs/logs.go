// Package logs prints the logs of a Job's pods, from whichever cluster runs them.
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

// manyLogs is how many logs are followed at once unless told otherwise: an indexed
// Job has many pods, and an API server answers a hundred requests on a connection.
const manyLogs = 50

// logsFlags are what a user typed behind logs.
type logsFlags struct {
	*util.GlobalFlags
	logs.Options
	follow    bool
	sinceTime string
	prefix    bool
	// set are the flags that were given.
	set *pflag.FlagSet
}

// logsOptions are what logs needs to run, checked.
type logsOptions struct {
	running.Search
	logs   logs.Options
	follow bool
	prefix printers.PrefixMode
}

// NewCommand makes the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	ask := complete.New(env, global)
	f := &logsFlags{GlobalFlags: global, Options: logs.Options{Tail: -1, MaxRequests: manyLogs}}
	cmd := &cobra.Command{
		Use: "logs [KIND/]NAME [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Print the logs of a Job's pods, from whichever cluster runs them",
		Long: `Print the logs of a Job's pods, from whichever cluster runs them.

NAME is the origin's or the mirror's, in the namespace of -n or of the current
context, and is looked for on all contexts of the kubeconfig unless some are
chosen. KIND is one that the kinds command lists, and a Job unless it is told. The
pods are those of the mirror that runs it; or those of the last one that has
ended, while they are there; or the Job's own, if it is not delegated. Of a Job
that runs on several clusters at once, they are those of all.

All pods are read, one after the other: by completion index, and retries by age.
With --follow, lines come as they are written, also those of pods that come later:
of retries, of further indexes, and on another cluster, should the Job be moved.
It ends when the Job has ended and all is read, with exit code 0 whether the Job
failed or not. A connection that breaks is taken up again, and no line is lost or
printed twice. MultiKueue deletes a Job's pods as soon as it has ended, and their
logs with them: only who has followed them by then has seen all.

Lines are printed as they are, with POD CONTAINER in front where there are
several, and the context before that where the pods are on several clusters. All
else is told on standard error.`,
		Example: strings.ReplaceAll(`  # The logs of a Job, wherever it runs
  NAME logs train -n ml

  # Follow it, over retries and other clusters, until it has ended
  NAME logs train -n ml -f

  # What all containers of its pods have written in the last ten minutes
  NAME logs train -n ml --all-containers --since 10m

  # The logs of a JobSet, into a file without colours or names
  NAME logs jobset/sweep -n ml --prefix=false > sweep.log`, "NAME", env.DisplayName()),
		Args: util.ExactlyOne("the Job's name", "[KIND/]NAME"),

		ValidArgsFunction: ask.Asks(ask.Traced),
	}
	f.addTo(cmd, ask)
	cmd.RunE = util.Runs(func(args []string) (*logsOptions, error) { return f.toOptions(env, args) })
	return cmd
}

func (f *logsFlags) addTo(cmd *cobra.Command, ask *complete.Completer) {
	flags := cmd.Flags()
	f.set = flags
	flags.BoolVarP(&f.follow, "follow", "f", false, "If present, print lines as they are written, until the Job has ended")
	util.Describe(cmd, util.ForFollowing, nil, "follow")
	flags.Int64Var(&f.Tail, "tail", f.Tail, "How many of the last lines of each log to begin with. -1 is all, also of several pods; logs that begin later are printed wholly")
	flags.DurationVar(&f.Since, "since", 0, "Only print lines newer than a relative duration like 5s, 2m or 3h. Only one of --since-time and --since may be used")
	flags.StringVar(&f.sinceTime, "since-time", "", "Only print lines after a time (RFC3339). Only one of --since-time and --since may be used")
	util.Describe(cmd, util.ForLogs, cobra.NoFileCompletions, "tail", "since", "since-time")
	flags.BoolVar(&f.Timestamps, "timestamps", false, "If present, print the time in front of each line")
	util.Describe(cmd, util.ForOutput, nil, "timestamps")
	flags.StringVarP(&f.Container, "container", "c", "", "Print the logs of this container; by default that of the pod's annotation kubectl.kubernetes.io/default-container, or the first one")
	util.Describe(cmd, util.ForLogs, ask.Asks(ask.Containers), "container")
	flags.BoolVar(&f.AllContainers, "all-containers", false, "If present, print the logs of all containers of the pods, those for initialization too")
	flags.BoolVarP(&f.Previous, "previous", "p", false, "If present, print what containers that were restarted have written before that")
	util.Describe(cmd, util.ForLogs, nil, "all-containers", "previous")
	flags.BoolVar(&f.prefix, "prefix", false, "Print POD CONTAINER in front of each line, or never with --prefix=false; by default where there are several")
	util.Describe(cmd, util.ForOutput, nil, "prefix")
	flags.IntVar(&f.MaxRequests, "max-log-requests", f.MaxRequests, "How many logs to follow at once; others are read when one of them has ended")
	util.Describe(cmd, util.ForLogs, cobra.NoFileCompletions, "max-log-requests")
	f.AddHiddenFromFlag(cmd)
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

// check says what is wrong with the flags, and takes over --since-time.
func (f *logsFlags) check(o *logsOptions) error {
	switch {
	case f.From != "":
		return errors.New("--from cannot be used here: a snapshot has no logs")
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
