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

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// startsNote explains what the times in the column STARTS depend on.
const startsNote = "STARTS is the latest start of the first Job, when all running Jobs have reached their time limits. Pods that stop slowly, or a new Job with higher priority, may delay it"

// Pending writes a row for each Workload that waits in a queue, in the order of the queue.
func Pending(w io.Writer, list *queues.PendingList, o TableOptions) error {
	columns := pendingColumns(list, o)
	hasBound := slices.ContainsFunc(list.Items, func(j queues.PendingJob) bool { return j.StartsBy != nil })
	if o.Markdown {
		if err := tableMarkdown(w, columns, pointers(list.Items), list.Errors, o); err != nil || !hasBound {
			return err
		}
		return writeLines(w, "", literal(startsNote))
	}
	p := palette{o.Color}
	rows, err := newTable(dimmed(columns, p), pointers(list.Items), o).layout(o.Width)
	if err != nil {
		return err
	}
	if err := writeRows(w, rows, list.Errors, o, func(int) string { return "" }, p.bad); err != nil || o.NoHeaders || !hasBound {
		return err
	}
	return writeLines(w, append([]string{""}, wrapBelow("note: ", startsNote, o.Width)...)...)
}

func pendingColumns(list *queues.PendingList, o TableOptions) []column[*queues.PendingJob] {
	hasAny := func(is func(*queues.PendingJob) bool) bool {
		return slices.ContainsFunc(list.Items, func(j queues.PendingJob) bool { return is(&j) })
	}
	hasKinds := hasAny(func(j *queues.PendingJob) bool { return j.Kind != "Job" && j.Kind != "" })
	return []column[*queues.PendingJob]{
		{title: "CONTEXT", shrinks: true, absent: !o.Contexts, cell: func(j *queues.PendingJob) string { return Safe(j.Context) }},
		{title: "QUEUE", alwaysShown: true, shrinks: true, cell: func(j *queues.PendingJob) string { return absentIfEmpty(Safe(j.ClusterQueue)) }},
		{title: "PLACE", alwaysShown: true, cell: place},
		{title: "NAMESPACE", shrinks: true, absent: !o.Namespaces, cell: func(j *queues.PendingJob) string { return Safe(j.Namespace) }},
		{title: "KIND", shrinks: true, absent: !hasKinds, dropRank: 3, cell: func(j *queues.PendingJob) string { return absentIfEmpty(Safe(j.Kind)) }},
		{title: "JOB", alwaysShown: true, shrinks: true, cell: func(j *queues.PendingJob) string {
			return Safe(cmp.Or(j.Name, "workload/"+j.Workload))
		}},
		{title: "LOCALQUEUE", wide: true, shrinks: true, cell: func(j *queues.PendingJob) string { return absentIfEmpty(Safe(j.LocalQueue)) }},
		{title: "STRATEGY", wide: true, cell: func(j *queues.PendingJob) string {
			return map[string]string{"": unknown}[j.Strategy] + Safe(j.Strategy)
		}},
		{title: "PRIORITY", dropRank: 1, cell: func(j *queues.PendingJob) string { return strconv.Itoa(int(j.Priority)) }},
		{title: "AGE", dropRank: 2, cell: func(j *queues.PendingJob) string { return o.since(j.Context, j.CreatedAt.Time) }},
		{title: "STARTS", alwaysShown: hasAny(func(j *queues.PendingJob) bool { return j.StartsBy != nil }), cell: func(j *queues.PendingJob) string { return startsBy(j, o) }},
		{title: "REQUESTS", wide: true, shrinks: true, cell: requests},
		{title: "REASON", alwaysShown: true, cell: func(j *queues.PendingJob) string { return Safe(string(j.Reason)) }},
		{title: "MESSAGE", wide: true, shrinks: true, cell: func(j *queues.PendingJob) string { return absentIfEmpty(Safe(j.Message)) }},
	}
}

// place returns the place in the queue: "?" if it is unknown, "-" for a Workload that does not wait
// there.
func place(j *queues.PendingJob) string {
	switch {
	case j.Place != nil && j.Of != nil:
		return fmt.Sprintf("%d/%d", *j.Place, *j.Of)
	case j.Queued:
		return unknown
	}
	return none
}

// startsBy returns the latest start, with the day unless it is today.
func startsBy(j *queues.PendingJob, o TableOptions) string {
	if j.StartsBy == nil {
		return none
	}
	at, now := j.StartsBy.UTC(), o.nowOn(j.Context).UTC()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return "by " + at.Format("15:04:05Z")
	}
	return "by " + at.Format("2006-01-02 15:04Z")
}

func requests(j *queues.PendingJob) string {
	if j.Requests == nil {
		return unknown
	}
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(j.Requests), byWorth) {
		parts = append(parts, Safe(j.Requests[name]+" "+name))
	}
	return absentIfEmpty(strings.Join(parts, ", "))
}

// PrintPending writes waiting Workloads one after the other, in a format that IsPerJob: their
// names, or columns.
func (f *Format) PrintPending(w io.Writer, list *queues.PendingList) error {
	if f.name != "name" {
		return printColumns(f, w, pointers(list.Items))
	}
	for i := range list.Items {
		if err := writeLines(w, Safe("workload."+kueue.Group+"/"+list.Items[i].Workload)); err != nil {
			return err
		}
	}
	return nil
}
