package ls

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// rowsView writes a row or a document for each change, one after the other.
type rowsView struct {
	*listOptions
	board *inspect.Board
	// stream is nil if documents are written.
	stream *printers.Stream
	// shown are the Jobs that matched the filter when they were shown last, so that a Job that no
	// longer matches can be reported.
	shown sets.Set[inspect.Ref]
	// notes reports what cannot be watched.
	notes *util.UnwatchedNotes
}

// early writes the rows of Jobs that are not delegated as they arrive, because they do not depend
// on later objects.
func (v *rowsView) early(c inspect.Change) error {
	isJob := c.Type == inspect.Added || c.Type == inspect.Modified || c.Type == inspect.Deleted
	if !isJob || v.watchOnly || !v.sorter.IsNone() || c.Job.IsDelegated() || v.folds() && c.Job.IsMirror() {
		return nil
	}
	return v.change(c)
}

func (v *rowsView) start() error {
	for _, err := range v.board.Errors() {
		util.Report(v.ErrOut, "error: %v", err)
	}
	list := v.board.List(v.filter)
	if v.folds() {
		list.Fold()
	}
	jobs := list.All()
	v.sorter.Sort(jobs)
	for _, j := range jobs {
		if v.shown.Has(inspect.RefOf(j)) {
			continue
		}
		v.shown.Insert(inspect.RefOf(j))
		if v.watchOnly {
			continue
		}
		if err := v.write(inspect.Added, j); err != nil {
			return err
		}
	}
	return v.refresh()
}

func (v *rowsView) change(c inspect.Change) error {
	switch c.Type {
	case inspect.Lost:
		util.Report(v.ErrOut, "error: %v", c.Err)
		return nil
	case inspect.Found:
		util.Report(v.ErrOut, "note: context %s answers again", c.Context)
		return nil
	case inspect.Synced:
		return nil
	case inspect.Added, inspect.Modified, inspect.Deleted:
	}
	isFolded := v.folds() && c.Origin != nil && v.filter.Matches(c.Origin)
	event, matches := c.Type, v.filter.Matches(c.Job) && !isFolded
	wasShown := v.shown.Has(inspect.RefOf(c.Job))
	switch {
	case matches && event != inspect.Deleted:
		if !wasShown {
			event = inspect.Added
		}
		v.shown.Insert(inspect.RefOf(c.Job))
	case wasShown:
		// It was deleted, or no longer matches the filter; in a watch with a selector, kubectl
		// makes no difference between the two either.
		event = inspect.Deleted
		v.shown.Delete(inspect.RefOf(c.Job))
	default:
		return nil
	}
	return v.write(event, c.Job)
}

func (v *rowsView) write(event inspect.ChangeType, j *inspect.Job) error {
	switch {
	case v.stream != nil:
		return v.stream.Write(event, j, v.TableNow(v.table))
	case v.events:
		return v.format.PrintEvent(v.Out, event, j)
	default:
		return v.format.PrintJobs(v.Out, []*inspect.Job{j})
	}
}

func (v *rowsView) refresh() error {
	v.notes.Print()
	if v.stream != nil {
		return v.stream.Flush()
	}
	return nil
}
