package inspect

import (
	"time"
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
