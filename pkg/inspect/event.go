package inspect

import (
	"time"
)

// Event holds the needed fields of a Kubernetes event.
type Event struct {
	// ID is the name of the event. Names from one reporter about one object sort in the order of
	// events.
	ID string
	// Kind, Namespace, Name and UID identify the object that the event is about.
	Kind, Namespace, Name, UID string
	// Warning is whether the type is Warning and not Normal.
	Warning         bool
	Reason, Message string
	// Time is when it happened, the last time if it happened Count times.
	Time  time.Time
	Count int32
}
