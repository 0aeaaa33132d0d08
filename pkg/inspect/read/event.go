package read

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// eventObject decodes an event into the model.
type eventObject struct{ event inspect.Event }

// UnmarshalJSON decodes the whole event and keeps the needed fields.
func (e *eventObject) UnmarshalJSON(text []byte) error {
	var o corev1.Event
	if err := apijson.Unmarshal(text, &o); err != nil {
		return err
	}
	e.event = *readEvent(&o)
	return nil
}

func readEvent(o *corev1.Event) *inspect.Event {
	e := &inspect.Event{
		ID: o.Name, Kind: o.InvolvedObject.Kind, Namespace: o.InvolvedObject.Namespace, Name: o.InvolvedObject.Name,
		UID: string(o.InvolvedObject.UID), Warning: o.Type == corev1.EventTypeWarning,
		Reason: o.Reason, Message: o.Message, Time: o.LastTimestamp.Time, Count: max(1, o.Count),
	}
	// Events of events.k8s.io leave the older fields empty.
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
