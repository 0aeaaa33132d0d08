package printers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// liveBoard is the state of all dispatched Jobs, as known from events.
type liveBoard struct {
	// expected is the number of Jobs that will be dispatched.
	expected int
	// jobs are the Jobs that had an event.
	jobs map[liveKey]*liveJob
	// lags are the most recent lags, in seconds.
	lags []float64
	// lost is the number of clusters that do not answer.
	lost int
}

// liveKey identifies a Job: objects of several kinds may have the same name.
type liveKey struct{ apiVersion, kind, namespace, name string }

// liveJob is the state of one Job.
type liveJob struct {
	// name, kind and worker are Safe; worker is "" while there is no mirror.
	name, kind, worker string
	// status is "" while it is unknown; end is how the dispatch ended, "" while it runs.
	status delegation.Status
	end    string

	completions               *int32
	succeeded, failed, active int32
	ready                     *int32

	// shown is the state in the last line, and lastMessage its message.
	shown       liveState
	lastMessage string
}

func newLiveBoard(expected int) liveBoard {
	return liveBoard{expected: expected, jobs: map[liveKey]*liveJob{}}
}

// recentLags is how many lags the median is of.
const recentLags = 15

// apply applies an event and returns its Job; nil if the event is about a whole cluster.
func (b *liveBoard) apply(e *dispatch.Event) *liveJob {
	switch {
	case e.Event == dispatch.Disconnected:
		b.lost++
	case e.Event == dispatch.Reconnected:
		b.lost = max(0, b.lost-1)
	case e.LagSeconds > 0:
		b.lags = append(b.lags[max(0, len(b.lags)-recentLags+1):], e.LagSeconds)
	}
	if e.Origin == nil {
		return nil
	}
	key := liveKey{e.Origin.APIVersion, e.Origin.Kind, e.Origin.Namespace, e.Origin.Name}
	j, ok := b.jobs[key]
	if !ok {
		j = &liveJob{name: Safe(kindAndName(e.Origin.Kind, e.Origin.String())), kind: cmp.Or(Safe(e.Origin.Kind), jobKind)}
		b.jobs[key] = j
	}
	if e.Mirror != nil {
		j.worker = Safe(e.Mirror.Context)
	}
	if e.Status != "" {
		j.status, j.completions, j.succeeded, j.failed = e.Status, e.Completions, e.Succeeded, e.Failed
		j.active, j.ready = e.Active, e.Ready
	}
	if isEnd(e.Event) {
		j.end = eventWording(e.Event).words
	}
	return j
}

// isEnd reports whether an event ends the dispatch of a Job.
func isEnd(t dispatch.EventType) bool {
	switch t {
	case dispatch.Refused, dispatch.Completed, dispatch.JobFailed, dispatch.Cancelled, dispatch.OriginDeleted,
		dispatch.Detached, dispatch.Interrupted, dispatch.TimedOut, dispatch.Aborted:
		return true
	default:
		return false
	}
}

func (b *liveBoard) hasSeveralJobs() bool { return b.expected > 1 || len(b.jobs) > 1 }

// state returns the state that a Job is counted under.
func (j *liveJob) state() string {
	switch {
	case j.end != "":
		return j.end
	case j.status != "":
		return Safe(string(j.status))
	}
	return starting
}

const starting = "starting"

// jobKind is the only kind that counts its pods.
const jobKind = "Job"

func (j *liveJob) countsPods() bool { return j.kind == jobKind }

// kindAndName returns an object's name, preceded by its kind unless that is Job.
func kindAndName(kind, name string) string {
	if kind == "" || kind == jobKind {
		return name
	}
	return delegation.Mentioned(kind, "", name)
}

// pods returns the number of pods in each state, "" if that is unknown.
func (j *liveJob) pods(unfinished bool) string {
	if !j.countsPods() {
		return ""
	}
	text := fmt.Sprintf("%d succeeded, %d failed", j.succeeded, j.failed)
	if unfinished {
		text = countReady(j.ready, j.active) + ", " + text
	}
	switch {
	case j.completions != nil:
		return fmt.Sprintf("%s of %d", text, *j.completions)
	case unfinished:
		return text + "; one success is enough"
	}
	return text
}

// countReady returns the number of ready pods or, if the server does not count them, of active
// ones.
func countReady(ready *int32, active int32) string {
	switch {
	case ready != nil:
		return fmt.Sprintf("%d ready", *ready)
	case active > 0:
		return fmt.Sprintf("%d active", active)
	}
	return "0 ready"
}

// hasChanged reports whether a Job's state has a change that a line should show. The number of ready
// Pods changes all the time, so only a footer shows it, if there is one.
func (j *liveJob) hasChanged(footer bool) bool {
	if j.status.IsFinished() {
		// The end of the dispatch comes next and shows it.
		return false
	}
	last := j.shown
	j.shown = liveState{status: j.status, succeeded: j.succeeded, failed: j.failed, ready: j.pods(true)}
	if footer {
		last.ready = j.shown.ready
	}
	return j.shown != last
}

// liveState is the part of a Job's state that lines show.
type liveState struct {
	status            delegation.Status
	succeeded, failed int32
	// ready is the whole text, because its content depends on the server.
	ready string
}

// part is a piece of the footer that is never broken, and the separator before it.
type part struct{ before, text string }

// gutter separates unrelated parts.
const gutter = "   "

// maxFooterRows is the maximum number of rows of a footer, however narrow the terminal is.
const maxFooterRows = 5

// footer returns the rows of the footer. Each is narrower than the terminal, because some
// terminals break a line as soon as it is full.
func (b *liveBoard) footer(p palette, elapsed time.Duration, width int) []string {
	subject, numbers := b.singleJobParts(p)
	if b.hasSeveralJobs() {
		subject, numbers = b.allJobsParts(p)
	}
	switch {
	case b.lost == 1:
		subject = append(subject, part{gutter, p.colored(lipgloss.Yellow, "a cluster does not answer")})
	case b.lost > 1:
		subject = append(subject, part{gutter, p.colored(lipgloss.Yellow, fmt.Sprintf("%d clusters do not answer", b.lost))})
	}
	numbers = append(numbers, part{gutter, duration.HumanDuration(elapsed)})
	if len(b.lags) > 0 {
		numbers = append(numbers, part{gutter, "lag " + lagText(median(b.lags))})
	}
	rows := append(wrapParts(subject, width-1), wrapParts(numbers, width-1)...)
	return rows[:min(len(rows), maxFooterRows)]
}

// singleJobParts returns the parts for a single Job.
func (b *liveBoard) singleJobParts(p palette) (subject, pods []part) {
	for _, j := range b.jobs {
		name := j.name
		if j.worker != "" {
			name += " on " + j.worker
		}
		state := p.status(j.status)
		if j.state() != string(j.status) {
			state = j.state()
		}
		if j.status != "" {
			pods = []part{{"", j.pods(!j.status.IsFinished())}}
		}
		return []part{{"", name}, {gutter, state}}, pods
	}
	return []part{{"", starting}}, nil
}

// allJobsParts returns the parts for several Jobs.
func (b *liveBoard) allJobsParts(p palette) (subject, pods []part) {
	counts, kinds := map[string]int{starting: b.expected - len(b.jobs)}, map[string]bool{}
	var sum liveJob
	workers := map[string]bool{}
	for _, j := range b.jobs {
		counts[j.state()]++
		kinds[j.kind] = true
		sum.succeeded += j.succeeded
		sum.failed += j.failed
		switch {
		case j.end != "":
			// The number of ready pods is no longer known.
		case j.ready != nil:
			sum.active += *j.ready
		default:
			sum.active += j.active
		}
		if j.worker != "" {
			workers[j.worker] = true
		}
	}
	worker := ""
	switch names := slices.Collect(maps.Keys(workers)); len(names) {
	case 0:
	case 1:
		worker = " on " + names[0]
	default:
		worker = fmt.Sprintf(" on %d clusters", len(names))
	}
	total := max(b.expected, len(b.jobs))
	between := ": "
	subject = []part{{"", fmt.Sprintf("%d %s%s", total, nounOfKinds(kinds), worker)}}
	for _, state := range stateOrder(counts) {
		text := fmt.Sprintf("%d %s", counts[state], state)
		if c, ok := statusColors[delegation.Status(state)]; ok {
			text = p.colored(c, text)
		}
		subject = append(subject, part{between, text})
		between = ", "
	}
	if len(kinds) > 0 && !kinds[jobKind] {
		return subject, nil
	}
	return subject, []part{{"", fmt.Sprintf("%s, %d succeeded, %d failed", countReady(&sum.active, 0), sum.succeeded, sum.failed)}}
}

// nounOfKinds returns the plural for objects of some kinds.
func nounOfKinds(kinds map[string]bool) string {
	switch len(kinds) {
	case 0:
		return "jobs"
	case 1:
		for kind := range kinds {
			return strings.ToLower(delegation.Plural(kind))
		}
	}
	return "objects"
}

// stateOrder orders states: running ones first, then ends, then all others by name.
func stateOrder(counts map[string]int) []string {
	order := []string{
		string(delegation.Running), string(delegation.Pending), string(delegation.Suspended), string(delegation.Unclaimed),
		string(delegation.Terminating), starting, string(delegation.Complete), string(delegation.Failed),
	}
	known := len(order)
	for state := range counts {
		if !slices.Contains(order, state) {
			order = append(order, state)
		}
	}
	slices.Sort(order[known:])
	return slices.DeleteFunc(order, func(state string) bool { return counts[state] <= 0 })
}

// wrapParts puts parts into as few rows as possible, and cuts a part that is too long for a row.
func wrapParts(parts []part, width int) []string {
	var rows []string
	row := ""
	for i, p := range parts {
		space := width
		if i < len(parts)-1 {
			// Leave space for a comma after it.
			space--
		}
		switch {
		case row == "":
			row = p.text
		case lipgloss.Width(row+p.before+p.text) <= space:
			row += p.before + p.text
		default:
			rows = append(rows, row+strings.TrimRight(p.before, " "))
			row = p.text
		}
	}
	if row != "" {
		rows = append(rows, row)
	}
	for i := range rows {
		rows[i] = cut(rows[i], max(1, width))
	}
	return rows
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// lagText formats a lag with as many digits as are useful.
func lagText(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return duration.HumanDuration(d)
}
