package validation

import (
	"math/rand/v2"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// histories is the number of histories of each type.
const histories = 3000

func newDice(sort, seed int) dice {
	return dice{rand.New(rand.NewPCG(uint64(sort), uint64(seed)))}
}

// server returns the server of an origin: usually a current one.
func (d dice) server() server {
	return oneOf(d, server{}, server{}, server{}, server{minor: 36}, server{minor: 33, rigid: true},
		server{minor: 32}, server{minor: 31}, server{minor: 30})
}

// TestHistoriesAreAccepted is the property: the history of a mirror is written to the origin, and its
// API server accepts it. In the end both have the same status, or the difference was reported.
func TestHistoriesAreAccepted(t *testing.T) {
	var total projector
	ends := map[string]int{}
	for seed := range histories {
		d := newDice(1, seed)
		h := newHistory(t, d)
		p := newProjector(t, h.origin)
		h.observers = append(h.observers, p)
		h.run()
		p.conclude(h)
		ends[ending(p.origin.job)]++
		total.looks += p.looks
		total.writes += p.writes
		total.faithful += p.faithful
		total.twice += p.twice
		if t.Failed() {
			t.Fatalf("history %d", seed)
		}
	}
	t.Logf("%d histories, %d states seen, %d of them to be copied as they are, %d writes taken, %d by two, none refused; ends: %v",
		histories, total.looks, total.faithful, total.writes, total.twice, ends)
	// The histories are useful only if much happens in them.
	for _, end := range []string{"Complete", "Failed", "unfinished"} {
		assert.Assert(t, ends[end] > histories/20, "too few are %s: %v", end, ends)
	}
	assert.Assert(t, total.twice > 20)
	assert.Assert(t, total.faithful > total.looks/4)
}

func suspended(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobSuspended {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func ending(job *batchv1.Job) string {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return string(c.Type)
		}
	}
	return "unfinished"
}

// conclude checks that origin and mirror are equal at the end of a history.
func (p *projector) conclude(h *history) {
	mirror := h.controller.mirror.job
	if p.last.Held {
		p.options.ForceDrained = true
		p.observe(mirror)
		assert.Assert(p.t, !p.last.Held)
	}
	if !h.hasDiverged && !h.scaled && p.origin.server == (server{}) {
		assert.DeepEqual(p.t, p.last.Diverged, []string(nil))
	}
	if len(p.last.Diverged)+len(p.written.Diverged) > 0 {
		return
	}
	got, want := p.origin.job.Status.DeepCopy(), roundTrip(p.t, &mirror.Status)
	if endedBefore(p.origin.job, want.StartTime) {
		// The end of an origin is final: no dispatch copies another run to it.
		return
	}
	assert.Equal(p.t, ending(p.origin.job), ending(mirror))
	if ending(mirror) != "unfinished" {
		// If the end came too early, some Pods are not reported.
		want.Active, want.Ready, want.Terminating = 0, zeroed(want.Ready), zeroed(want.Terminating)
	}
	if got.FailedIndexes == nil && ptr.Deref(want.FailedIndexes, "") == "" {
		want.FailedIndexes = nil
	}
	if want.StartTime == nil || ending(mirror) == "unfinished" && suspended(mirror) {
		// A suspended mirror gets a new start time when it is resumed.
		got.StartTime, want.StartTime = nil, nil
	}
	got.UncountedTerminatedPods, want.UncountedTerminatedPods = nil, nil
	if p.origin.server != (server{}) || !h.controller.worker.decides() || h.hasDiverged {
		// One of the two lacks some conditions and times of the other.
		got.Conditions, want.Conditions, got.StartTime, want.StartTime = nil, nil, nil, nil
	}
	assert.DeepEqual(p.t, got, want)
}

// endedBefore reports whether a Job ended before a time.
func endedBefore(job *batchv1.Job, at *metav1.Time) bool {
	for _, c := range job.Status.Conditions {
		isEnd := c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed
		if isEnd && c.Status == corev1.ConditionTrue && at != nil && c.LastTransitionTime.Before(at) {
			return true
		}
	}
	return false
}

func zeroed(counter *int32) *int32 {
	if counter == nil {
		return nil
	}
	return ptr.To[int32](0)
}

// TestHistoryIsRepeatable checks that a seed determines everything, so that a failure can be
// reproduced.
func TestHistoryIsRepeatable(t *testing.T) {
	var logs [2]strings.Builder
	for i := range logs {
		d := newDice(1, 7)
		h := newHistory(t, d)
		h.observers = append(h.observers, logObserver{&logs[i]})
		h.run()
	}
	assert.Assert(t, logs[0].Len() > 0)
	assert.Equal(t, logs[0].String(), logs[1].String())
}

type logObserver struct{ *strings.Builder }

func (w logObserver) observe(mirror *batchv1.Job) { w.WriteString(describe(mirror.Status)) }
