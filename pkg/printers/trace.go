package printers

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Trace writes the state of a Job, the reason and the fix; then where it could run, its chain,
// its findings, the differences between origin and mirror, and the last events. o.Timeline shows
// all events.
func Trace(w io.Writer, t *inspect.Trace, o TableOptions) error {
	if o.Markdown {
		return traceMarkdown(w, t, o)
	}
	lines := answerLines(t, o)
	if text := startsText(t.Starts); text != "" {
		lines = append(lines, wrapBelow(palette{o.Color}.bold("Starts:")+" ", text, o.Width)...)
	}
	if t.Cost != nil {
		lines = append(lines, fixLines(palette{o.Color}.bold("Holds: "), costOf(t.Cost), o)...)
	}
	for _, section := range []func(*inspect.Trace, TableOptions) ([]string, error){
		placementLines, chainLines, traceFindingLines, differenceLines, timelineLines,
	} {
		more, err := section(t, o)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	for _, c := range t.Clocks {
		lines = append(lines, "")
		lines = append(lines, wrap(clockNote(c), o.Width, "")...)
	}
	return writeLines(w, lines...)
}

// startsText returns the latest start of a Job, and how long Jobs like it waited; "" if neither
// is known.
func startsText(s *inspect.Starts) string {
	if s == nil {
		return ""
	}
	var parts []string
	if s.By != nil {
		parts = append(parts, fmt.Sprintf("by %s at the latest: the Jobs on %s then reach their time limits, unless their Pods stop late or a Job with higher priority arrives",
			s.By.UTC().Format("2006-01-02 15:04:05Z"), Safe(s.Context)))
	}
	if s.Samples > 0 {
		parts = append(parts, fmt.Sprintf("of the last %d Jobs of this size in this queue, half waited up to %s and 9 of 10 up to %s",
			s.Samples, seconds(s.WaitMedianSeconds), seconds(s.WaitP90Seconds)))
	}
	return strings.Join(parts, "; ")
}

// answerLines returns the state of a Job, the reason and the fix.
func answerLines(t *inspect.Trace, o TableOptions) []string {
	p := palette{o.Color}
	var lines []string
	for _, line := range wrapBelow(Safe(nameOf(t))+": ", phraseOf(t, o), o.Width) {
		lines = append(lines, p.bold(line))
	}
	if t.Message != "" {
		lines = append(lines, wrap(Safe(t.Message), o.Width, "")...)
	}
	isSaid := func(u inspect.Unchecked) bool {
		return u.What == inspect.NoVerdict && strings.Contains(t.Message, u.Reason)
	}
	lines = append(lines, uncheckedLines(slices.DeleteFunc(slices.Clone(t.Unchecked), isSaid), o)...)
	return append(lines, traceFixLines(t, o)...)
}

// traceFixLines returns the fixes of a trace with their commands.
func traceFixLines(t *inspect.Trace, o TableOptions) []string {
	p := palette{o.Color}
	var lines []string
	if len(t.Fixes) == 0 {
		return lines
	}
	if string(command.Alternatives(t.Fixes)) != t.Remedy {
		// The fixes are the steps of one fix.
		return append(lines, fixLines(p.bold("Fix:")+" ", command.Prose(t.Remedy), o)...)
	}
	fixes, other := t.Fixes, p.bold("Or:")+gap
	const few = 3
	more := len(fixes) - few
	if more > 0 && !o.Wide {
		fixes = fixes[:few]
	}
	for i, f := range fixes {
		label := other
		if i == 0 {
			label = p.bold("Fix:") + " "
		}
		lines = append(lines, fixLines(label, f.Prose(), o)...)
	}
	if len(fixes) < len(t.Fixes) {
		lines = append(lines, other+p.dim(moreFixes(more)))
	}
	return lines
}

// phraseOf returns the state of a Job, and since when.
func phraseOf(t *inspect.Trace, o TableOptions) string {
	if t.Since == nil {
		return t.Phrase()
	}
	return t.Phrase() + o.sinceIn(mainJob(t).Context, t.Since.Time, "")
}

// mainJob returns the Job that a trace is about: the origin or, without one, the mirror.
func mainJob(t *inspect.Trace) *inspect.Job {
	if t.Origin != nil || len(t.Mirrors) == 0 {
		return t.Origin
	}
	return &t.Mirrors[0].Job
}

func nameOf(t *inspect.Trace) string {
	j := mainJob(t)
	if j == nil {
		return "Job"
	}
	return fmt.Sprintf("%s %s/%s", j.Kind, j.Namespace, j.Name)
}

func clockNote(c inspect.ClockSkew) string {
	direction, seconds := "ahead of", c.AheadSeconds
	if seconds < 0 {
		direction, seconds = "behind", -seconds
	}
	atLeast := ""
	if c.AtLeast {
		atLeast = "at least "
	}
	return fmt.Sprintf("note: the clock of %s is %s%ds %s yours; times on %s are by its own clock", Safe(c.Context), atLeast, seconds, direction, Safe(c.Context))
}

// traceFindingLines returns the findings as check shows them, without the fixes that the answer
// already has.
func traceFindingLines(t *inspect.Trace, o TableOptions) ([]string, error) {
	if len(t.Findings) == 0 {
		return nil, nil
	}
	known := map[string]bool{}
	for _, f := range t.Fixes {
		known[string(f.Prose())] = true
	}
	items := make([]inspect.Finding, len(t.Findings))
	for i := range t.Findings {
		items[i] = t.Findings[i]
		// The answer has the cost.
		items[i].Cost = nil
		if !o.Wide && !o.Evidence && jobNames(items[i].Jobs, true) == jobNames(items[i].Jobs[:min(1, len(items[i].Jobs))], true) {
			// The trace is about this Job.
			items[i].Jobs = nil
		}
		if isReason(&items[i], t) && !o.Wide {
			items[i].Message = "the reason above"
		}
		isKnown := len(items[i].Fixes) > 0
		for _, f := range items[i].Fixes {
			isKnown = isKnown && known[string(f.Prose())]
		}
		if isKnown && !o.Wide {
			items[i].Remedy = ""
		}
	}
	lines := append(sectionLines("Findings", o), findingLines(items, o)...)
	for lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines, nil
}

// isReason reports whether a finding's message is the reason of the answer. A message about another object
// may name the Job, which the answer calls it.
func isReason(f *inspect.Finding, t *inspect.Trace) bool {
	messages := []string{f.Message, f.Clause()}
	if j := mainJob(t); j != nil {
		messages = append(messages, strings.Replace(f.Message, j.Namespace+"/"+j.Name, "it", 1), f.Clauses[inspect.RefOf(j)])
	}
	return slices.ContainsFunc(messages, func(message string) bool { return isRepeated(message, t.Message) })
}

// isRepeated reports whether a finding's message is the reason of the answer, which is a
// sentence, or quotes it at its end.
func isRepeated(message, reason string) bool {
	message, reason = strings.ToLower(strings.TrimSuffix(message, ".")), strings.ToLower(strings.TrimSuffix(reason, "."))
	return reason != "" && (message == reason || strings.HasSuffix(message, ": "+reason))
}

func absentIfEmpty(text string) string {
	if text == "" {
		return none
	}
	return Safe(text)
}

// titled lays out the table of a section, with its heading.
func titled(heading string, t *table, o TableOptions) ([]string, error) {
	rows, err := t.styledRows(o, palette{o.Color}.dim)
	if err != nil {
		return nil, err
	}
	return slices.Concat(sectionLines(heading, o), rows, t.leftOut(o)), nil
}

// sectionLines returns a blank line and the heading of a section, which is a title like those of columns.
func sectionLines(heading string, o TableOptions) []string {
	if o.NoHeaders {
		return []string{""}
	}
	return []string{"", palette{o.Color}.bold(heading)}
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
