package printers

import (
	"io"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Traces writes a row for each mirror with its origin, and for each origin
// without one.
func Traces(w io.Writer, list *inspect.TraceList, o TableOptions) error {
	p := palette{o.Color}
	t := &table{titles: []string{"CONTEXT", "NAMESPACE"}, shrinks: []bool{true, true}, spare: []string{"RELATION", "AGE", "MIRROR-STATUS"}}
	if o.Kinds {
		t.titles, t.shrinks = append(t.titles, "KIND"), append(t.shrinks, true)
	}
	t.titles = append(t.titles, "NAME", "STATUS", "MIRROR", "MIRROR-STATUS", "RELATION", "IN-STEP", "AGE")
	t.shrinks = append(t.shrinks, true, false, true, false, false, false, false)
	if o.Wide {
		t.titles = append(t.titles, "MANAGED-BY", "CURRENT", "UID", "MIRROR-UID")
		t.shrinks = append(t.shrinks, true, false, false, false)
	}
	for i := range list.Items {
		for _, cells := range traceRows(&list.Items[i], o, p) {
			for c := range cells {
				cells[c] = p.absent(cells[c])
			}
			t.rows = append(t.rows, cells)
		}
	}
	lines, err := t.layout(o.Width)
	if err != nil {
		return err
	}
	switch {
	case o.NoHeaders:
		return writeLines(w, lines[1:]...)
	case len(t.rows) > 0:
		lines[0] = p.bold(lines[0])
		if err := writeLines(w, lines...); err != nil {
			return err
		}
	}
	return writeErrors(w, list.Errors, len(t.rows) > 0, o)
}

func traceRows(t *inspect.Trace, o TableOptions, p palette) [][]string {
	place, origin := []string{none, none}, []string{none, none}
	age, wide, kind := none, []string{none, none}, none
	switch {
	case t.Origin != nil:
		place, origin = []string{Safe(t.Origin.Context), Safe(t.Origin.Namespace)}, []string{Safe(t.Origin.Name), p.status(t.Origin.Status)}
		kind = Safe(t.Origin.Kind)
		age = duration.HumanDuration(o.Now.Sub(t.Origin.CreationTimestamp.Time))
		wide = []string{Safe(string(t.Origin.ManagedBy)), Safe(t.Origin.UID)}
	case len(t.Mirrors) > 0:
		m := &t.Mirrors[0]
		place[1], origin[0], kind = Safe(m.Namespace), Safe(m.Name), Safe(m.Kind)
		age = duration.HumanDuration(o.Now.Sub(m.CreationTimestamp.Time))
	}
	if o.Kinds {
		place = append(place, kind)
	}
	origin = append(place, origin...)
	row := func(mirror, status, relation, inStep, current, uid string) []string {
		cells := append(append([]string(nil), origin...), mirror, status, relation, inStep, age)
		if o.Wide {
			cells = append(cells, wide[0], current, wide[1], uid)
		}
		return cells
	}
	if len(t.Mirrors) == 0 {
		return [][]string{row(mirror(t.Origin), none, none, none, none, none)}
	}
	var rows [][]string
	for i := range t.Mirrors {
		m := &t.Mirrors[i]
		inStep, current := "no", "no"
		if m.InStep {
			inStep = "yes"
		}
		if m.Current {
			current = "yes"
		}
		rows = append(rows, row(Safe(m.Context), p.status(m.Status), string(m.Relation), inStep, current, Safe(m.UID)))
	}
	return rows
}
