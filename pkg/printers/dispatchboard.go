package printers

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// liveBoard is the state of all dispatched Jobs, as events tell it.
type liveBoard struct {
	// expected is how many Jobs there are going to be.
	expected int
	// jobs are those that were told of.
	jobs map[liveKey]*liveJob
	// lags are the last few, in seconds.
	lags []float64
	// lost is how many clusters do not answer.
	lost int
}

// liveKey tells them apart: objects of several kinds may have one name.
type liveKey struct{ apiVersion, kind, namespace, name string }

// liveJob is one of them.
type liveJob struct {
	// name, kind and worker are Safe; worker is "" while there is no mirror.
	name, kind, worker string
	// status is "" before it is known, and end the words for how the dispatch ended.
	status delegation.Status
	end    string

	completions               *int32
	succeeded, failed, active int32
	ready                     *int32

	// shown is the state that was told last, and told the message.
	shown liveState
	told  string
}

func newLiveBoard(expected int) liveBoard {
	return liveBoard{expected: expected, jobs: map[liveKey]*liveJob{}}
}

// recentLags is of how many lags the median is told.
const recentLags = 15

// take takes an event in, and returns its Job; nil where a whole cluster is meant.
func (b *liveBoard) take(e *dispatch.Event) *liveJob {
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
		j.end = wordingOf(e.Event).words
	}
	return j
}

// isEnd says whether nothing is done for a Job any more.
func isEnd(t dispatch.EventType) bool {
	switch t {
	case dispatch.Refused, dispatch.Completed, dispatch.JobFailed, dispatch.Cancelled, dispatch.OriginDeleted,
		dispatch.Detached, dispatch.Interrupted, dispatch.TimedOut, dispatch.Aborted:
		return true
	default:
		return false
	}
}

func (b *liveBoard) several() bool { return b.expected > 1 || len(b.jobs) > 1 }

// state is what a Job is counted under.
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

// jobKind is the kind that counts its pods; no other one does.
const jobKind = "Job"

func (j *liveJob) counts() bool { return j.kind == jobKind }

// kindAndName is an object's name, with its kind where that is none that goes without
// saying.
func kindAndName(kind, name string) string {
	if kind == "" || kind == jobKind {
		return name
	}
	return strings.ToLower(kind) + " " + name
}

// pods are how many are in which state, "" where that is not known.
func (j *liveJob) pods(unfinished bool) string {
	if !j.counts() {
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

// countReady tells of pods that are ready, or else, where the server does not count
// them, of those that there are.
func countReady(ready *int32, active int32) string {
	switch {
	case ready != nil:
		return fmt.Sprintf("%d ready", *ready)
	case active > 0:
		return fmt.Sprintf("%d active", active)
	}
	return "0 ready"
}

// news says whether a Job's state has something in it that a person cares for and
// was not told. The number of pods that are ready goes up and down all the time;
// where there is a footer, it is told there.
func (j *liveJob) news(footer bool) bool {
	if j.status.IsFinished() {
		// It is told at the end of the dispatch, which comes next.
		return false
	}
	last := j.shown
	j.shown = liveState{status: j.status, succeeded: j.succeeded, failed: j.failed, ready: j.pods(true)}
	if footer {
		last.ready = j.shown.ready
	}
	return j.shown != last
}

// liveState is the part of a Job's state that lines tell of.
type liveState struct {
	status            delegation.Status
	succeeded, failed int32
	// ready is the whole text, because what it counts depends on the server.
	ready string
}
