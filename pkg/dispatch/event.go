package dispatch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// EventType is the type of a dispatch event.
type EventType string

const (
	// Refused: preflight found a blocking problem. Nothing was created.
	Refused EventType = "Refused"
	// Warned: something unexpected that does not keep the Job from running.
	Warned EventType = "Warned"
	// PassedOver: the reason for not choosing a worker that precedes the chosen one.
	PassedOver EventType = "PassedOver"
	// OriginCreated: the origin was created from a file.
	OriginCreated EventType = "OriginCreated"
	// LeaseWaiting: another dispatcher holds the Job's Lease. We wait to see whether it still
	// renews it.
	LeaseWaiting EventType = "LeaseWaiting"
	// LeaseTaken: no other dispatcher copies this Job. LeaseLost: another one may do so.
	LeaseTaken EventType = "LeaseTaken"
	LeaseLost  EventType = "LeaseLost"
	// DependencyCopied: an object that the Pods need was copied to the worker.
	DependencyCopied EventType = "DependencyCopied"
	// MirrorCreated: the mirror was created. MirrorFound: an earlier run created it.
	MirrorCreated EventType = "MirrorCreated"
	MirrorFound   EventType = "MirrorFound"
	// SpecPushed: the user's change of the origin was written to the mirror.
	SpecPushed EventType = "SpecPushed"
	// StatusCopied: the mirror's status was written to the origin.
	StatusCopied EventType = "StatusCopied"
	// StatusRefused: the origin's API server refuses the mirror's status.
	StatusRefused EventType = "StatusRefused"
	// Disconnected: a cluster does not answer. Reconnected: it answers again.
	Disconnected EventType = "Disconnected"
	Reconnected  EventType = "Reconnected"
	// MirrorDeleted: another client deleted or replaced the mirror.
	MirrorDeleted EventType = "MirrorDeleted"
	// MirrorRemoved: this plugin deleted the mirror.
	MirrorRemoved EventType = "MirrorRemoved"
	// OriginDeleted: the origin was deleted, or replaced.
	OriginDeleted EventType = "OriginDeleted"
	// Completed and JobFailed: the final status is stored on the origin.
	Completed EventType = "Complete"
	JobFailed EventType = "Failed"
	// Cancelled: the command cancel ended the origin.
	Cancelled EventType = "Cancelled"
	// Detached, Interrupted and TimedOut: copying stopped because of --detach-after-start, a
	// signal, or --timeout.
	Detached    EventType = "Detached"
	Interrupted EventType = "Interrupted"
	TimedOut    EventType = "TimedOut"
	// Aborted: the dispatch of this Job cannot continue. The message says why.
	Aborted EventType = "Aborted"
)

// EventTypes returns all event types.
func EventTypes() []EventType {
	return []EventType{
		Refused, Warned, PassedOver, OriginCreated, LeaseWaiting, LeaseTaken, LeaseLost, DependencyCopied, MirrorCreated, MirrorFound,
		SpecPushed, StatusCopied, StatusRefused, Disconnected, Reconnected, MirrorDeleted, MirrorRemoved, OriginDeleted,
		Completed, JobFailed, Cancelled, Detached, Interrupted, TimedOut, Aborted,
	}
}

// EventKind is the kind of an Event as a document.
const EventKind = "DispatchEvent"

// Event is one event of a dispatch. Scripts may rely on its form: with -o json, dispatch prints
// one event per line.
type Event struct {
	metav1.TypeMeta `json:",inline"`
	// Sequence numbers the events of one run, from 1.
	Sequence int64 `json:"sequence"`
	// Time is the time of the event.
	Time metav1.MicroTime `json:"time"`
	// Event is the type of the event.
	Event EventType `json:"event"`
	// Origin is the origin; null if the event concerns a whole cluster.
	Origin *Ref `json:"origin"`
	// Mirror is the mirror; null before it exists.
	Mirror *Ref `json:"mirror"`
	// Message describes the event for people, with the fix if one is needed.
	Message string `json:"message"`
	// Status and the counters below are the state of the origin as last stored. Status is ""
	// before the origin was read.
	Status delegation.Status `json:"status"`
	// Completions is the number of successful Pods that the Job needs; null if one success is
	// enough. Only Jobs count Pods: for other kinds, Completions is null and the other counters
	// are 0.
	Completions *int32 `json:"completions"`
	// Succeeded is the number of Pods that succeeded.
	Succeeded int32 `json:"succeeded"`
	// Failed is the number of Pods that failed.
	Failed int32 `json:"failed"`
	// Active is the number of Pods that are pending or running.
	Active int32 `json:"active"`
	// Ready is the number of ready Pods; null if the cluster does not count them.
	Ready *int32 `json:"ready"`
	// LagSeconds is the time between noticing a change of the mirror's status and storing it on
	// the origin, in seconds. Only StatusCopied has it; otherwise it is 0.
	LagSeconds float64 `json:"lagSeconds,omitempty"`
}
