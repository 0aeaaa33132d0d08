package projection

import (
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	batchv1 "k8s.io/api/batch/v1"
)

const (
	complete  = batchv1.JobComplete
	failed    = batchv1.JobFailed
	succeeds  = batchv1.JobSuccessCriteriaMet
	fails     = batchv1.JobFailureTarget
	suspended = batchv1.JobSuspended
)

// situation is a case in which the status of a mirror cannot be copied unchanged. test/validation
// also checks each of them against Kubernetes' own validation.
type situation struct {
	name    string
	origin  batchv1.JobStatus
	mirror  batchv1.JobStatus
	spec    func(*batchv1.JobSpec)
	options Options
	want    batchv1.JobStatus
	more    bool
	held    bool
	// diverged is part of the reported difference, or "".
	diverged string
}

func (s *situation) run(t *testing.T) {
	origin, mirror := job(s.origin), job(s.mirror)
	if s.spec != nil {
		s.spec(&origin.Spec)
	}
	r := Project(origin, mirror, s.options)
	assert.DeepEqual(t, r.Status, s.want)
	assert.Equal(t, r.Changed, !equal(&s.origin, &s.want), "changed")
	assert.Equal(t, r.More, s.more, "more")
	assert.Equal(t, r.Held, s.held, "held")
	if s.diverged == "" {
		assert.Equal(t, len(r.Diverged), 0, "diverged: %v", r.Diverged)
	} else {
		assert.Assert(t, cmp.Len(r.Diverged, 1))
		assert.Assert(t, cmp.Contains(r.Diverged[0], s.diverged))
	}
	if r.More {
		return
	}
	origin.Status = r.Status
	assert.Assert(t, !Project(origin, mirror, s.options).Changed, "changes again")
}

func TestProject(t *testing.T) {
	for _, group := range [][]situation{ends(), starts(), numbers(), lists()} {
		for _, s := range group {
			t.Run(s.name, s.run)
		}
	}
}
