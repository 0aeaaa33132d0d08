// Package projection makes the status that an origin gets of the status that its
// mirror has, so that the API server takes it whatever the two have been through
// (kubernetes: pkg/apis/batch/validation, pkg/registry/batch/job/strategy.go). It
// is pure, and imports nothing but the Job's own types.
//
// The server's rules speak of the status as it will be, or say that a thing never
// goes back. So states of the mirror may be skipped, and every status can be made
// acceptable in one write, but for a changed startTime, which takes two.
package projection

import (
	batchv1 "k8s.io/api/batch/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// Options say what is known beside the two Jobs.
type Options struct {
	// OriginMinor is the minor version of the origin's API server, such as 36; 0
	// where it is unknown, which means a current one.
	OriginMinor int
	// ForceDrained writes the end of a Job although its mirror still counts pods
	// that it should not: a worker too old to have the rule never stops to.
	ForceDrained bool
	// PinTimes leaves startTime and completionTime as the origin has them, if it
	// has: for a server that has refused to change them. It stays set for such a
	// server: without it, the next projection of the same pair tries again.
	PinTimes bool
}

// Result is what to write to the origin.
type Result struct {
	Status batchv1.JobStatus
	// Changed is whether Status differs from what the origin has.
	Changed bool
	// More is whether another projection is needed after this one was stored,
	// because the change takes two writes.
	More bool
	// Held is whether the mirror is finished, but says so too early: the end is
	// held back until its pods are gone.
	Held bool
	// Diverged tells what the mirror says and the origin cannot be told any more,
	// one sentence each.
	Diverged []string
}

// Project makes the status of an origin from that of its mirror. Neither is
// changed. A finished origin stays as it is: nothing is written to it any more.
//
// The origin must be as it is stored, with the spec that is stored: the server
// judges by that. The write replaces the whole status and carries the origin's
// resourceVersion.
func Project(origin, mirror *batchv1.Job, o Options) Result {
	if finished(origin.Status.Conditions) || frozen(origin.Status.Conditions) {
		return Result{Status: *origin.Status.DeepCopy(), Diverged: sealed(origin, mirror)}
	}
	d := newDraft(origin, mirror, o)
	d.decide()
	d.count()
	d.indexes()
	d.start()
	d.conclude()
	d.complete()
	d.result.Status = d.status
	d.result.Changed = !equal(&origin.Status, &d.status)
	return d.result
}

// draft is a projection at work.
type draft struct {
	origin, mirror *batchv1.Job
	options        Options
	// status starts as the mirror's, and becomes the origin's.
	status batchv1.JobStatus
	// outcome is how the Job ends, as far as that is known.
	outcome outcome
	// ended is whether the mirror is finished with that outcome, ending whether
	// the origin is to be finished by this write.
	ended, ending bool
	result        Result
}

func newDraft(origin, mirror *batchv1.Job, o Options) *draft {
	d := &draft{origin: origin, mirror: mirror, options: o, status: *mirror.Status.DeepCopy()}
	d.status.Conditions = d.distinct(d.status.Conditions)
	d.status.StartTime = whole(d.status.StartTime)
	d.status.CompletionTime = whole(d.status.CompletionTime)
	if d.status.UncountedTerminatedPods != nil {
		// They are UIDs of the worker's pods, and mean nothing here.
		d.status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	return d
}

// diverges notes what the origin is not told.
func (d *draft) diverges(sentence string) {
	d.result.Diverged = append(d.result.Diverged, sentence)
}

// equal compares two statuses as their reader would: no uncounted pods are none,
// whether they are written as {} or not at all.
func equal(a, b *batchv1.JobStatus) bool {
	x, y := *a, *b
	x.UncountedTerminatedPods = uncounted(a)
	y.UncountedTerminatedPods = uncounted(b)
	return apiequality.Semantic.DeepEqual(x, y)
}

// uncounted are the pods that a status has still to count, nil if none.
func uncounted(s *batchv1.JobStatus) *batchv1.UncountedTerminatedPods {
	if u := s.UncountedTerminatedPods; u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
		return u
	}
	return nil
}

// minorBelow is whether the origin's API server is known to be older than that.
func (o Options) minorBelow(minor int) bool {
	return o.OriginMinor != 0 && o.OriginMinor < minor
}
