package inspect

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Event is what is kept of an event.
type Event struct {
	// ID is its own name. Those of one object and reporter are given out in their order.
	ID string
	// Kind, Namespace, Name and UID are those of the object it is about.
	Kind, Namespace, Name, UID string
	// Warning is whether it is of that type, and not Normal.
	Warning         bool
	Reason, Message string
	// Time is when it happened, the last time if it happened Count times.
	Time  time.Time
	Count int32
}

func readEvent(o *corev1.Event) *Event {
	e := &Event{
		ID: o.Name, Kind: o.InvolvedObject.Kind, Namespace: o.InvolvedObject.Namespace, Name: o.InvolvedObject.Name,
		UID: string(o.InvolvedObject.UID), Warning: o.Type == corev1.EventTypeWarning,
		Reason: o.Reason, Message: o.Message, Time: o.LastTimestamp.Time, Count: max(1, o.Count),
	}
	// events.k8s.io leaves the older fields empty.
	if e.Time.IsZero() {
		e.Time = o.EventTime.Time
	}
	if o.Series != nil {
		e.Time, e.Count = o.Series.LastObservedTime.Time, o.Series.Count
	}
	if e.Time.IsZero() {
		e.Time = o.CreationTimestamp.Time
	}
	return e
}
