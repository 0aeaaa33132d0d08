// Package history shows what finished delegated Jobs did.
package history

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/history"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// historyFlags are history's flags as the user gave them.
type historyFlags struct {
	*util.GlobalFlags
	kinds                               []string
	selector, since, by, sortBy, output string
	noHeaders                           bool
}

// historyOptions are the checked options of history.
type historyOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	query    read.Query
	since    time.Duration
	by       history.By
	jobs     *printers.SorterOf[inspect.PastJob]
	groups   *printers.SorterOf[inspect.HistorySum]
	format   *printers.Format
	table    printers.TableOptions
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &historyFlags{GlobalFlags: global}
	cmd := &cobra.Command{
		Use: "history [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Show what ran, where, and how long it waited",
		Long: `Show the delegated Jobs that finished: where each ran, how long it waited and ran, and
what it used. The latest is first. history reads all contexts of the kubeconfig, unless
you choose some.

  WAITED     time from creation to last admission, minus LOST. If only the
             Workload was read, its creation counts
  RAN        time from last admission to the end
  EVICTED    how often the Job was evicted
  LOST       run time lost to evictions
  RESULT     how the Job ended
  RESOURCES  total quota on the manager, for all Pods that ran at once

With --by, there is one row for each group:

  WAIT, RUN  medians
  WAIT-P90   90th percentile
  HOURS      RESOURCES times RAN; for memory, GiB hours

history reads finished Jobs, and the Workloads that Kueue keeps, of all kinds unless you
choose some with --kinds. It shows a deleted Job only while its Workload exists: KIND is
Workload, and RESULT is Deleted if the Job was deleted before its end. Kueue's
objectRetentionPolicies delete Workloads. A question mark is an unknown value: Jobs of
dispatch have no Workload. The exit code is 4 if a context could not be read.`,
		Example: strings.ReplaceAll(`  # What finished in the last week, on all clusters of the kubeconfig
  NAME history -A --since 7d

  # Show how long Jobs waited, by queue
  NAME history -A --since 7d --by queue

  # GPU hours of each team, for a spreadsheet
  NAME history -A --since 30d --by label=team -o csv

  # A picture of the waits, for a page
  NAME history -A --since 7d -o svg > waits.svg

  # Sort by wait, the longest last
  NAME history -n ml --sort-by .waitSeconds`, "NAME", env.DisplayName()),
		Args: util.NoArguments,

		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.addTo(cmd)
	cmd.RunE = util.Runs(func([]string) (*historyOptions, error) { return f.toOptions(env) })
	return cmd
}

func (f *historyFlags) addTo(cmd *cobra.Command) {
	f.AddNamespacesFlag(cmd, "list")
	// Without kinds, the Workloads of all kinds are shown.
	util.AddKindsFlag(cmd, &f.kinds, "Show only these kinds")
	f.AddFromFlag(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.selector, "selector", "l", "", "Selector (label query) to filter on, as in kubectl get")
	util.Describe(cmd, util.ForObjects, cobra.NoFileCompletions, "selector")
	flags.StringVar(&f.since, "since", "", "Show only Jobs that finished less than this ago, such as 7d, 36h or 90m")
	util.Describe(cmd, util.ForObjects, util.OneOf("1d", "7d", "30d"), "since")
	flags.StringVar(&f.by, "by", "", "Show sums by this property; label= takes the key of a label. One of: ("+strings.Join(history.ByValues(), ", ")+")")
	util.Describe(cmd, util.ForOutput, util.OneOf(history.ByValues()...), "by")
	flags.StringVar(&f.sortBy, "sort-by", "", "Sort rows by a field, given as a JSONPath expression (e.g. '.waitSeconds', or with --by '.jobs')")
	util.Describe(cmd, util.ForOutput, util.OneOf(".finishedAt", ".waitSeconds", ".runSeconds", ".lostSeconds", ".name", ".jobs", ".failed", ".waitMedianSeconds", ".waitP90Seconds"), "sort-by")
	formats := slices.Concat(printers.Formats(), []string{printers.CSV, printers.SVG})
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: ("+strings.Join(formats, ", ")+")")
	util.Describe(cmd, util.ForOutput, util.OneOf(formats...), "output")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "Print rows only, without sums, titles and notes; print columns without content, too")
	util.Describe(cmd, util.ForOutput, nil, "no-headers")
}

// rows returns the type of the printed values.
func (f *historyFlags) rows() reflect.Type {
	if f.by != "" {
		return reflect.TypeFor[inspect.HistorySum]()
	}
	return reflect.TypeFor[inspect.PastJob]()
}

func (f *historyFlags) toOptions(env util.Environment) (*historyOptions, error) {
	o := &historyOptions{Environment: env, flags: f.GlobalFlags}
	var sinceErr, byErr, formatErr, sortErr error
	o.since, sinceErr = parseAge(f.since)
	o.by, byErr = history.ParseBy(f.by)
	o.format, formatErr = printers.NewFormat(f.rows(), f.output, f.noHeaders, printers.CSV, printers.SVG)
	o.jobs, o.groups, sortErr = printers.NewHistorySorters(f.sortBy, f.by != "")
	if formatErr == nil && o.format.Is(printers.SVG) && f.by != "" {
		formatErr = errors.New("-o svg draws Jobs and cannot be combined with --by")
	}
	if err := errors.Join(sinceErr, byErr, formatErr, sortErr); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	o.query = read.Query{AllNamespaces: f.AllNamespaces, LabelSelector: f.selector, Kinds: f.kinds, Labels: o.by.Labels()}
	var err error
	if o.contexts, err = f.Load(&o.Environment, util.EveryContext); err != nil {
		return nil, err
	}
	o.table = printers.TableOptions{
		Contexts: f.ShowsContexts(env, o.contexts, f.noHeaders), Namespaces: f.AllNamespaces, Wide: o.format.Wide(),
		NoHeaders: f.noHeaders, Color: env.WantsColor(f.Color), Markdown: o.format.Is(printers.Markdown),
	}
	return o, nil
}

// days matches the days and weeks at the start of a duration, which time.ParseDuration does not
// have. hours matches a duration that time.ParseDuration refuses only if it is too long.
var (
	days  = regexp.MustCompile(`^(\d+)([dw])`)
	hours = regexp.MustCompile(`^(\d+(ns|us|ms|s|m|h))+$`)
)

// maxAgeDays is the longest age in days: 100 years. Two such ages fit into a time.Duration.
const maxAgeDays = 100 * 365

// parseAge parses a duration such as 7d, 1d12h or 90m; "" is zero.
func parseAge(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	var age time.Duration
	tooLong := fmt.Errorf("--since must be at most %dd, not %s", maxAgeDays, text)
	rest := text
	for found := days.FindStringSubmatch(rest); found != nil; found = days.FindStringSubmatch(rest) {
		unit := 1
		if found[2] == "w" {
			unit = 7
		}
		n, err := strconv.Atoi(found[1])
		if err != nil || n > maxAgeDays/unit {
			return 0, tooLong
		}
		if age += time.Duration(n*unit) * day; age > maxAgeDays*day {
			return 0, tooLong
		}
		rest = rest[len(found[0]):]
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		switch {
		case err != nil && hours.MatchString(rest), d > maxAgeDays*day-age:
			return 0, tooLong
		case err != nil:
			return 0, fmt.Errorf("--since %q is not a duration; write it as 7d, 36h or 90m", text)
		}
		age += d
	}
	if text != "" && age <= 0 {
		return 0, fmt.Errorf("--since must be more than zero, not %s", text)
	}
	return age, nil
}
