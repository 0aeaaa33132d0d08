package dispatch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Drift is what has to be written to a mirror so that it is what its plan says.
type Drift struct {
	// Patch is a JSON merge patch without uid and resourceVersion; nil if there
	// is nothing to write.
	Patch map[string]any
	// Fields are the paths that it changes with their new values, such as
	// "spec.parallelism=4", sorted.
	Fields []string
	// Deferred are fields that differ, but cannot be changed as the mirror is now
	// (job-api D4: parts of the pod template while pods run), and Immutable those
	// that can never be.
	Deferred, Immutable []string
}

// DriftOf compares a mirror with the one that was planned. planned is what NewPlan
// made of the origin as it is now; before is what it made of it when the mirror was
// last written to by this process, nil if it was not: labels and annotations that
// before has and planned has not are taken off the mirror, all others that only
// the mirror has are somebody else's and stay.
func DriftOf(planned, before, mirror *unstructured.Unstructured) Drift {
	return Drift{}
}
