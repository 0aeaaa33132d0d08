package validation

import (
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/projection"
)

// projector copies like dispatch.
type projector struct {
	t       *testing.T
	origin  *object
	options projection.Options
	// last is the result of the last projection, and written that of the last one that was written.
	last, written projection.Result
	// writes counts the accepted writes, looks the states seen, and faithful the states that were
	// copied unchanged.
	writes, looks, faithful, twice int
}

func newProjector(t *testing.T, origin *object) *projector {
	t.Helper()
	return &projector{t: t, origin: origin, options: projection.Options{OriginMinor: origin.server.minor}}
}

// observe projects until nothing changes, and checks that the API server accepts each write.
func (p *projector) observe(mirror *batchv1.Job) {
	p.looks++
	p.compare(mirror)
	for range 5 {
		origin, seen := p.origin.job.Status.DeepCopy(), mirror.Status.DeepCopy()
		r := projection.Project(p.origin.job, mirror, p.options)
		assert.Assert(p.t, apiequality.Semantic.DeepEqual(origin, &p.origin.job.Status), "the origin was changed in place")
		assert.Assert(p.t, apiequality.Semantic.DeepEqual(seen, &mirror.Status), "the mirror was changed in place")
		p.last = r
		if !r.Changed {
			assert.Assert(p.t, !r.More, "more is to come, and nothing changes")
			return
		}
		errs := p.origin.put(p.t, &r.Status)
		if len(errs) == 1 && numberOf(errs[0]) == 32 && p.origin.server.rigid && !p.options.PinTimes {
			p.options.PinTimes = true
			continue
		}
		assert.NilError(p.t, errs.ToAggregate(), "refused: %s\nmirror: %s\norigin: %s\nspec: %s",
			describe(r.Status), describe(mirror.Status), describe(origin), describe(p.origin.job.Spec))
		p.writes++
		p.written = r
		if r.More {
			p.twice++
			continue
		}
		again := projection.Project(p.origin.job, mirror, p.options)
		assert.Assert(p.t, !again.Changed, "changes again: %s\nafter: %s\nmirror: %s",
			describe(again.Status), describe(r.Status), describe(mirror.Status))
	}
	p.t.Fatalf("no end of writes for %s, origin %s", describe(mirror.Status), describe(p.origin.job.Status))
}

// compare checks that a status that the API server accepts is copied unchanged, except for
// uncounted Pods, unless there is a reason to adjust it.
func (p *projector) compare(mirror *batchv1.Job) {
	if p.origin.server != (server{}) || p.options.PinTimes || !p.plain(mirror) {
		return
	}
	verbatim := mirror.Status.DeepCopy()
	verbatim.UncountedTerminatedPods = nil
	scratch := *p.origin
	if errs := scratch.put(p.t, verbatim); len(errs) > 0 {
		return
	}
	r := projection.Project(p.origin.job, mirror, p.options)
	r.Status.UncountedTerminatedPods = nil
	assert.DeepEqual(p.t, &r.Status, roundTrip(p.t, verbatim))
	assert.Equal(p.t, len(r.Diverged), 0, "diverged: %v", r.Diverged)
	p.faithful++
}

// plain reports whether there is no reason to adjust a mirror whose status would be accepted.
func (p *projector) plain(mirror *batchv1.Job) bool {
	s, origin := &mirror.Status, p.origin
	if batchvalidation.IsJobFinished(origin.internal) {
		return false
	}
	seen := map[batchv1.JobConditionType]bool{}
	ended := false
	for _, c := range s.Conditions {
		if seen[c.Type] || c.LastTransitionTime.IsZero() {
			return false
		}
		seen[c.Type] = true
		ended = ended || c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	}
	if u := s.UncountedTerminatedPods; ended && u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
		// Its counters are not final.
		return false
	}
	// Fields that the server does not check because they did not change are adjusted nevertheless:
	// the server must accept them from an origin without a status, too.
	blank := origin.internal.DeepCopy()
	blank.Status = batch.JobStatus{}
	scratch := object{server: origin.server, job: origin.job, internal: blank}
	verbatim := s.DeepCopy()
	verbatim.UncountedTerminatedPods = nil
	return len(scratch.put(p.t, verbatim)) == 0
}
