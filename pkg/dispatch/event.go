package dispatch

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
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

// APIVersion is the version of Event as a document.
const APIVersion = "jobmanagedby.github.io/v1alpha1"

// Recorder gives events a number and a time, and passes them on one by one.
type Recorder struct {
	clock clock.PassiveClock
	to    func(*Event)

	mu       sync.Mutex
	sequence int64
}

// NewRecorder returns a recorder that passes events to a function. It never calls that function
// concurrently.
func NewRecorder(c clock.PassiveClock, to func(*Event)) *Recorder {
	return &Recorder{clock: c, to: to}
}

// Record completes an event and passes it on.
func (r *Recorder) Record(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sequence++
	e.TypeMeta = metav1.TypeMeta{APIVersion: APIVersion, Kind: EventKind}
	e.Sequence = r.sequence
	e.Time = metav1.NewMicroTime(r.clock.Now().UTC())
	r.to(&e)
}

// setState copies the state of an origin into an event.
func (e *Event) setState(k delegation.Kind, origin *unstructured.Unstructured) {
	s := object.StateOf(k, origin)
	e.Status = k.StatusOf(delegation.Dispatch, s, true)
	e.Succeeded, e.Failed, e.Active, e.Ready = s.Succeeded, s.Failed, s.Active, s.Ready
	if n, ok := content.At(origin, "spec", "completions").(int64); ok && k.IsJob() {
		e.Completions = new(int32(n))
	}
}

// Ref identifies a Job, or an object of another kind, in one cluster.
type Ref struct {
	// Context is the kubeconfig context of the object's cluster.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// APIVersion is the object's API version.
	APIVersion string `json:"apiVersion"`
	// Kind is the object's kind.
	Kind string `json:"kind"`
	// Namespace is the object's namespace.
	Namespace string `json:"namespace"`
	// Name is the object's name.
	Name string `json:"name"`
	// UID is the object's UID.
	UID string `json:"uid"`
	// NamespaceUID is the UID of the namespace, or "" if it is unknown.
	NamespaceUID string `json:"-"`
}

// refOf returns the reference to an object of a cluster.
func refOf(c *fleet.Cluster, o *unstructured.Unstructured) Ref {
	return refTo(c, o.GroupVersionKind(), o.GetNamespace(), o.GetName(), string(o.GetUID()))
}

// RefOf returns the reference to an object of a context about which nothing else is known.
func RefOf(contextName string, o *unstructured.Unstructured) Ref {
	apiVersion, kind := o.GroupVersionKind().ToAPIVersionAndKind()
	return Ref{Context: contextName, APIVersion: apiVersion, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID())}
}

// refTo returns the reference to an object that may not exist.
func refTo(c *fleet.Cluster, gvk schema.GroupVersionKind, namespace, name, uid string) Ref {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	identity := c.Identity()
	return Ref{
		Context: c.Context, ClusterUID: identity.UID, NamespaceUID: identity.Namespaces[namespace],
		APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, UID: uid,
	}
}

// String returns namespace/name.
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// WithKind returns the kind and the name: "job namespace/name".
func (r Ref) WithKind() string { return delegation.Mentioned(r.Kind, r.Namespace, r.Name) }

// place returns the place of the object with a UID, as annotations record it.
func (r Ref) place(uid string) delegation.Place {
	return delegation.Place{ClusterUID: r.ClusterUID, NamespaceUID: r.NamespaceUID, Namespace: r.Namespace, Name: r.Name, UID: uid}
}
