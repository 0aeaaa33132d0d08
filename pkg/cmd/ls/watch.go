package ls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// runRows watches until ctx ends, or until it is clear that no context will ever answer. It draws
// lists on a terminal, and writes the rows that change elsewhere.
func (o *listOptions) runRows(ctx context.Context, f *fleet.Fleet, display *util.Display[*inspect.OwnerList]) error {
	view := &rowsView{listOptions: o}
	if o.format.IsTable() {
		view.stream = printers.NewStream(o.Out, o.TableNow(o.table), o.events)
	}
	var last *inspect.OwnerList
	hasAnswered := false
	once := display.Read
	display.Read = func(ctx context.Context) (*inspect.OwnerList, error) {
		list, err := once(ctx)
		if err != nil || ctx.Err() != nil {
			return list, err
		}
		failed, isFinal := failures(list)
		hasAnswered = hasAnswered || failed < len(f.Contexts())
		if isFinal && !hasAnswered {
			view.reportErrors(list.Errors)
			return nil, util.Partial(list.Errors, f)
		}
		last = list
		return list, nil
	}
	display.IsTable = o.format.IsTable() && !o.watchOnly && !o.events
	display.Changes, display.Early = view.show, o.early
	err := display.Run(ctx, f)
	if partial := (*util.PartialError)(nil); last == nil || errors.As(err, &partial) {
		return err
	}
	return util.JoinErrors([]error{err, util.Partial(last.Errors, f)})
}

// failures returns how many contexts did not answer. isFinal is set if a retry fixes no error.
func failures(list *inspect.OwnerList) (contexts int, isFinal bool) {
	isFinal = true
	for _, e := range list.Errors {
		if e.Part == "" {
			contexts++
		}
		if slices.Contains([]kubecontext.Code{kubecontext.CodeUnreachable, kubecontext.CodeTimeout, kubecontext.CodeError}, e.Code) {
			isFinal = false
		}
	}
	return contexts, isFinal
}

// early returns the list of the Jobs that have arrived so far. ok is false if there are none.
func (o *listOptions) early() (list *inspect.OwnerList, ok bool) {
	list = o.listing.Early()
	jobs := list.All()
	inspect.SetMirrors(inspect.PairUp(jobs), jobs, func(string) bool { return false })
	if o.folds() {
		list.Fold()
	}
	return list, len(list.Items) > 0
}

// draw writes a list for the screen of a terminal.
func (o *listOptions) draw(out io.Writer, list *inspect.OwnerList) error {
	if len(list.Items) == 0 && len(list.Errors) == 0 {
		_, err := fmt.Fprintf(out, "No %s so far\n", o.kindsText())
		return err
	}
	for i := range list.Items {
		o.sorter.Sort(list.Items[i].Jobs)
	}
	size, _ := o.Terminal()
	table := o.TableNow(o.table)
	table.Height = int(size.Height)
	return printers.Owners(out, list, table)
}
