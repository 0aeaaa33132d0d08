package printers

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Queues writes a row for each quota of a queue, the members of a cohort indented below it, and
// below a queue its problem.
func Queues(w io.Writer, list *queues.QueueList, o TableOptions) error {
	if o.Markdown {
		return tableMarkdown(w, withProblems(queueColumns(list, o), list), pointers(list.Items), list.Errors, o)
	}
	p := palette{o.Color}
	t := newTable(dimmed(queueColumns(list, o), p), pointers(list.Items), o)
	rows, err := t.layout(o.Width)
	if err != nil {
		return err
	}
	if err := writeRows(w, rows, list.Errors, o, func(i int) string {
		if i+1 < len(list.Items) && isSameQueue(&list.Items[i], &list.Items[i+1]) {
			return ""
		}
		return Safe(list.Items[i].Problem)
	}, p.bad); err != nil {
		return err
	}
	return writeLines(w, t.notShown(o)...)
}

func isSameQueue(a, b *queues.QueueQuota) bool {
	return a.Context == b.Context && a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name
}

// hasFlavors reports whether only the flavor distinguishes some rows.
func hasFlavors(list *queues.QueueList) bool {
	for i := range list.Items[min(1, len(list.Items)):] {
		a, b := &list.Items[i], &list.Items[i+1]
		if isSameQueue(a, b) && a.Flavor != b.Flavor {
			return true
		}
	}
	return false
}

// queueColumns returns the columns that a list needs.
func queueColumns(list *queues.QueueList, o TableOptions) []column[*queues.QueueQuota] {
	hasAny := func(is func(*queues.QueueQuota) bool) bool {
		return slices.ContainsFunc(list.Items, func(q queues.QueueQuota) bool { return is(&q) })
	}
	if hasAny(func(q *queues.QueueQuota) bool { return q.Kind == queues.KindCluster }) {
		return clusterColumns(list, o)
	}
	locals := hasAny(func(q *queues.QueueQuota) bool { return q.Kind == queues.KindLocalQueue })
	managers := hasAny(func(q *queues.QueueQuota) bool { return q.Workers != nil })
	flavorRank := 2
	if hasFlavors(list) {
		flavorRank = 0
	}
	return []column[*queues.QueueQuota]{
		{title: "CONTEXT", shrinks: true, absent: !o.Contexts, cell: func(q *queues.QueueQuota) string { return Safe(q.Context) }},
		{title: "NAMESPACE", shrinks: true, absent: !locals || !o.Namespaces, cell: func(q *queues.QueueQuota) string { return Safe(q.Namespace) }},
		{title: "QUEUE", alwaysShown: true, shrinks: true, cell: queueName},
		{title: "CLUSTERQUEUE", shrinks: true, dropRank: 5, absent: !locals, cell: func(q *queues.QueueQuota) string { return absentIfEmpty(Safe(q.ClusterQueue)) }},
		{title: "COHORT", shrinks: true, dropRank: 1, cell: func(q *queues.QueueQuota) string {
			if len(q.Cohorts) == 0 {
				return none
			}
			return Safe(q.Cohorts[0])
		}},
		{title: "FLAVOR", shrinks: true, dropRank: flavorRank, cell: func(q *queues.QueueQuota) string { return absentIfEmpty(Safe(q.Flavor)) }},
		{title: "RESOURCE", shrinks: true, cell: func(q *queues.QueueQuota) string { return absentIfEmpty(Safe(q.Resource)) }},
		{title: "NOMINAL", alwaysShown: true, cell: func(q *queues.QueueQuota) string { return amount(q, q.Nominal) }},
		{title: "BORROWED", dropRank: 3, absent: locals, cell: borrowed},
		{title: map[bool]string{false: "USED", true: "USED-HERE"}[locals], alwaysShown: true, cell: func(q *queues.QueueQuota) string { return amount(q, q.Used) }},
		{title: "FREE", alwaysShown: true, cell: func(q *queues.QueueQuota) string { return amount(q, q.Free) }},
		{title: "PENDING", cell: pending},
		{title: "WORKERS", dropRank: 4, shrinks: o.Wide, unused: !managers, cell: func(q *queues.QueueQuota) string { return workers(q, o.Wide) }},
	}
}

// clusterColumns returns the columns of a summary of clusters.
func clusterColumns(list *queues.QueueList, o TableOptions) []column[*queues.QueueQuota] {
	p := palette{o.Color}
	hasRelease := slices.ContainsFunc(list.Items, func(q queues.QueueQuota) bool { return q.Cluster.Kueue != "" })
	count := func(n *int) string {
		if n == nil {
			return unknown
		}
		return strconv.Itoa(*n)
	}
	return []column[*queues.QueueQuota]{
		{title: "CONTEXT", alwaysShown: true, shrinks: true, cell: func(q *queues.QueueQuota) string {
			if q.Context == "" {
				return Safe(q.Name) + " (no context)"
			}
			return Safe(q.Context)
		}},
		{title: "CLUSTER", shrinks: true, dropRank: 2, cell: func(q *queues.QueueQuota) string {
			if q.Cluster.UnreadNames && len(q.Cluster.Names) == 0 {
				return unknown
			}
			return absentIfEmpty(Safe(strings.Join(q.Cluster.Names, ", ")))
		}},
		{title: "STATE", alwaysShown: true, cell: func(q *queues.QueueQuota) string {
			text := string(q.Cluster.State)
			if q.Cluster.Since != nil {
				text = strings.TrimSuffix(text+" "+o.since(q.Context, q.Cluster.Since.Time), " "+none)
			}
			switch q.Cluster.State {
			case queues.ClusterLost, queues.ClusterUnread:
				return p.bad(text)
			case queues.ClusterNoManager:
				return none
			default:
				return text
			}
		}},
		{title: "KUEUE", dropRank: 1, unused: !hasRelease, cell: func(q *queues.QueueQuota) string {
			if q.Cluster.Kueue == "" {
				return unknown
			}
			return Safe(strings.TrimPrefix(q.Cluster.Kueue, "v"))
		}},
		{title: "RESOURCE", shrinks: true, cell: func(q *queues.QueueQuota) string { return amount(q, resourceOf(q)) }},
		{title: "USED", alwaysShown: true, cell: func(q *queues.QueueQuota) string { return amount(q, q.Used) }},
		{title: "TOTAL", alwaysShown: true, cell: func(q *queues.QueueQuota) string { return amount(q, q.Nominal) }},
		{title: "RUNNING", dropRank: 4, cell: func(q *queues.QueueQuota) string { return count(q.Cluster.Running) }},
		{title: "WAITING", alwaysShown: true, cell: func(q *queues.QueueQuota) string { return count(q.Cluster.Waiting) }},
		{title: "LARGEST-FIT", alwaysShown: true, cell: func(q *queues.QueueQuota) string { return amount(q, q.Cluster.LargestFit) }},
		{title: "LAST-ADMITTED", dropRank: 3, cell: func(q *queues.QueueQuota) string {
			switch {
			case q.Cluster.LastAdmittedAt != nil:
				return o.since(q.Context, q.Cluster.LastAdmittedAt.Time)
			case q.Cluster.Running == nil:
				return amount(q, nil)
			}
			return none
		}},
	}
}

// queueName returns the name of a queue or cohort, indented below its cohorts.
func queueName(q *queues.QueueQuota) string {
	name := Safe(q.Name)
	switch q.Kind {
	case queues.KindCohort:
		name += " (cohort)"
	case queues.KindLocalQueue:
		return name
	default:
	}
	return strings.Repeat(gap, len(q.Cohorts)) + name
}

// resourceOf returns the resource of a row; nil if it has none.
func resourceOf(q *queues.QueueQuota) *string {
	if q.Resource == "" {
		return nil
	}
	return &q.Resource
}

// amount returns a quantity: "?" if it is unknown, "-" for a queue or cluster without quota.
func amount(q *queues.QueueQuota, quantity *string) string {
	isUnread := q.Cluster != nil && q.Cluster.UnreadQuota
	switch {
	case quantity != nil:
		return Safe(*quantity)
	case q.Resource == "" && !isUnread:
		return none
	}
	return unknown
}

// borrowed returns what a ClusterQueue uses beyond its own quota. A cohort never borrows by
// itself.
func borrowed(q *queues.QueueQuota) string {
	if q.Kind != queues.KindClusterQueue || len(q.Cohorts) == 0 {
		return none
	}
	return amount(q, q.Borrowed)
}

// pending returns the requests of pending Workloads. They wait for any flavor, so only one row of a
// resource shows them.
func pending(q *queues.QueueQuota) string {
	if q.HasMore {
		return none
	}
	return amount(q, q.Pending)
}

// workers returns the quota of the active workers behind a manager's queue, with a question mark if
// that of some is unknown.
func workers(q *queues.QueueQuota, wide bool) string {
	w := q.Workers
	switch {
	case w == nil:
		return none
	case len(w.Clusters) == 0 && len(w.Unknown) > 0:
		return unknown
	}
	text := Safe(w.Nominal)
	if len(w.Unknown) > 0 {
		text += "+" + unknown
	}
	if wide {
		used := unknown
		if w.Used != nil {
			used = Safe(*w.Used)
		}
		var parts []string
		if len(w.Clusters) > 0 {
			parts = append(parts, fmt.Sprintf("%s used, on %s", used, Safe(strings.Join(w.Clusters, ", "))))
		}
		if len(w.Inactive) > 0 {
			parts = append(parts, "inactive on "+Safe(strings.Join(w.Inactive, ", ")))
		}
		text += " (" + strings.Join(parts, "; ") + ")"
	}
	return text
}

// PrintQueues writes queues one after the other, in a format that IsPerJob: their names, or columns.
func (f *Format) PrintQueues(w io.Writer, list *queues.QueueList) error {
	if f.name != "name" {
		return printColumns(f, w, pointers(list.Items))
	}
	return printNames(w, pointers(list.Items), func(q *queues.QueueQuota) namedObject {
		kind := schema.GroupKind{Group: kueue.Group, Kind: string(q.Kind)}
		if q.Kind == queues.KindCluster {
			kind = schema.GroupKind{}
		}
		return namedObject{context: q.Context, namespace: q.Namespace, kind: kind, name: q.Name}
	})
}

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
	t := newTable(dimmed(columns, p), pointers(list.Items), o)
	rows, err := t.layout(o.Width)
	if err != nil {
		return err
	}
	if err := writeRows(w, rows, list.Errors, o, func(int) string { return "" }, p.bad); err != nil {
		return err
	}
	lines := t.notShown(o)
	if hasBound && !o.NoHeaders {
		lines = append(append(lines, ""), wrapBelow("note: ", startsNote, o.Width)...)
	}
	return writeLines(w, lines...)
}

func pendingColumns(list *queues.PendingList, o TableOptions) []column[*queues.PendingJob] {
	hasAny := func(is func(*queues.PendingJob) bool) bool {
		return slices.ContainsFunc(list.Items, func(j queues.PendingJob) bool { return is(&j) })
	}
	hasKinds := hasAny(func(j *queues.PendingJob) bool { return j.Kind != "Job" && j.Kind != "" })
	return []column[*queues.PendingJob]{
		{title: "CONTEXT", shrinks: true, absent: !o.Contexts, unused: !hasSeveral(list.Items, func(j *queues.PendingJob) string { return j.Context }), cell: func(j *queues.PendingJob) string { return Safe(j.Context) }},
		{title: "QUEUE", alwaysShown: true, shrinks: true, cell: func(j *queues.PendingJob) string { return absentIfEmpty(Safe(j.ClusterQueue)) }},
		{title: "PLACE", alwaysShown: true, cell: place},
		{title: "NAMESPACE", shrinks: true, absent: !o.Namespaces, cell: func(j *queues.PendingJob) string { return Safe(j.Namespace) }},
		{title: "KIND", shrinks: true, unused: !hasKinds, dropRank: 4, cell: func(j *queues.PendingJob) string { return absentIfEmpty(Safe(j.Kind)) }},
		{title: "JOB", alwaysShown: true, shrinks: true, cell: func(j *queues.PendingJob) string {
			return Safe(cmp.Or(j.Name, "workload/"+j.Workload))
		}},
		{title: "LOCALQUEUE", wide: true, shrinks: true, cell: func(j *queues.PendingJob) string { return absentIfEmpty(Safe(j.LocalQueue)) }},
		{title: "STRATEGY", wide: true, dropRank: 3, cell: func(j *queues.PendingJob) string {
			return map[string]string{"": unknown}[j.Strategy] + Safe(j.Strategy)
		}},
		{title: "PRIORITY", dropRank: 1, cell: func(j *queues.PendingJob) string { return strconv.Itoa(int(j.Priority)) }},
		{title: "AGE", dropRank: 2, cell: func(j *queues.PendingJob) string { return o.since(j.Context, j.CreatedAt.Time) }},
		{title: "STARTS", shrinks: true, alwaysShown: hasAny(func(j *queues.PendingJob) bool { return j.StartsBy != nil }), cell: func(j *queues.PendingJob) string { return startsBy(j, o) }},
		{title: "REQUESTS", wide: true, shrinks: true, cell: requests},
		{title: "REASON", alwaysShown: true, cell: func(j *queues.PendingJob) string { return Safe(string(j.Reason)) }},
		{title: "MESSAGE", wide: true, shrinks: true, minWidth: minProseWidth, cell: func(j *queues.PendingJob) string { return absentIfEmpty(Safe(j.Message)) }},
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

func requests(j *queues.PendingJob) string { return quantities(j.Requests) }

// PrintPending writes waiting Workloads one after the other, in a format that IsPerJob: their
// names, or columns.
func (f *Format) PrintPending(w io.Writer, list *queues.PendingList) error {
	if f.name != "name" {
		return printColumns(f, w, pointers(list.Items))
	}
	return printNames(w, pointers(list.Items), func(j *queues.PendingJob) namedObject {
		return namedObject{context: j.Context, namespace: j.Namespace, kind: schema.GroupKind{Group: kueue.Group, Kind: "Workload"}, name: j.Workload}
	})
}
