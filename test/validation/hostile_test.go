package validation

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/projection"
)

// nonsense returns a status that no controller ever wrote, although each part of it may occur.
func (d dice) nonsense() batchv1.JobStatus {
	s := batchv1.JobStatus{
		Active: d.some(-1, 5), Succeeded: d.some(-1, 5), Failed: d.some(-1, 5),
		StartTime: d.maybeTime(), CompletionTime: d.maybeTime(),
		CompletedIndexes: d.indexes(),
	}
	if d.oneIn(2) {
		s.Ready = ptr.To(d.some(-1, 5))
	}
	if d.oneIn(3) {
		s.Terminating = ptr.To(d.some(-1, 2))
	}
	if d.oneIn(2) {
		s.FailedIndexes = ptr.To(d.indexes())
	}
	if d.oneIn(3) {
		uids := []types.UID{"a", "b", "a", ""}
		s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{
			Succeeded: uids[:d.IntN(3)], Failed: uids[d.IntN(4):],
		}
	}
	for range d.IntN(5) {
		s.Conditions = append(s.Conditions, batchv1.JobCondition{
			Type: oneOf(d, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuspended, batchv1.JobSuspended,
				batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget, "Other"),
			Status:        oneOf(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown, ""),
			Reason:        oneOf(d, "", "Reason"),
			LastProbeTime: ptr.Deref(d.maybeTime(), metav1.Time{}), LastTransitionTime: ptr.Deref(d.maybeTime(), metav1.Time{}),
		})
	}
	return s
}

func (d dice) maybeTime() *metav1.Time {
	switch d.IntN(8) {
	case 0, 1:
		return nil
	case 2:
		return &metav1.Time{}
	case 3:
		return ptr.To(metav1.NewTime(epoch().Add(time.Duration(d.IntN(9999)) * time.Millisecond)))
	}
	return ptr.To(metav1.NewTime(epoch().Add(time.Duration(d.IntN(5)) * time.Second)))
}

func (d dice) indexes() string {
	return oneOf(d, "", "", "0", "0,1", "0-2", "1-3,5", "0-9", "4,7-8", "2,3", "0,2,4,6,8",
		"3-3", "-1", "2,1", "x", "0-2-4", ",", "0-99999999999", "1, 2", "007", "8-2", "0-2147483647")
}

// TestNonsenseIsAccepted checks mirrors that have arbitrary statuses, one after the other.
func TestNonsenseIsAccepted(t *testing.T) {
	total := projector{}
	for seed := range histories {
		d := newDice(2, seed)
		p := newProjector(t, create(t, d.server(), d.job()))
		d.nonsensical(p, 12)
		total.looks += p.looks
		total.writes += p.writes
		total.faithful += p.faithful
		total.twice += p.twice
	}
	t.Logf("%d states seen, %d of them to be copied as they are, %d writes taken, %d by two, none refused",
		total.looks, total.faithful, total.writes, total.twice)
}

// nonsensical is a history of a mirror with arbitrary statuses.
func (d dice) nonsensical(p *projector, length int) {
	mirror := p.origin.job.DeepCopy()
	for range length {
		if d.oneIn(5) {
			p.origin.update(p.t, toggle)
		}
		if d.oneIn(2) {
			mirror.Status = d.nonsense()
		} else {
			// Small changes get further.
			d.alter(&mirror.Status)
		}
		if d.oneIn(5) {
			mirror.CreationTimestamp = metav1.Time{}
		}
		p.options.ForceDrained = d.oneIn(3)
		p.options.PinTimes = p.options.PinTimes && p.origin.server.rigid || d.oneIn(6)
		p.observe(mirror)
	}
}

// alter replaces one part of a status.
func (d dice) alter(s *batchv1.JobStatus) {
	other := d.nonsense()
	switch d.IntN(7) {
	case 0:
		s.Conditions = other.Conditions
	case 1:
		s.StartTime = other.StartTime
	case 2:
		s.CompletionTime = other.CompletionTime
	case 3:
		s.Active, s.Ready, s.Terminating = other.Active, other.Ready, other.Terminating
	case 4:
		s.Succeeded, s.Failed = other.Succeeded, other.Failed
	case 5:
		s.CompletedIndexes, s.FailedIndexes = other.CompletedIndexes, other.FailedIndexes
	case 6:
		s.UncountedTerminatedPods = other.UncountedTerminatedPods
	}
}

// oldStatus returns a status that an origin may have from before the rules existed. It has nothing
// that every write and every version refuses.
func (d dice) oldStatus() batchv1.JobStatus {
	s := d.nonsense()
	s.Active, s.Succeeded, s.Failed = max(s.Active, 0), max(s.Succeeded, 0), max(s.Failed, 0)
	for _, counter := range []*int32{s.Ready, s.Terminating} {
		if counter != nil {
			*counter = max(*counter, 0)
		}
	}
	if u := s.UncountedTerminatedPods; u != nil {
		u.Succeeded, u.Failed = []types.UID{"x"}, []types.UID{"y"}
	}
	return s
}

// TestAnyPairIsAccepted checks origins that have arbitrary old statuses, some of which are ended as
// cancel does.
func TestAnyPairIsAccepted(t *testing.T) {
	figures := map[string]int{}
	for seed := range histories {
		d := newDice(3, seed)
		p := newProjector(t, create(t, d.server(), d.job()))
		d.anyPair(p, figures)
	}
	t.Logf("%d pairs: %v", histories, figures)
	for _, figure := range []string{"written", "failed", "cannot fail"} {
		assert.Assert(t, figures[figure] > histories/10, "too few origins in state %q: %v", figure, figures)
	}
}

func (d dice) anyPair(p *projector, figures map[string]int) {
	past := d.oldStatus()
	p.origin.store(p.t, &past)
	d.finish(p, figures)
	mirror := p.origin.job.DeepCopy()
	mirror.Status = d.nonsense()
	p.observe(mirror)
	if p.writes > 0 {
		figures["written"]++
	}
	d.finish(p, figures)
}

// finish fails and stops a copy of the origin.
func (d dice) finish(p *projector, figures map[string]int) {
	scratch := *p.origin
	now := epoch().Add(time.Duration(d.IntN(3)) * time.Minute).Add(time.Millisecond)
	if status, ok := projection.Fail(scratch.job, "Canceled", "by its user", now); ok {
		figures["failed"]++
		assert.NilError(p.t, scratch.put(p.t, &status).ToAggregate(), "refused: %s\norigin: %s", describe(status), describe(scratch.job.Status))
		assert.Equal(p.t, ending(scratch.job), "Failed")
		r := projection.Project(scratch.job, p.origin.job, p.options)
		assert.Assert(p.t, !r.Changed && len(r.Diverged) == 1)
		return
	}
	figures["cannot fail"]++
	if ending(scratch.job) == "unfinished" && !stuck(scratch.job) {
		status := projection.Stop(scratch.job)
		assert.NilError(p.t, scratch.put(p.t, &status).ToAggregate(), "refused: %s\norigin: %s", describe(status), describe(scratch.job.Status))
	}
}

// stuck reports whether the API server refuses every write for a status.
func stuck(job *batchv1.Job) bool {
	decided := map[batchv1.JobConditionType]bool{}
	for _, c := range job.Status.Conditions {
		decided[c.Type] = decided[c.Type] || c.Status == corev1.ConditionTrue
	}
	return decided[batchv1.JobSuccessCriteriaMet] && decided[batchv1.JobFailureTarget]
}
