package dispatch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// EventType says what a dispatch event tells.
type EventType string

const (
	// Refused: a problem that preflight found; nothing was created.
	Refused EventType = "Refused"
	// Warned: something that does not keep the Job from running, but may surprise.
	Warned EventType = "Warned"
	// PassedOver: why a worker was that comes before the one which the Job is given to.
	PassedOver EventType = "PassedOver"
	// OriginCreated: the origin was created from a file.
	OriginCreated EventType = "OriginCreated"
	// LeaseWaiting: somebody holds the Job's Lease, and it is seen whether they
	// still do.
	LeaseWaiting EventType = "LeaseWaiting"
	// LeaseTaken and LeaseLost: nobody else copies; somebody may.
	LeaseTaken EventType = "LeaseTaken"
	LeaseLost  EventType = "LeaseLost"
	// DependencyCopied: an object that the pods need was copied to the worker.
	DependencyCopied EventType = "DependencyCopied"
	// MirrorCreated: the mirror was created. MirrorFound: it was there already,
	// made by an earlier run.
	MirrorCreated EventType = "MirrorCreated"
	MirrorFound   EventType = "MirrorFound"
	// SpecPushed: what the user changed on the origin was written to the mirror.
	SpecPushed EventType = "SpecPushed"
	// StatusCopied: the mirror's status was written to the origin.
	StatusCopied EventType = "StatusCopied"
	// StatusRefused: the origin's API server does not take the mirror's status.
	StatusRefused EventType = "StatusRefused"
	// Disconnected and Reconnected: a cluster does not answer, and does again.
	Disconnected EventType = "Disconnected"
	Reconnected  EventType = "Reconnected"
	// MirrorDeleted: somebody else deleted the mirror, or replaced it.
	MirrorDeleted EventType = "MirrorDeleted"
	// MirrorRemoved: we deleted it.
	MirrorRemoved EventType = "MirrorRemoved"
	// OriginDeleted: the origin was deleted, or replaced.
	OriginDeleted EventType = "OriginDeleted"
	// Completed and JobFailed: the final status has landed on the origin.
	Completed EventType = "Complete"
	JobFailed EventType = "Failed"
	// Cancelled: the origin was ended by cancel.
	Cancelled EventType = "Cancelled"
	// Detached, Interrupted and TimedOut: nothing is copied any more, by
	// --detach-after-start, a signal, or --timeout.
	Detached    EventType = "Detached"
	Interrupted EventType = "Interrupted"
	TimedOut    EventType = "TimedOut"
	// Aborted: this Job cannot be gone on with; the message says why.
	Aborted EventType = "Aborted"
)

// EventTypes returns all of them.
func EventTypes() []EventType {
	return []EventType{
		Refused, Warned, PassedOver, OriginCreated, LeaseWaiting, LeaseTaken, LeaseLost, DependencyCopied, MirrorCreated, MirrorFound,
		SpecPushed, StatusCopied, StatusRefused, Disconnected, Reconnected, MirrorDeleted, MirrorRemoved, OriginDeleted,
		Completed, JobFailed, Cancelled, Detached, Interrupted, TimedOut, Aborted,
	}
}

// EventKind is the kind of an Event as a document.
const EventKind = "DispatchEvent"

// Event is one thing that happened in a dispatch, in a form that scripts may rely
// on: with -o json, one line each.
type Event struct {
	metav1.TypeMeta `json:",inline"`
	// Sequence counts the events of one run from 1 on.
	Sequence int64 `json:"sequence"`
	// Time is when it happened.
	Time metav1.MicroTime `json:"time"`
	// Event is what happened.
	Event EventType `json:"event"`
	// Origin and Mirror are the Jobs that it is about. Origin is null where a
	// whole cluster is meant, Mirror as long as there is none.
	Origin *Ref `json:"origin"`
	// Mirror is the mirror; null before it exists.
	Mirror *Ref `json:"mirror"`
	// Message says it for people, with what to do where something is to be done.
	Message string `json:"message"`
	// Status and what follows are the origin's state as it was stored last;
	// Status is "" before it was read.
	Status delegation.Status `json:"status"`
	// Completions is null where any one success completes the Job; Ready where the
	// cluster does not count ready pods. Only Jobs count pods: of other kinds, these
	// are null and 0.
	Completions *int32 `json:"completions"`
	// Succeeded is how many Pods of the mirror succeeded.
	Succeeded int32 `json:"succeeded"`
	// Failed is how many Pods of the mirror failed.
	Failed int32 `json:"failed"`
	// Active is how many Pods of the mirror are pending or running.
	Active int32 `json:"active"`
	// Ready is how many Pods of the mirror are ready.
	Ready *int32 `json:"ready"`
	// LagSeconds is the time from when a change of the mirror's status was seen to
	// when it was stored on the origin; 0 for other events than StatusCopied.
	LagSeconds float64 `json:"lagSeconds,omitempty"`
}
