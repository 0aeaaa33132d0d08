package ls

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// rowsView writes a row or a document for each Job that changes, one after the other.
type rowsView struct {
	*listOptions
	rows    inspect.Rows
	outages inspect.Outages
	// stream is nil if documents are written.
	stream *printers.Stream
	// isStarted is set once a whole list was shown.
	isStarted bool
}

// show writes the differences from the last list. Of an early list, which lacks Jobs, it writes the
// rows that do not depend on other Jobs. These rows always come first, so that the order does not
// depend on how fast contexts answer.
func (v *rowsView) show(list *inspect.OwnerList, isEarly bool) error {
	if !isEarly {
		v.reportErrors(list.Errors)
	}
	jobs := list.All()
	var changes []inspect.RowChange
	if !v.isStarted && !v.watchOnly && v.sorter.IsNone() {
		changes = v.rows.Add(slices.DeleteFunc(slices.Clone(jobs), v.isPaired))
	}
	if !isEarly {
		if !v.isStarted {
			v.sorter.Sort(jobs)
		}
		more := v.rows.Update(jobs, v.others)
		if v.isStarted || !v.watchOnly {
			changes = append(changes, more...)
		}
		v.isStarted = true
	}
	for _, c := range changes {
		if err := v.write(c); err != nil {
			return err
		}
	}
	if v.stream != nil {
		return v.stream.Flush()
	}
	return nil
}

// isPaired reports whether the row of a Job may depend on Jobs of other contexts.
func (v *rowsView) isPaired(j *inspect.Job) bool {
	return j.IsDelegated() || v.folds() && (j.IsMirror() || j.IsPart())
}

// reportErrors reports the contexts that can no longer be read completely, and contexts that answer
// again.
func (v *rowsView) reportErrors(errs []inspect.ContextError) {
	lost, regained := v.outages.Update(errs)
	util.ReportErrors(v.ErrOut, lost)
	for _, name := range regained {
		util.Report(v.ErrOut, "note: context %s answers again", name)
	}
}

func (v *rowsView) write(c inspect.RowChange) error {
	switch {
	case v.stream != nil:
		return v.stream.Write(c.Type, c.Job, v.TableNow(v.table))
	case v.events:
		return v.format.PrintEvent(v.Out, c.Type, c.Job)
	default:
		return v.format.PrintJobs(v.Out, []*inspect.Job{c.Job})
	}
}
