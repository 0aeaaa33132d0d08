package dispatch

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// workload is what is done in one way with the status of Jobs, and in another with
// that of all other kinds. The API server judges each status of a Job. Of other kinds
// it only knows the schema: what a status means is a matter of the kind's own
// controller.
type workload interface {
	// stopped is the status, for a merge patch, of an unfinished origin whose mirror
	// was removed.
	stopped(origin *unstructured.Unstructured) (any, error)
	// failed is the status, for a merge patch, of an unfinished origin that is ended
	// from outside; nil where its kind has no way to say so, or says so already.
	failed(origin *unstructured.Unstructured, reason, message string, now time.Time) (any, error)
	// copier copies statuses to one origin, on an API server of that minor version.
	copier(originMinor int) copier
}

// copier makes the statuses that an origin gets of those that its mirror has. It
// remembers what came of it.
type copier interface {
	// copied is what to write of the mirror's status. force does not wait any longer
	// for pods that the mirror counts although it has finished.
	copied(origin, mirror *unstructured.Unstructured, force bool) (copied, error)
	// refused is called when the API server did not take what copied returned, and
	// says whether copied would return something else now.
	refused() bool
	// wrote is called when it did, with what it has stored. It returns a sentence
	// about what is lost, "" if nothing is.
	wrote(mirror, stored *unstructured.Unstructured) string
}

// copied is what to write to an origin.
type copied struct {
	// status is for a merge patch, nil where nothing changes; ends is whether the
	// origin has ended with it.
	status any
	ends   bool
	// more is whether another write is needed after this one, and held whether the
	// mirror has finished, but says so too early (see projection.Result).
	more, held bool
	// diverged tells what the origin cannot be told, one sentence each.
	diverged []string
}

// workloadOf is the one for a kind.
func workloadOf(k delegation.Kind) workload {
	if k.IsJob() {
		return jobWorkload{}
	}
	return anyWorkload{k}
}
