// Package ls lists Jobs by their owners.
package ls

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// listFlags are ls' flags as the user gave them.
type listFlags struct {
	*util.GlobalFlags
	kinds                        []string
	labelSelector, fieldSelector string
	delegated                    bool
	managedBy                    string
	statuses                     []string
	findings                     []string
	summary, reason, mirrors     bool
	watch, watchOnly, events     bool
	output                       string
	noHeaders                    bool
	labels                       []string
	sortBy                       string
}

// listOptions are the checked options of ls.
type listOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	query    read.Query
	filter   inspect.Filter
	format   *printers.Format
	sorter   *printers.Sorter
	table    printers.TableOptions
	summary  bool
	// reasons shows why each Job has its status, and mirrors shows the mirrors of listed
	// origins.
	reasons, mirrors bool
	// names are the Jobs to list, empty for all.
	names []read.Wanted
	// missing are the names that were not found.
	missing []read.Wanted
	// listing reads Jobs alone. others are the Jobs that the last reading did not list.
	listing *read.Listing
	others  []*inspect.Job
	// restrictions describes the selection in words.
	restrictions             string
	watch, watchOnly, events bool
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &listFlags{GlobalFlags: global}
	cmd := &cobra.Command{
		Use:     "ls [[KIND/]NAME...] [options]",
		Aliases: []string{"list"},

		DisableFlagsInUseLine: true,
		Short:                 "List Jobs by owner, with their actual status",
		Long: `List Jobs grouped by owner, which is the controller that .spec.managedBy names. Jobs of
the built-in controller come last. ls reads the current context, or all contexts of the
snapshot with --from, unless you choose others with --contexts or --all-contexts.

STATUS is the first of these that applies: Terminating, Complete, Failed, Unclaimed
(no controller picked it up: neither the owner of a delegated Job nor, for other Jobs
and mirrors, that of its kind), Suspended, Running (its status counts a ready or ended
Pod), Pending. It is Unknown for a kind that is known only by its schema,
if no common condition shows the status. The status of an origin is a copy of its
mirror's, and may be outdated: --reason says what the mirror and its Pods do.

Over several contexts, each Job is listed once. MIRROR is the context of its mirror. A
mirror has a row of its own if its origin is not listed, or with --mirrors.

--reason and -o wide add REASON, the reason of the status, as in trace. -o wide also adds
KIND, SINCE, UID, FINDINGS and DISPATCHER. With -w, it adds no REASON, and FINDINGS and
DISPATCHER are question marks, unless you add --reason.

FINDINGS: codes of findings older than five minutes. It is a question mark unless all
contexts are read.

DISPATCHER (only with dispatched Jobs): the process that dispatches the Job, and for how
long it has done so; none if no process copies the status.`,
		Example: strings.ReplaceAll(`  # Jobs of all namespaces, in all clusters of the kubeconfig, with reasons
  NAME ls -A --all-contexts --reason

  # Delegated Jobs that no controller has picked up
  NAME ls -A --delegated --status Unclaimed

  # How many Jobs each owner has, in all clusters but one
  NAME ls -A --contexts '^staging' --summary

  # All kinds with managedBy, with their team and queue
  NAME ls -A --kinds all -L team,kueue.x-k8s.io/queue-name

  # Watch MultiKueue's Jobs
  NAME ls --managed-by 'kueue.x-k8s.io/*' -w`, "NAME", env.DisplayName()),
	}
	completer := complete.New(env, global)
	cmd.ValidArgsFunction = completer.Func(completer.Objects(util.CurrentContext))
	f.addTo(cmd, completer)
	cmd.RunE = util.Runs(func(args []string) (*listOptions, error) { return f.toOptions(env, args) })
	return cmd
}

func (f *listFlags) addTo(cmd *cobra.Command, completer *complete.Completer) {
	f.AddNamespacesFlag(cmd, "list")
	util.AddKindsFlag(cmd, &f.kinds, "Kinds to read", delegation.Job().Name)
	f.AddFromFlag(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.labelSelector, "selector", "l", "", "Selector (label query) to filter on, as in kubectl get")
	util.Describe(cmd, util.ForObjects, cobra.NoFileCompletions, "selector")
	flags.StringVar(&f.fieldSelector, "field-selector", "", "Selector (field query) to filter on. Servers support metadata.name, metadata.namespace and status.successful for Jobs")
	util.Describe(cmd, util.ForObjects, util.OneOf("metadata.name=", "metadata.namespace=", "status.successful="), "field-selector")
	flags.BoolVar(&f.delegated, "delegated", false, "List only delegated Jobs: their owner is not the built-in controller")
	util.Describe(cmd, util.ForObjects, nil, "delegated")
	flags.StringVar(&f.managedBy, "managed-by", "", "List only Jobs whose owner matches this glob, such as 'kueue.x-k8s.io/*' or built-in")
	util.Describe(cmd, util.ForObjects, completer.Func(completer.Owners(string(delegation.BuiltIn), string(delegation.Dispatch), string(delegation.MultiKueue))), "managed-by")
	flags.StringSliceVar(&f.statuses, "status", nil, "List only Jobs with these statuses, comma-separated")
	util.Describe(cmd, util.ForObjects, util.ListOf(util.OneOf(statuses()...), ""), "status")
	flags.StringSliceVar(&f.findings, "finding", nil, "List only Jobs with one of these findings of check, such as JM101, comma-separated")
	util.Describe(cmd, util.ForObjects, util.ListOf(util.OneOf(util.Codes()...), ""), "finding")
	flags.BoolVarP(&f.watch, "watch", "w", false, "After listing, watch for changes")
	flags.BoolVar(&f.watchOnly, "watch-only", false, "Watch for changes, without listing first")
	flags.BoolVar(&f.events, "output-watch-events", false, "Show whether a Job was added, modified or deleted, with --watch or --watch-only, as a table, json, yaml or kyaml")
	util.Describe(cmd, util.ForFollowing, nil, "watch", "watch-only", "output-watch-events")
	f.addOutputTo(cmd)
}

func (f *listFlags) addOutputTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.summary, "summary", false, "Show only how many Jobs each owner has with each status")
	flags.BoolVar(&f.mirrors, "mirrors", false, "List mirrors in rows of their own")
	flags.BoolVar(&f.reason, "reason", false, "Add the column REASON: why each Job has its status")
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: ("+strings.Join(printers.Formats(), ", ")+")")
	util.Describe(cmd, util.ForOutput, util.OneOf(printers.Formats()...), "output")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "When using the default or custom-column output format, don't print headers; show the owner in the column after the name, and print columns without content, too; with -o name, print Jobs as they arrive, in the order of context, namespace and name")
	util.Describe(cmd, util.ForOutput, nil, "summary", "mirrors", "reason", "no-headers")
	flags.StringSliceVarP(&f.labels, "label-columns", "L", nil, "Labels to show as columns, comma-separated, as in kubectl get")
	util.Describe(cmd, util.ForOutput, cobra.NoFileCompletions, "label-columns")
	flags.StringVar(&f.sortBy, "sort-by", "", "Sort Jobs by a field, given as a JSONPath expression (e.g. '{.metadata.creationTimestamp}' or '{.succeeded}')")
	// The fields of the model (see printers.NewSorter).
	util.Describe(cmd, util.ForOutput, util.OneOf(".name", ".status", ".creationTimestamp", ".startTime", ".finishedTime", ".succeeded"), "sort-by")
}

// statuses returns all statuses of Jobs.
func statuses() []string {
	var values []string
	for _, s := range delegation.Statuses() {
		values = append(values, string(s))
	}
	return values
}

func (f *listFlags) toOptions(env util.Environment, args []string) (*listOptions, error) {
	o := &listOptions{
		Environment: env,
		flags:       f.GlobalFlags,
		query:       read.Query{AllNamespaces: f.AllNamespaces, LabelSelector: f.labelSelector, FieldSelector: f.fieldSelector, Kinds: f.kinds, Labels: f.labels},
		summary:     f.summary, mirrors: f.mirrors,
		watch: f.watch || f.watchOnly, watchOnly: f.watchOnly, events: f.events,
		restrictions: f.restrictions(),
	}
	var err, formatErr, sortErr error
	o.filter, err = inspect.NewFilter(f.delegated, f.managedBy, f.statuses)
	o.format, formatErr = printers.NewFormat(reflect.TypeFor[inspect.Job](), f.output, f.noHeaders)
	o.sorter, sortErr = printers.NewSorter(f.sortBy)
	var codesErr, namesErr error
	o.filter.Findings, codesErr = f.codes()
	o.names, namesErr = util.ParseJobNames(args)
	if err := errors.Join(err, formatErr, sortErr, codesErr, namesErr, util.NamesOrSelectors(args, f.labelSelector, f.fieldSelector), f.conflicts(o.format), f.reasonConflicts(), f.RefuseWatch(f.watchFlag()), o.format.RefuseWatch(f.watchFlag())); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	o.query.Kinds = util.WithKinds(o.query.Kinds, o.names)
	for _, n := range o.names {
		o.filter.Names = append(o.filter.Names, inspect.JobName{Kind: n.Kind, Name: n.Name})
	}
	// A list by findings shows the reasons.
	o.reasons = f.reason || len(f.findings) > 0 && !f.summary || o.format.Wide() && !o.watch && !o.summary && f.fieldSelector == ""

	o.contexts, err = f.Load(&o.Environment, util.CurrentContext)
	if err != nil {
		return nil, err
	}
	o.table = printers.TableOptions{
		Contexts:   f.ShowsContexts(env, o.contexts, f.noHeaders),
		Namespaces: f.AllNamespaces,
		Kinds:      !o.query.OnlyJobs(),
		Labels:     f.labels,
		Wide:       o.format.Wide(),
		Reasons:    o.reasons,
		NoHeaders:  f.noHeaders,
		Color:      env.WantsColor(f.Color),
		Markdown:   o.format.Is(printers.Markdown),
	}
	return o, nil
}

// watchFlag returns the name of the flag that makes ls watch, such as "watch-only"; "" if the user gave none.
func (f *listFlags) watchFlag() string {
	if f.watchOnly {
		return "watch-only"
	}
	return util.WatchFlag(f.watch)
}

// codes returns the codes of --finding.
func (f *listFlags) codes() ([]string, error) {
	if flag := f.watchFlag(); len(f.findings) > 0 && flag != "" {
		return nil, fmt.Errorf("--finding cannot be combined with --%s. Use check --watch", flag)
	}
	return util.KnownCodes(f.findings)
}

// reasonConflicts returns an error for flags that make no sense with --reason.
func (f *listFlags) reasonConflicts() error {
	switch {
	case !f.reason:
		return nil
	case f.watchOnly || f.events:
		return errors.New("--reason cannot be combined with --watch-only or --output-watch-events")
	case f.fieldSelector != "":
		return errors.New("--reason cannot be combined with --field-selector: mirrors may not match it")
	}
	return nil
}

// conflicts returns an error for flags that make no sense together. It is called even if the
// format is invalid.
func (f *listFlags) conflicts(format *printers.Format) error {
	switch {
	case f.events && f.watchFlag() == "":
		return errors.New("--output-watch-events requires --watch or --watch-only")
	case format == nil:
		return nil
	case f.summary:
		return f.summaryConflicts(format)
	case f.events && !format.IsTable() && !format.IsDocument():
		return errors.New("--output-watch-events works with a table, json, yaml or kyaml")
	}
	return nil
}

// summaryConflicts returns an error for flags that make no sense with --summary.
func (f *listFlags) summaryConflicts(format *printers.Format) error {
	switch {
	case f.watchFlag() != "":
		return errors.New("--summary cannot be combined with --" + f.watchFlag())
	case format.IsPerJob():
		return fmt.Errorf("--summary cannot be combined with -o %s: it lists no Jobs", f.output)
	case len(f.labels) > 0:
		return errors.New("--summary cannot be combined with --label-columns: it lists no Jobs")
	case f.reason:
		return errors.New("--summary cannot be combined with --reason: it lists no Jobs")
	case f.sortBy != "":
		return errors.New("--summary cannot be combined with --sort-by: it lists no Jobs")
	}
	return nil
}

// restrictions describes the selection in words, for a list without Jobs.
func (f *listFlags) restrictions() string {
	var parts []string
	if f.delegated {
		parts = append(parts, "--delegated")
	}
	for _, flag := range []struct{ name, value string }{
		{"--managed-by", f.managedBy},
		{"--status", strings.Join(f.statuses, ",")},
		{"--selector", f.labelSelector},
		{"--field-selector", f.fieldSelector},
		{"--finding", strings.Join(f.findings, ",")},
	} {
		if flag.value != "" {
			parts = append(parts, flag.name+" "+flag.value)
		}
	}
	return strings.Join(parts, " ")
}

func (o *listOptions) Run(ctx context.Context) error {
	f, err := o.flags.Reach(ctx, o.Environment, o.contexts, o.query.Kinds)
	if err != nil {
		return err
	}
	o.table.NowOn = f.Now
	// Mirrors are counted with their origins, which counts alone do not show.
	o.listing = &read.Listing{Query: o.query, Filter: o.filter, CountOnly: o.summary && !o.folds(), IsRepeated: o.watch}
	if o.isStreamed(f) {
		return o.stream(ctx, f)
	}
	addresses, confirmer := o.flags.Addresses(o.contexts, f), o.flags.NewConfirmer()
	display := &util.Display[*inspect.OwnerList]{
		Environment: o.Environment, IsTable: o.format.IsTable(), Write: o.draw,
		Show: func(list *inspect.OwnerList) error { return o.print(ctx, list, f) },
		Read: func(ctx context.Context) (*inspect.OwnerList, error) { return o.list(ctx, f, addresses, confirmer) },
	}
	switch {
	case o.isByRow():
		return o.runRows(ctx, f, display)
	case o.watch:
		return display.Run(ctx, f)
	}
	once := display.Read
	display.Read = func(ctx context.Context) (*inspect.OwnerList, error) {
		return util.ReadTwice(ctx, o.Clock, f, confirmer, once)
	}
	return display.Once(ctx)
}

// list reads once.
func (o *listOptions) list(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address, confirmer *rules.Confirmer) (*inspect.OwnerList, error) {
	var list *inspect.OwnerList
	var others []*inspect.Job
	isJudged := (o.showsFindings() || o.reasons || len(o.filter.Findings) > 0) && o.holdsAll(f, addresses)
	// hasEvidence is set if the related objects of the Jobs are read, too.
	hasEvidence := isJudged || o.reasons && len(o.filter.Findings) == 0
	switch {
	case hasEvidence:
		list, others = o.listJudged(ctx, f, addresses, confirmer, isJudged)
	case len(o.filter.Findings) > 0:
		return nil, &util.UsageError{Err: errors.New("--finding requires all clusters. Add --all-contexts, and -A if contexts have different namespaces; remove --field-selector"), Command: o.DisplayName() + " ls"}
	default:
		list, others = o.listing.Read(ctx, f)
	}
	if err := o.refusedSelector(f, list.Errors); err != nil {
		return nil, err
	}
	if !o.listing.CountOnly {
		o.findMirrors(ctx, f, addresses, list, others, hasEvidence)
	}
	o.others = others
	o.noteMissing(list, others)
	if o.folds() {
		list.Fold()
	}
	for i := range list.Items {
		if o.summary {
			list.Items[i].Jobs = []*inspect.Job{}
		}
	}
	if o.showsFindings() {
		o.findDispatchers(ctx, f, list, hasEvidence)
	}
	list.Unchecked = append(inspect.UncheckedOf(list.Errors), list.Unchecked...)
	return list, nil
}
