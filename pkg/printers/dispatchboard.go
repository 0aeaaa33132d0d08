package printers

import (
	"cmp"
	"fmt"

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

// recentLags is the number of lags that the median is taken of.
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
