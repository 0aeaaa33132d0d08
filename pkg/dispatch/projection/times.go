package projection

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// start sets startTime. The server forbids changes of it unless the Job is suspended, or the same
// write resumes it (rule 32; kubernetes PR 134769).
func (d *draft) start() {
	stored, reported := inSeconds(d.origin.Status.StartTime), d.status.StartTime
	switch {
	case stored == nil || stored.Equal(reported):
	case !d.options.PinTimes && (ptr.Deref(d.origin.Spec.Suspend, false) || d.resuming()):
	case reported == nil:
		// The mirror is suspended, and the origin is not: since 1.36 the Job controller clears
		// startTime at once.
		d.status.StartTime = stored
	default:
		d.restart(stored, reported)
	}
	if d.ending && d.status.StartTime == nil && d.needsStart() {
		d.status.StartTime = stored
		if stored == nil {
			d.status.StartTime = ptr.To(d.earliestTime())
		}
	}
}

// resuming reports whether this write changes Suspended from True to False, and the server allows
// a new startTime with it.
func (d *draft) resuming() bool {
	return !d.options.minorBelow(32) && isTrue(d.origin.Status.Conditions, batchv1.JobSuspended) &&
		hasStatus(d.status.Conditions, batchv1.JobSuspended, corev1.ConditionFalse)
}

// restart handles a mirror that was suspended and resumed without being seen. The origin has to
// follow in two writes: this one suspends it, and the next one resumes it with the new time. The
// end waits for the second write, because nothing can change after it.
func (d *draft) restart(stored, reported *metav1.Time) {
	d.status.StartTime = stored
	suspended := find(d.status.Conditions, batchv1.JobSuspended)
	switch {
	case suspended != nil && suspended.Status != corev1.ConditionFalse && !d.ending:
		// The origin starts again together with the mirror, when that is resumed.
	case suspended == nil, suspended.Status != corev1.ConditionFalse, d.options.PinTimes, d.options.minorBelow(32):
		d.diverges(fmt.Sprintf("the mirror started at %s, but the origin already at %s, which cannot change",
			rfc3339(reported), rfc3339(stored)))
	default:
		suspended.Status, suspended.Reason, suspended.Message = corev1.ConditionTrue, "JobSuspended", "Job suspended"
		d.status.Conditions = put(d.status.Conditions, *suspended, "")
		d.result.More, d.ending = true, false
	}
}

// needsStart reports whether the server requires a startTime for the finished origin (12). A Job
// without completions that ends while it is suspended has none, which servers before 1.34 do not
// all accept (kubernetes PR 132614).
func (d *draft) needsStart() bool {
	spec := &d.origin.Spec
	return d.options.minorBelow(34) || !ptr.Deref(spec.Suspend, false) || !ptr.Equal(spec.Completions, ptr.To[int32](0))
}

// complete sets completionTime. Only Complete has one (6, 7), it cannot change once it is set
// (31), and it must not precede startTime (8).
func (d *draft) complete() {
	s := &d.status
	reported := s.CompletionTime
	s.CompletionTime = nil
	if !d.ending || d.outcome != success {
		return
	}
	stored := inSeconds(d.origin.Status.CompletionTime)
	switch {
	case stored != nil:
		s.CompletionTime = stored
	case reported != nil:
		s.CompletionTime = reported
	default:
		s.CompletionTime = &find(s.Conditions, batchv1.JobComplete).LastTransitionTime
	}
	if s.StartTime != nil && s.CompletionTime.Before(s.StartTime) {
		if stored == nil {
			s.CompletionTime = s.StartTime.DeepCopy()
		} else if s.StartTime = inSeconds(d.origin.Status.StartTime); s.StartTime == nil {
			// The server does not validate two times that are both stored, but startTime is not
			// stored.
			s.StartTime = stored.DeepCopy()
		}
	}
	if reported != nil && !reported.Equal(s.CompletionTime) {
		d.diverges(differentEnd(reported, s.CompletionTime))
	}
}

// differentEnd describes an origin that ended at another time than its mirror.
func differentEnd(mirror, origin *metav1.Time) string {
	return fmt.Sprintf("the mirror was complete at %s, and the origin at %s", rfc3339(mirror), rfc3339(origin))
}

func rfc3339(t *metav1.Time) string { return t.UTC().Format(time.RFC3339) }

// transitionTime returns a time for a condition without one: that of the origin's same condition,
// or else the latest known time of the mirror, which is not in the worker's future.
func (d *draft) transitionTime(c *batchv1.JobCondition) metav1.Time {
	if stored := find(d.origin.Status.Conditions, c.Type); stored != nil && stored.Status == c.Status {
		if t := inSeconds(&stored.LastTransitionTime); t != nil {
			return *t
		}
	}
	known := d.knownTimes()
	latest := known[0]
	for _, t := range known {
		if latest.Before(&t) {
			latest = t
		}
	}
	return latest
}

// earliestTime returns the earliest known time of a mirror without startTime.
func (d *draft) earliestTime() metav1.Time {
	var earliest metav1.Time
	for _, t := range d.knownTimes() {
		if earliest.IsZero() || t.Before(&earliest) {
			earliest = t
		}
	}
	return earliest
}

// knownTimes returns the times in the two Jobs, at least one.
func (d *draft) knownTimes() []metav1.Time {
	known := d.mirrorTimes()
	if len(known) == 0 {
		for _, t := range []metav1.Time{d.mirror.CreationTimestamp, d.origin.CreationTimestamp} {
			if t := inSeconds(&t); t != nil {
				known = append(known, *t)
			}
		}
	}
	if len(known) == 0 {
		// The Job was never created, but the server requires a time.
		known = append(known, metav1.Unix(0, 0))
	}
	return known
}

// mirrorTimes returns the times in the mirror's status.
func (d *draft) mirrorTimes() []metav1.Time {
	var times []metav1.Time
	add := func(t *metav1.Time) {
		if t := inSeconds(t); t != nil {
			times = append(times, *t)
		}
	}
	s := d.mirror.Status
	add(s.StartTime)
	add(s.CompletionTime)
	for _, c := range s.Conditions {
		add(&c.LastTransitionTime)
		add(&c.LastProbeTime)
	}
	return times
}

// inSeconds truncates a time to seconds, the precision of all times in a Job. The server compares
// times with == before it stores them, so a fraction would count as a change (rule 32). A zero
// time becomes nil, as in the server.
func inSeconds(t *metav1.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	cut := metav1.NewTime(t.Truncate(time.Second))
	if cut.IsZero() {
		return nil
	}
	return &cut
}
