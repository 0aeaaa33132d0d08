package printers

import (
	"io"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// Outcomes writes a row for each dispatched Job, with the context that it was dispatched to, and
// how that ended.
func Outcomes(w io.Writer, outcomes []dispatch.Outcome, o TableOptions) error {
	rows, err := newTable(outcomeColumns(palette{o.Color}), outcomes, o).layout(o.Width)
	if err != nil {
		return err
	}
	return writeLines(w, rows...)
}

func outcomeColumns(p palette) []column[dispatch.Outcome] {
	return []column[dispatch.Outcome]{
		{title: "NAME", alwaysShown: true, shrinks: true, cell: func(o dispatch.Outcome) string { return Safe(kindAndName(o.Origin.Kind, o.Origin.String())) }},
		{title: "CONTEXT", shrinks: true, cell: func(o dispatch.Outcome) string {
			if o.Mirror == nil {
				return p.absent(none)
			}
			return p.absent(absentIfEmpty(o.Mirror.Context))
		}},
		{title: "END", cell: func(o dispatch.Outcome) string {
			end := eventWording(o.End)
			if end.color == nil {
				return end.words
			}
			return p.colored(end.color, end.words)
		}},
	}
}
