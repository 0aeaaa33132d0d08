package cmd

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// print writes a list in the format that was asked for.
func (o *listOptions) print(list *inspect.OwnerList, f *fleet.Fleet) error {
	if len(list.Items) == 0 && len(list.Errors) == 0 && !o.format.IsDocument() {
		o.tellNothingFound(f)
		return nil
	}
	out := bufio.NewWriter(o.Out)
	if err := o.write(out, list); err != nil {
		return fmt.Errorf("could not print: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("could not print: %w", err)
	}
	return nil
}

func (o *listOptions) write(out *bufio.Writer, list *inspect.OwnerList) error {
	if o.format.IsPerJob() {
		var jobs []inspect.Job
		for i := range list.Items {
			jobs = append(jobs, list.Items[i].Jobs...)
		}
		o.sorter.Sort(jobs)
		return o.format.PrintJobs(out, jobs)
	}
	for i := range list.Items {
		o.sorter.Sort(list.Items[i].Jobs)
	}
	switch {
	case !o.format.IsTable():
		return o.format.PrintObject(out, list)
	case o.summary:
		return printers.Summary(out, list, o.tableNow())
	default:
		return printers.Owners(out, list, o.tableNow())
	}
}

// tableNow are the table's options with what may change while a watch runs: the
// time, and the width of the terminal.
func (o *listOptions) tableNow() printers.TableOptions {
	table := o.table
	table.Now = o.Clock.Now()
	if size, ok := o.terminal(); ok {
		table.Width = int(size.Width)
	}
	return table
}

// tellsErrors says whether the output itself tells which contexts could not be
// read.
func (o *listOptions) tellsErrors() bool {
	return o.format.TellsErrors() || o.format.IsTable() && !o.table.NoHeaders
}

// tellErrors makes an error of those in the list, and tells them one by one
// where the output did not.
func (o *listOptions) tellErrors(list *inspect.OwnerList, f *fleet.Fleet) error {
	if len(list.Errors) == 0 {
		return nil
	}
	if !o.tellsErrors() {
		for _, e := range list.Errors {
			o.tell("error: context %s: %s", e.Context, e.Message)
		}
	}
	failed := sets.New[string]()
	for _, e := range list.Errors {
		failed.Insert(e.Context)
	}
	return &partialError{failed: failed.Len(), total: len(f.Contexts())}
}

// tellAliases says which contexts were left out because another one reaches the
// same cluster, so that nobody looks for them in vain.
func tellAliases(w io.Writer, f *fleet.Fleet) {
	same := map[string][]string{}
	for _, a := range f.Aliases() {
		same[a.SameAs] = append(same[a.SameAs], a.Context)
	}
	for _, name := range f.Contexts() {
		if aliases := same[name]; len(aliases) > 0 {
			tell(w, "note: %s reaches the same cluster as %s, and is not asked again", strings.Join(aliases, ", "), name)
		}
	}
}

// tellNothingFound says where was looked, and by what was selected.
func (o *listOptions) tellNothingFound(f *fleet.Fleet) {
	where := "in all namespaces"
	if !o.query.AllNamespaces {
		var namespaces []string
		for _, c := range f.Clusters() {
			if len(namespaces) == 0 || namespaces[len(namespaces)-1] != c.Namespace {
				namespaces = append(namespaces, c.Namespace)
			}
		}
		where = "in namespace " + strings.Join(namespaces, ", ")
	}
	contexts := "context"
	if len(f.Contexts()) > 1 {
		contexts = "contexts"
	}
	message := fmt.Sprintf("No %s found %s of %s %s", o.kindsText(), where, contexts, strings.Join(f.Contexts(), ", "))
	if o.restrictions != "" {
		message += ", with " + o.restrictions
	}
	o.tell("%s", message)
}

// kindsText is in words what was looked for.
func (o *listOptions) kindsText() string {
	if o.query.OnlyJobs() || slices.Contains(o.query.Kinds, inspect.AllKinds) {
		return nounFor(o.query)
	}
	return nounFor(o.query) + " of kind " + strings.Join(o.query.Kinds, ", ")
}

// nounFor is what a query is for: Jobs, or objects where it is not for Jobs alone.
func nounFor(q inspect.Query) string {
	if q.OnlyJobs() {
		return "Jobs"
	}
	return "objects"
}

// tell writes a line for people beside the output. That it cannot be written is
// nothing that could be told.
func (o *listOptions) tell(format string, args ...any) {
	_, _ = fmt.Fprintln(o.ErrOut, printers.Safe(fmt.Sprintf(format, args...)))
}
