package ls

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// print writes a list in the chosen format, and returns an error for the contexts that could not
// be read.
func (o *listOptions) print(ctx context.Context, list *inspect.OwnerList, f *fleet.Fleet) error {
	if len(list.Items) == 0 && len(list.Errors) == 0 && !o.format.IsDocument() {
		if len(o.missing) == 0 {
			o.printNothingFound(ctx, f)
		}
		return o.missingError(ctx, list, f)
	}
	if err := o.Print(func(w io.Writer) error { return o.write(w, list) }, func(w io.Writer) error { return o.writeTable(w, list) }); err != nil {
		return err
	}
	switch isEmpty := len(list.Items) == 0 && len(list.Errors) == 0 && len(o.missing) == 0; {
	case isEmpty && o.TableOut != nil:
		o.printNothingFound(ctx, f)
	case isEmpty:
		util.NoteSelection(ctx, o.ErrOut, f, &o.query, false)
	}
	if o.format.OmitsUnchecked(o.table.NoHeaders) {
		util.ReportErrors(o.ErrOut, list.Errors)
		util.ReportUnchecked(o.ErrOut, list.UnreadWorkers())
	}
	return cmp.Or(o.missingError(ctx, list, f), util.Partial(list.Errors, f), util.Incomplete(list.UnreadWorkers()))
}

// isStreamed reports whether names are printed as they arrive, without the groups of a table: a
// Job can be printed before all Jobs are known, and none is read through two contexts.
func (o *listOptions) isStreamed(f *fleet.Fleet) bool {
	return o.format.Is("name") && o.table.NoHeaders && !o.watch && !o.reasons && len(o.filter.Findings) == 0 &&
		!o.folds() && len(o.names) == 0 &&
		o.query.OnlyJobs() && o.sorter.IsNone() && f.Distinct()
}

// stream prints Jobs as they arrive, ordered by context, namespace and name.
func (o *listOptions) stream(ctx context.Context, f *fleet.Fleet) error {
	isEmpty := true
	var failed error
	errs := read.Each(ctx, f, o.query, func(j inspect.Job) {
		if failed == nil && o.filter.Matches(&j) {
			isEmpty = false
			failed = o.format.PrintJobs(o.Out, []*inspect.Job{&j})
		}
	})
	switch {
	case failed != nil:
		return fmt.Errorf("cannot print: %w", failed)
	case util.Interrupted(ctx) != nil:
		return util.Interrupted(ctx)
	case isEmpty && len(errs) == 0:
		o.printNothingFound(ctx, f)
		return nil
	}
	if err := o.refusedSelector(f, errs); err != nil {
		return err
	}
	util.ReportErrors(o.ErrOut, errs)
	return util.Partial(errs, f)
}

func (o *listOptions) write(out io.Writer, list *inspect.OwnerList) error {
	if o.format.IsPerJob() {
		jobs := list.All()
		o.sorter.Sort(jobs)
		return o.format.PrintJobs(out, jobs)
	}
	for i := range list.Items {
		o.sorter.Sort(list.Items[i].Jobs)
	}
	if !o.format.IsTable() {
		return o.format.PrintObject(out, list)
	}
	return o.writeTable(out, list)
}

func (o *listOptions) writeTable(out io.Writer, list *inspect.OwnerList) error {
	if o.summary {
		return printers.Summary(out, list, o.TableNow(o.table))
	}
	return printers.Owners(out, list, o.TableNow(o.table))
}

// printNothingFound prints the namespaces, the contexts and the selection without Jobs.
func (o *listOptions) printNothingFound(ctx context.Context, f *fleet.Fleet) {
	where := "in all namespaces"
	switch {
	case !o.query.AllNamespaces:
		where = "in " + util.NamespacesText(f)
	case slices.ContainsFunc(f.Clusters(), func(c *fleet.Cluster) bool { return c.IsPartial }):
		where = "in the recorded namespaces"
	}
	contexts := "context"
	if len(f.Contexts()) > 1 {
		contexts = "contexts"
	}
	message := fmt.Sprintf("No %s found %s of %s %s", o.kindsText(), where, contexts, strings.Join(f.Contexts(), ", "))
	if o.restrictions != "" {
		message += ", with " + o.restrictions
	}
	util.Report(o.ErrOut, "%s", message)
	if len(o.filter.Findings) > 0 {
		check := command.Plugin("check", "--grace", "0s")
		if o.query.AllNamespaces {
			check = check.With("-A")
		}
		if o.flags.From != "" {
			check = check.With("--from", o.flags.From)
		}
		util.Report(o.ErrOut, "note: findings younger than %s are not included; this shows them: %s",
			duration.HumanDuration(util.DefaultGrace), command.Reached(check.Shell(), o.CommandReach(o.flags)))
	}
	if !o.query.AllNamespaces && !util.NoteMissingNamespace(ctx, o.ErrOut, f) {
		util.Report(o.ErrOut, "note: -A reads all namespaces")
	}
}

// kindsText describes the listed kinds in words.
func (o *listOptions) kindsText() string {
	if o.query.OnlyJobs() || slices.Contains(o.query.Kinds, read.AllKinds) {
		return util.NounFor(o.query)
	}
	return util.NounFor(o.query) + " of kind " + strings.Join(o.query.Kinds, ", ")
}
