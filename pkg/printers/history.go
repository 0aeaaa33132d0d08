package printers

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// History writes the totals of finished Jobs, then a row for each Job or each group, then what is
// missing from the answer.
func History(w io.Writer, list *inspect.HistoryList, o TableOptions) error {
	p := palette{o.Color}
	if o.Markdown {
		return historyMarkdown(w, list, o)
	}
	t := historyTable(list, o)
	rows, err := t.layout(o.Width)
	if err != nil {
		return err
	}
	if o.NoHeaders {
		return writeLines(w, rows[1:]...)
	}
	var lines []string
	for _, text := range HistorySummary(list, o) {
		for _, line := range wrap(text, o.Width, "") {
			lines = append(lines, p.bold(line))
		}
	}
	for _, u := range list.Unchecked {
		lines = append(lines, wrapBelow(p.bad("not checked:")+" ", UncheckedText(u), o.Width)...)
	}
	if len(rows) > 1 {
		lines = append(append(lines, "", p.bold(rows[0])), rows[1:]...)
		lines = append(lines, t.notShown(o)...)
	}
	if notes := historyNotes(list, o); len(notes) > 0 {
		lines = append(lines, "")
		for _, note := range notes {
			lines = append(lines, wrapBelow("note: ", note, o.Width)...)
		}
	}
	return writeLines(w, lines...)
}

// historyTable returns the table of Jobs or groups.
func historyTable(list *inspect.HistoryList, o TableOptions) *table {
	p := palette{o.Color}
	if list.By != "" {
		return newTable(dimmed(groupColumns(list, o), p), pointers(list.Groups), o)
	}
	return newTable(dimmed(pastColumns(list, o), p), pointers(list.Items), o)
}

func historyMarkdown(w io.Writer, list *inspect.HistoryList, o TableOptions) error {
	d, o := &document{}, o.forMarkdown()
	for _, text := range HistorySummary(list, o) {
		d.paragraph(literal(text))
	}
	d.addUnchecked(list.Unchecked)
	var err error
	if list.By != "" {
		err = addTable(d, groupColumns(list, o), pointers(list.Groups), o)
	} else {
		err = addTable(d, pastColumns(list, o), pointers(list.Items), o)
	}
	if err != nil {
		return err
	}
	var notes []string
	for _, note := range historyNotes(list, o) {
		notes = append(notes, literal(note))
	}
	d.list(notes)
	return d.write(w)
}

// HistorySummary returns how many Jobs finished, how long they waited and what they used.
func HistorySummary(list *inspect.HistoryList, o TableOptions) []string {
	if list.IsUnread {
		return []string{"No cluster was read, so it is unknown which Jobs finished"}
	}
	t := list.Total
	text := inspect.Count(t.Jobs, "delegated Job") + " finished"
	if t.Deleted > 0 {
		text = inspect.Count(t.Jobs, "delegated Job") + " ended"
	}
	if list.Since != nil {
		text += " in the last " + duration.HumanDuration(o.Now.Sub(list.Since.Time))
	}
	if t.Jobs == 0 {
		text = "No " + strings.TrimPrefix(text, "0 ")
		if len(list.Unchecked) > 0 {
			text += ", in what was read"
		}
		return []string{text}
	}
	var parts []string
	if t.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", t.Failed))
	}
	if t.Deleted > 0 {
		parts = append(parts, fmt.Sprintf("%d deleted", t.Deleted))
	}
	if hasEvictions(&t) {
		evictions := inspect.Count(int(*t.Evictions), "eviction")
		if t.LostSeconds != nil {
			evictions += " lost " + humanSeconds(*t.LostSeconds)
		}
		parts = append(parts, evictions)
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	lines := []string{text}
	if rates := historyRates(&t); rates != "" {
		lines = append(lines, rates)
	}
	return lines
}

// historyRates returns how long Jobs waited and what they used, "" if neither is known.
func historyRates(t *inspect.HistorySum) string {
	var parts []string
	switch {
	case t.WaitMedianSeconds == nil || t.WaitP90Seconds == nil:
	case t.Waits == 1:
		parts = append(parts, "Wait: "+humanSeconds(*t.WaitMedianSeconds))
	default:
		parts = append(parts, fmt.Sprintf("Waits: median %s, 90th percentile %s", humanSeconds(*t.WaitMedianSeconds), humanSeconds(*t.WaitP90Seconds)))
	}
	if used := resourceHours(t.ResourceHours, 3); used != none {
		parts = append(parts, "used "+used+" hours")
	}
	return strings.Join(parts, "; ")
}

// historyNotes returns notes on what is missing from the answer.
func historyNotes(list *inspect.HistoryList, o TableOptions) []string {
	var notes []string
	for _, omitted := range list.Omitted {
		notes = append(notes, Safe(inspect.Count(omitted.Count, "Job")+" "+omitted.Reason))
	}
	if hasEvictions(&list.Total) {
		notes = append(notes, "a wait ends at the last admission and excludes LOST")
	}
	if o.Wide && slices.ContainsFunc(list.Items, func(j inspect.PastJob) bool { return len(j.Flavors) > 0 }) {
		notes = append(notes, "FLAVORS are those of the management cluster; the worker may have used others")
	}
	var unknown []string
	for _, r := range list.Retention {
		switch {
		case r.Seconds != nil:
			notes = append(notes, Safe(fmt.Sprintf("Kueue on %s keeps finished Workloads for %s: older Jobs may be missing", r.Context, humanSeconds(*r.Seconds))))
		case !r.Known && slices.ContainsFunc(list.Items, func(j inspect.PastJob) bool { return j.Context == r.Context }):
			unknown = append(unknown, r.Context)
		}
	}
	if len(unknown) > 0 {
		notes = append(notes, Safe("how long Kueue keeps finished Workloads is unknown on "+inspect.Some(unknown)+": older Jobs may be missing"))
	}
	return notes
}

// hasEvictions reports whether Jobs are known to have been evicted.
func hasEvictions(s *inspect.HistorySum) bool { return s.Evictions != nil && *s.Evictions > 0 }

// pastColumns returns the columns of Jobs.
func pastColumns(list *inspect.HistoryList, o TableOptions) []column[*inspect.PastJob] {
	p := palette{o.Color}
	hasAny := func(is func(*inspect.PastJob) bool) bool {
		return slices.ContainsFunc(list.Items, func(j inspect.PastJob) bool { return is(&j) })
	}
	hasKinds := hasAny(func(j *inspect.PastJob) bool { return j.Kind != "Job" })
	return []column[*inspect.PastJob]{
		{title: "CONTEXT", shrinks: true, absent: !o.Contexts, unused: !hasSeveral(list.Items, func(j *inspect.PastJob) string { return j.Context }), dropRank: 4, cell: func(j *inspect.PastJob) string { return Safe(j.Context) }},
		{title: "NAMESPACE", shrinks: true, absent: !o.Namespaces, cell: func(j *inspect.PastJob) string { return Safe(j.Namespace) }},
		{title: "KIND", shrinks: true, unused: !hasKinds, cell: func(j *inspect.PastJob) string { return Safe(j.Kind) }},
		{title: "JOB", alwaysShown: true, shrinks: true, cell: func(j *inspect.PastJob) string { return Safe(j.Name) }},
		{title: "OWNER", shrinks: true, dropRank: 3, cell: func(j *inspect.PastJob) string { return Safe(string(j.ManagedBy)) }},
		{title: "QUEUE", wide: true, shrinks: true, cell: func(j *inspect.PastJob) string { return absentIfEmpty(Safe(j.Queue)) }},
		{title: "CLUSTER", alwaysShown: true, shrinks: true, cell: func(j *inspect.PastJob) string {
			if j.Cluster == nil {
				return unknown
			}
			return absentIfEmpty(Safe(*j.Cluster))
		}},
		{title: "FINISHED", wide: true, cell: func(j *inspect.PastJob) string {
			if j.FinishedAt == nil {
				return unknown
			}
			return j.FinishedAt.UTC().Format(time.RFC3339)
		}},
		{title: "WAITED", alwaysShown: true, cell: func(j *inspect.PastJob) string { return seconds(j.WaitSeconds) }},
		{title: "RAN", alwaysShown: true, cell: func(j *inspect.PastJob) string { return seconds(j.RunSeconds) }},
		{title: "EVICTED", dropRank: 2, cell: func(j *inspect.PastJob) string { return evictions(j, o.Wide) }},
		{title: "LOST", dropRank: 1, cell: func(j *inspect.PastJob) string { return lost(j.LostSeconds) }},
		{title: "RESULT", alwaysShown: true, cell: func(j *inspect.PastJob) string {
			if j.Result == inspect.ResultFailed {
				return p.bad(string(j.Result))
			}
			return string(j.Result)
		}},
		{title: "REASON", wide: true, shrinks: true, cell: func(j *inspect.PastJob) string { return absentIfEmpty(Safe(j.Reason)) }},
		{title: "FLAVORS", wide: true, shrinks: true, cell: flavors},
		{title: "RESOURCES", shrinks: true, cell: resourcesOf},
	}
}

// groupColumns returns the columns of groups.
func groupColumns(list *inspect.HistoryList, o TableOptions) []column[*inspect.HistorySum] {
	p := palette{o.Color}
	count := func(n int64) string {
		if n == 0 {
			return none
		}
		return strconv.FormatInt(n, 10)
	}
	title := list.By
	if _, label, isLabel := strings.Cut(list.By, "="); isLabel {
		title = label
	}
	return []column[*inspect.HistorySum]{
		{title: Safe(strings.ToUpper(title)), alwaysShown: true, shrinks: true, cell: func(s *inspect.HistorySum) string { return absentIfEmpty(Safe(s.Group)) }},
		{title: "JOBS", alwaysShown: true, cell: func(s *inspect.HistorySum) string { return strconv.Itoa(s.Jobs) }},
		{title: "FAILED", cell: func(s *inspect.HistorySum) string {
			if s.Failed == 0 {
				return none
			}
			return p.bad(strconv.Itoa(s.Failed))
		}},
		{title: "DELETED", wide: true, cell: func(s *inspect.HistorySum) string { return count(int64(s.Deleted)) }},
		{title: "WAIT", alwaysShown: true, cell: func(s *inspect.HistorySum) string { return seconds(s.WaitMedianSeconds) }},
		{title: "WAIT-P90", alwaysShown: true, cell: func(s *inspect.HistorySum) string { return seconds(s.WaitP90Seconds) }},
		{title: "RUN", alwaysShown: true, cell: func(s *inspect.HistorySum) string { return seconds(s.RunMedianSeconds) }},
		{title: "EVICTED", dropRank: 2, cell: func(s *inspect.HistorySum) string {
			if s.Evictions == nil {
				return unknown
			}
			return count(*s.Evictions)
		}},
		{title: "LOST", dropRank: 1, cell: func(s *inspect.HistorySum) string { return lost(s.LostSeconds) }},
		{title: "CLUSTERS", shrinks: true, absent: list.By == "cluster", cell: func(s *inspect.HistorySum) string {
			if s.Clusters == nil {
				return unknown
			}
			return absentIfEmpty(Safe(strings.Join(s.Clusters, ",")))
		}},
		{title: "HOURS", alwaysShown: true, shrinks: true, cell: func(s *inspect.HistorySum) string {
			if s.Measured == 0 {
				return unknown
			}
			return resourceHours(s.ResourceHours, 0)
		}},
	}
}

// humanSeconds formats a number of seconds as kubectl formats durations.
func humanSeconds(n int64) string {
	return duration.HumanDuration(time.Duration(max(0, n)) * time.Second)
}

func seconds(n *int64) string {
	if n == nil {
		return unknown
	}
	return humanSeconds(*n)
}

// lost returns the time lost to evictions.
func lost(n *int64) string {
	if n != nil && *n == 0 {
		return none
	}
	return seconds(n)
}

// evictions returns the number of evictions of a Job; in a wide table with their reasons.
func evictions(j *inspect.PastJob, wide bool) string {
	switch {
	case j.Evictions == nil:
		return unknown
	case *j.Evictions == 0:
		return none
	}
	text := strconv.Itoa(int(*j.Evictions))
	if !wide {
		return text
	}
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(j.EvictionReasons)) {
		if reason != "" {
			reasons = append(reasons, Safe(reason))
		}
	}
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, ", ") + ")"
	}
	return text
}

// byWorth orders resources: GPUs, other devices, CPUs, memory, the rest.
func byWorth(a, b string) int {
	rank := func(name string) int {
		switch {
		case strings.Contains(strings.ToLower(name), "gpu"):
			return 0
		case strings.Contains(name, "/"):
			return 1
		case name == string(corev1.ResourceCPU):
			return 2
		case name == string(corev1.ResourceMemory):
			return 3
		}
		return 4
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

func resourcesOf(j *inspect.PastJob) string { return quantities(j.Resources) }

// quantities returns the quantities of resources in one cell. Without a map, they are unknown.
func quantities(ofResources map[string]string) string {
	if ofResources == nil {
		return unknown
	}
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(ofResources), byWorth) {
		parts = append(parts, Safe(ofResources[name]+" "+name))
	}
	return absentIfEmpty(strings.Join(parts, ", "))
}

func flavors(j *inspect.PastJob) string {
	if j.Flavors == nil {
		return unknown
	}
	var names []string
	for _, resource := range slices.SortedFunc(maps.Keys(j.Flavors), byWorth) {
		if name := Safe(j.Flavors[resource]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return absentIfEmpty(strings.Join(names, ","))
}

// resourceHours formats resource amounts times hours, the most valuable resources first; most is
// the maximum number of resources, 0 for all.
func resourceHours(hours map[string]float64, most int) string {
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(hours), byWorth) {
		if most > 0 && len(parts) == most {
			break
		}
		unit := name
		if name == string(corev1.ResourceMemory) {
			unit = "memory GiB"
		}
		parts = append(parts, Safe(hoursText(hours[name])+" "+unit))
	}
	return absentIfEmpty(strings.Join(parts, ", "))
}

// hoursText formats a number of hours: small numbers with two decimals, large ones with none.
func hoursText(n float64) string {
	digits := 2
	if n >= 100 {
		digits = 0
	} else if n >= 10 {
		digits = 1
	}
	text := strconv.FormatFloat(n, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
