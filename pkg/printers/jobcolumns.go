package printers

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// jobColumns returns all columns of a table of Jobs.
func jobColumns(o TableOptions) []column[*inspect.Job] {
	p := palette{o.Color}
	completionsRank, durationRank := 5, 4
	if o.Kinds {
		// Only Jobs have completions.
		completionsRank = 4
	}
	columns := []column[*inspect.Job]{
		{title: "CONTEXT", absent: !o.Contexts, shrinks: true, cell: func(j *inspect.Job) string { return Safe(j.Context) }},
		{title: "NAMESPACE", absent: !o.Namespaces, shrinks: true, cell: func(j *inspect.Job) string { return Safe(j.Namespace) }},
		// The wide table has it further right.
		{title: "KIND", absent: !o.Kinds || o.Wide, shrinks: true, cell: func(j *inspect.Job) string { return Safe(j.Kind) }},
		{title: "NAME", alwaysShown: true, shrinks: true, cell: func(j *inspect.Job) string { return Safe(j.Name) }},
		{title: "MANAGED-BY", absent: !o.Owners, shrinks: true, cell: func(j *inspect.Job) string { return Safe(string(j.ManagedBy)) }},
		{title: "STATUS", alwaysShown: true, cell: func(j *inspect.Job) string { return p.status(j.Status) }},
		{title: "COMPLETIONS", dropRank: completionsRank, cell: (*inspect.Job).Progress},
		{title: "DURATION", dropRank: durationRank, cell: func(j *inspect.Job) string {
			if d, ok := j.Duration(o.nowOn(j.Context)); ok {
				if text, isKnown := inspect.AgeText(d); isKnown {
					return text
				}
			}
			return none
		}},
		{title: "MIRROR", alwaysShown: true, shrinks: true, cell: mirror},
		{title: "AGE", cell: func(j *inspect.Job) string { return o.since(j.Context, j.CreationTimestamp.Time) }},
		{title: "KIND", wide: true, dropRank: 3, cell: func(j *inspect.Job) string { return Safe(j.Kind) }},
		{title: "SINCE", wide: true, dropRank: 2, cell: func(j *inspect.Job) string {
			if j.Since == nil {
				return none
			}
			return o.since(j.Context, j.Since.Time)
		}},
		{title: "FINDINGS", wide: true, cell: findings},
		{title: "UID", wide: true, dropRank: 1, cell: func(j *inspect.Job) string { return Safe(j.UID) }},
	}
	for _, label := range o.Labels {
		columns = append(columns, labelColumn(label))
	}
	// Cells of these columns have blanks, so the columns come last.
	return append(columns,
		column[*inspect.Job]{title: "DISPATCHER", wide: true, unused: !o.Dispatchers, shrinks: true, cell: func(j *inspect.Job) string { return dispatcher(j, o) }},
		column[*inspect.Job]{title: "REASON", absent: !o.Reasons, shrinks: true, minWidth: minProseWidth, cell: reason},
	)
}

// unlabelled is the cell of a Job without the label, as in kubectl get.
const unlabelled = "<none>"

// labelColumn returns the column of a label, as in kubectl get: its title is the last part of the
// label's name.
func labelColumn(label string) column[*inspect.Job] {
	title := label[strings.LastIndex(label, "/")+1:]
	return column[*inspect.Job]{title: strings.ToUpper(Safe(title)), alwaysShown: true, shrinks: true, cell: func(j *inspect.Job) string {
		if value, isSet := j.Labels[label]; isSet {
			return Safe(value)
		}
		return unlabelled
	}}
}

// reason returns, in a line, why a Job is in its state.
func reason(j *inspect.Job) string {
	switch {
	case j.Message == nil:
		return unknown
	case *j.Message == "":
		return none
	}
	return Safe(*j.Message)
}

// noDispatcher is the cell of a Job that should have a dispatcher and has none.
const noDispatcher = "none"

// dispatcher returns the holder of a dispatched Job's Lease, and since when. A finished Job needs
// none.
func dispatcher(j *inspect.Job, o TableOptions) string {
	d := j.Dispatcher
	switch {
	case !j.IsDispatched():
		return none
	case d == nil:
		return unknown
	case d.Held && d.Since == nil:
		return Safe(d.Holder)
	case d.Held:
		return Safe(d.Holder) + o.sinceIn(j.Context, d.Since.Time, "")
	case j.Status.IsFinished():
		return none
	}
	return noDispatcher
}

// mirror returns the context that runs the Job. If mirrors were not read, that of a delegated Job is
// unknown. Any other Job has none.
func mirror(j *inspect.Job) string {
	switch {
	case j.Mirrors == nil && j.IsDelegated():
		return unknown
	case len(j.Mirrors) == 0:
		return none
	case len(j.Mirrors) == 1:
		return Safe(j.Mirrors[0].Context)
	}
	return fmt.Sprintf("%s+%d", Safe(j.Mirrors[0].Context), len(j.Mirrors)-1)
}

func findings(j *inspect.Job) string {
	switch {
	case j.Findings == nil:
		return unknown
	case len(j.Findings) == 0:
		return none
	case len(j.Findings) == 1:
		return Safe(j.Findings[0])
	}
	return fmt.Sprintf("%s+%d", Safe(j.Findings[0]), len(j.Findings)-1)
}
