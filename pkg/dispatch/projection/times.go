package projection

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// start sets startTime, the one field that the server lets nobody change on a Job
// that is not suspended, except in the write that resumes it (rule 32; kubernetes
// PR 134769).
func (d *draft) start() {
	stored, said := whole(d.origin.Status.StartTime), d.status.StartTime
	switch {
	case stored == nil || stored.Equal(said):
	case !d.options.PinTimes && (ptr.Deref(d.origin.Spec.Suspend, false) || d.resuming()):
	case said == nil:
		// The mirror is suspended, and the origin is not: since 1.36 the Job
		// controller clears startTime at once.
		d.status.StartTime = stored
	default:
		d.restart(stored, said)
	}
	if d.ending && d.status.StartTime == nil && d.needsStart() {
		d.status.StartTime = stored
		if stored == nil {
			d.status.StartTime = ptr.To(d.earliest())
		}
	}
}

// resuming is whether this write flips Suspended from True to False, and the
// server lets a startTime change by that.
func (d *draft) resuming() bool {
	return !d.options.minorBelow(32) && isTrue(d.origin.Status.Conditions, batchv1.JobSuspended) &&
		hasStatus(d.status.Conditions, batchv1.JobSuspended, corev1.ConditionFalse)
}

// restart is for a mirror that was suspended and resumed unseen. The origin is
// made to go through that, in two writes: this one says it is suspended, and the
// next resumes it with the new time. The end waits for the second, since nothing
// changes after it.
func (d *draft) restart(stored, said *metav1.Time) {
	d.status.StartTime = stored
	suspended := find(d.status.Conditions, batchv1.JobSuspended)
	switch {
	case suspended != nil && suspended.Status != corev1.ConditionFalse && !d.ending:
		// When the mirror is resumed it starts anew, and so does the origin.
	case suspended == nil, suspended.Status != corev1.ConditionFalse, d.options.PinTimes, d.options.minorBelow(32):
		d.diverges(fmt.Sprintf("the mirror started at %s, but the origin at %s already, which is not taken back",
			rfc3339(said), rfc3339(stored)))
	default:
		suspended.Status, suspended.Reason, suspended.Message = corev1.ConditionTrue, "JobSuspended", "Job suspended"
		d.status.Conditions = put(d.status.Conditions, *suspended, "")
		d.result.More, d.ending = true, false
	}
}

// needsStart is whether the server wants a startTime of the finished origin (12).
// A Job of no completions that ends suspended never had one, which servers before
// 1.34 are not all aware of (kubernetes PR 132614).
func (d *draft) needsStart() bool {
	spec := &d.origin.Spec
	return d.options.minorBelow(34) || !ptr.Deref(spec.Suspend, false) || !ptr.Equal(spec.Completions, ptr.To[int32](0))
}

// complete sets completionTime: with Complete alone (6, 7), not changed once set
// (31), and not before startTime (8).
func (d *draft) complete() {
	s := &d.status
	said := s.CompletionTime
	s.CompletionTime = nil
	if !d.ending || d.outcome != success {
		return
	}
	stored := whole(d.origin.Status.CompletionTime)
	switch {
	case stored != nil:
		s.CompletionTime = stored
	case said != nil:
		s.CompletionTime = said
	default:
		s.CompletionTime = &find(s.Conditions, batchv1.JobComplete).LastTransitionTime
	}
	if s.StartTime != nil && s.CompletionTime.Before(s.StartTime) {
		if stored == nil {
			s.CompletionTime = s.StartTime.DeepCopy()
		} else if s.StartTime = whole(d.origin.Status.StartTime); s.StartTime == nil {
			// Both as they are stored would not be judged, but one is not stored.
			s.StartTime = stored.DeepCopy()
		}
	}
	if said != nil && !said.Equal(s.CompletionTime) {
		d.diverges(otherEnd(said, s.CompletionTime))
	}
}

// otherEnd tells that an origin ends at another time than its mirror.
func otherEnd(mirror, origin *metav1.Time) string {
	return fmt.Sprintf("the mirror was complete at %s, and the origin at %s", rfc3339(mirror), rfc3339(origin))
}

func rfc3339(t *metav1.Time) string { return t.UTC().Format(time.RFC3339) }

// transition is the time of a condition that has none: the origin's of the same
// condition, or else the latest that is known of the mirror, which is not after now
// as the worker has it.
func (d *draft) transition(c *batchv1.JobCondition) metav1.Time {
	if stored := find(d.origin.Status.Conditions, c.Type); stored != nil && stored.Status == c.Status {
		if t := whole(&stored.LastTransitionTime); t != nil {
			return *t
		}
	}
	known := d.known()
	latest := known[0]
	for _, t := range known {
		if latest.Before(&t) {
			latest = t
		}
	}
	return latest
}

// earliest is when a mirror that does not tell its startTime was under way.
func (d *draft) earliest() metav1.Time {
	var earliest metav1.Time
	for _, t := range d.known() {
		if earliest.IsZero() || t.Before(&earliest) {
			earliest = t
		}
	}
	return earliest
}

// known are the times that the two Jobs tell, at least one.
func (d *draft) known() []metav1.Time {
	known := d.said()
	if len(known) == 0 {
		for _, t := range []metav1.Time{d.mirror.CreationTimestamp, d.origin.CreationTimestamp} {
			if t := whole(&t); t != nil {
				known = append(known, *t)
			}
		}
	}
	if len(known) == 0 {
		// A Job that was never created. The server wants a time of it all the same.
		known = append(known, metav1.Unix(0, 0))
	}
	return known
}

// said are the times in the mirror's status.
func (d *draft) said() []metav1.Time {
	var said []metav1.Time
	add := func(t *metav1.Time) {
		if t := whole(t); t != nil {
			said = append(said, *t)
		}
	}
	s := d.mirror.Status
	add(s.StartTime)
	add(s.CompletionTime)
	for _, c := range s.Conditions {
		add(&c.LastTransitionTime)
		add(&c.LastProbeTime)
	}
	return said
}

// whole is a time in whole seconds, the grain of all times in a Job: the server
// compares them with == before it stores them, where a fraction makes one look
// changed (rule 32). It is nil for a time that is zero, as the server stores it.
func whole(t *metav1.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	cut := metav1.NewTime(t.Truncate(time.Second))
	if cut.IsZero() {
		return nil
	}
	return &cut
}
