package printers

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// titled lays out a table, with a blank line and a heading before it.
func titled(heading string, t *table, o TableOptions) ([]string, error) {
	p := palette{o.Color}
	rows, err := t.layout(o.Width)
	if err != nil {
		return nil, err
	}
	rows[0] = p.dim(rows[0])
	return append([]string{"", p.bold(heading)}, rows...), nil
}

const differencesTitle = "Differences between origin and mirror"

func differenceLines(t *inspect.Trace, o TableOptions) ([]string, error) {
	if len(t.Differences) == 0 {
		return nil, nil
	}
	return titled(differencesTitle, newTable(differenceColumns(), t.Differences, o), o)
}

func differenceColumns() []column[inspect.Difference] {
	return []column[inspect.Difference]{
		{title: "FIELD", alwaysShown: true, shrinks: true, cell: func(d inspect.Difference) string { return Safe(d.Field) }},
		{title: "ORIGIN", shrinks: true, cell: func(d inspect.Difference) string { return absentIfEmpty(d.Origin) }},
		{title: "MIRROR", shrinks: true, cell: func(d inspect.Difference) string { return absentIfEmpty(d.Mirror) }},
		{title: "CONTEXT", shrinks: true, cell: func(d inspect.Difference) string { return absentIfEmpty(d.Context) }},
		{cell: func(d inspect.Difference) string {
			if d.Lag {
				return "just changed"
			}
			return "differs"
		}},
	}
}

// recentEntries is the number of timeline entries that are shown unless all are wanted.
const recentEntries = 5

func timelineLines(t *inspect.Trace, o TableOptions) ([]string, error) {
	entries, heading := shownEntries(t, o)
	if len(entries) == 0 {
		return nil, nil
	}
	return titled(heading, newTable(timelineColumns(entries, o), entries, o), o)
}

// shownEntries returns the timeline entries that are shown, and their heading.
func shownEntries(t *inspect.Trace, o TableOptions) ([]inspect.TimelineEntry, string) {
	entries, heading := distinctEntries(t.Timeline, o), "Events"
	if skipped := len(entries) - recentEntries; skipped > 0 && !o.Timeline {
		entries = entries[skipped:]
		heading = fmt.Sprintf("Last events (%d more: --timeline)", skipped)
	}
	return entries, heading
}

func timelineColumns(entries []inspect.TimelineEntry, o TableOptions) []column[inspect.TimelineEntry] {
	layout := time.TimeOnly
	if o.Now.Sub(entries[0].Time.Time) > 20*time.Hour {
		layout = time.DateTime
	}
	return []column[inspect.TimelineEntry]{
		{title: "TIME", alwaysShown: true, cell: func(e inspect.TimelineEntry) string { return e.Time.In(o.Now.Location()).Format(layout) }},
		{title: "CONTEXT", shrinks: true, cell: func(e inspect.TimelineEntry) string { return absentIfEmpty(e.Context) }},
		{title: "OBJECT", shrinks: true, cell: func(e inspect.TimelineEntry) string { return Safe(e.Object) }},
		{title: "EVENT", shrinks: true, minWidth: minProseWidth, cell: func(e inspect.TimelineEntry) string { return Safe(e.Event) }},
	}
}

// distinctEntries drops an entry that repeats the last one of the same object, and shortens
// Kueue's messages, unless all is wanted.
func distinctEntries(all []inspect.TimelineEntry, o TableOptions) []inspect.TimelineEntry {
	if o.Timeline || o.Wide {
		return all
	}
	var kept []inspect.TimelineEntry
	last := map[string]string{}
	for _, e := range all {
		e.Event = kueue.Brief(e.Event)
		key := e.Context + " " + e.Object
		if last[key] == e.Event || strings.HasSuffix(last[key], ": "+e.Event) {
			// An event repeats the message of a condition.
			continue
		}
		last[key] = e.Event
		kept = append(kept, e)
	}
	return kept
}
