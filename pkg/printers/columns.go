package printers

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

const (
	none    = "-"
	unknown = "?"
)

// column is a column of a table of Jobs. The table below is the single place
// that knows them.
type column struct {
	title string
	// shown says whether the column is there at all.
	shown func(TableOptions) bool
	// cell makes a Job's text; it must be Safe, and may be styled.
	cell func(*inspect.Job, TableOptions, palette) string
	// shrinks says that its cells may be cut where a terminal is too narrow.
	shrinks bool
	// spare says that it may be left out where a terminal is too narrow even then; nil
	// is never.
	spare func(TableOptions) bool
}

// TableOptions say how a table of Jobs looks.
type TableOptions struct {
	// Contexts shows which context each Job comes from, Namespaces its namespace.
	Contexts, Namespaces bool
	// Kinds says that there may be objects of other kinds than Job, and shows of what
	// kind each is.
	Kinds bool
	// Owners shows the owner in a column; a grouped table has it in its header
	// rows instead.
	Owners bool
	Wide   bool
	// Dispatchers shows who looks after each Job that is dispatched, in a wide table.
	Dispatchers bool

	NoHeaders bool
	Color     bool
	// Width is how wide the terminal is; 0 where the output is none.
	Width int
	// Now is the time that ages are reckoned from.
	Now time.Time
}

func always(TableOptions) bool { return true }
func wide(o TableOptions) bool { return o.Wide }

// kinds says whether other kinds than Job are shown.
func kinds(o TableOptions) bool { return o.Kinds }

var jobColumns = []column{
	{
		title: "CONTEXT", shrinks: true, shown: func(o TableOptions) bool { return o.Contexts },
		cell: func(j *inspect.Job, _ TableOptions, _ palette) string { return Safe(j.Context) },
	},
	{
		title: "NAMESPACE", shrinks: true, shown: func(o TableOptions) bool { return o.Namespaces },
		cell: func(j *inspect.Job, _ TableOptions, _ palette) string { return Safe(j.Namespace) },
	},
	{
		// The wide table has it further behind.
		title: "KIND", shrinks: true, shown: func(o TableOptions) bool { return o.Kinds && !o.Wide },
		cell: func(j *inspect.Job, _ TableOptions, _ palette) string { return Safe(j.Kind) },
	},
	{
		title: "NAME", shrinks: true, shown: always,
		cell: func(j *inspect.Job, _ TableOptions, _ palette) string { return Safe(j.Name) },
	},
	{
		title: "MANAGED-BY", shrinks: true, shown: func(o TableOptions) bool { return o.Owners },
		cell: func(j *inspect.Job, _ TableOptions, _ palette) string { return Safe(string(j.ManagedBy)) },
	},
	{
		title: "STATUS", shown: always,
		cell: func(j *inspect.Job, _ TableOptions, p palette) string { return p.status(j.Status) },
	},
	{
		// Only Jobs have some.
		title: "COMPLETIONS", shown: always, spare: kinds,
		cell: func(j *inspect.Job, _ TableOptions, _ palette) string { return j.Progress() },
	},
	{
		title: "DURATION", shown: always,
		cell: func(j *inspect.Job, o TableOptions, _ palette) string {
			if d, ok := j.Duration(o.Now); ok {
				return duration.HumanDuration(d)
			}
			return none
		},
	},
	{
		title: "MIRROR", shrinks: true, shown: always,
		cell: func(j *inspect.Job, _ TableOptions, _ palette) string { return mirror(j) },
	},
	{
		title: "AGE", shown: always,
		cell: func(j *inspect.Job, o TableOptions, _ palette) string {
			return duration.HumanDuration(o.Now.Sub(j.CreationTimestamp.Time))
		},
	},
	{
		title: "KIND", shown: wide, spare: wide,
		cell: func(j *inspect.Job, _ TableOptions, _ palette) string { return Safe(j.Kind) },
	},
	{
		title: "SINCE", shown: wide, spare: wide,
		cell: func(j *inspect.Job, o TableOptions, _ palette) string {
			if j.Since == nil {
				return none
			}
			return duration.HumanDuration(o.Now.Sub(j.Since.Time))
		},
	},
	{
		title: "FINDINGS", shown: wide,
		cell: func(j *inspect.Job, _ TableOptions, _ palette) string { return findings(j) },
	},
	{
		title: "UID", shown: wide, spare: wide,
		cell: func(j *inspect.Job, _ TableOptions, _ palette) string { return Safe(j.UID) },
	},
	{
		// It is not always there and its cells have blanks, so it is the last one.
		title: "DISPATCHER", shrinks: true, shown: func(o TableOptions) bool { return o.Wide && o.Dispatchers },
		cell: func(j *inspect.Job, o TableOptions, _ palette) string { return dispatcher(j, o.Now) },
	},
}

// nobody is the dispatcher of a Job that should have one.
const nobody = "nobody"

// dispatcher is who holds the Lease of a Job that is dispatched, and for how long
// they have. What has finished needs nobody.
func dispatcher(j *inspect.Job, now time.Time) string {
	d := j.Dispatcher
	switch {
	case !j.IsDispatched():
		return none
	case d == nil:
		return unknown
	case d.Held && d.Since == nil:
		return Safe(d.Holder)
	case d.Held:
		return fmt.Sprintf("%s (%s)", Safe(d.Holder), duration.HumanDuration(now.Sub(d.Since.Time)))
	case j.Status.IsFinished():
		return none
	}
	return nobody
}

// mirror is the context that runs the Job. Mirrors that were not looked for, or
// could not be known, leave it unknown for a delegated Job; any other has none.
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
