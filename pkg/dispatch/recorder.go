package dispatch

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

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
