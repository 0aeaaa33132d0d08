package dispatch

import (
	"errors"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/projection"
)

// workload are the operations on a status that differ between Jobs and all other kinds. The API
// server validates each status of a Job. Of other kinds, it knows only the schema, and the
// meaning of a status is up to the kind's controller.
type workload interface {
	// stoppedStatus returns the status, as a merge patch, of an unfinished origin whose mirror
	// was deleted.
	stoppedStatus(origin *unstructured.Unstructured) (any, error)
	// failedStatus returns the status, as a merge patch, of an unfinished origin that is ended
	// from outside. It returns nil if the kind cannot express failure, or if the status already
	// does.
	failedStatus(origin *unstructured.Unstructured, reason, message string, now time.Time) (any, error)
	// newCopier returns a copier for one origin, on an API server with a minor version.
	newCopier(originMinor int) copier
}

// copier derives an origin's statuses from those of its mirror. It remembers the results of
// earlier writes.
type copier interface {
	// statusFor returns the status to write. With force, it no longer waits for Pods that a
	// finished mirror still counts.
	statusFor(origin, mirror *unstructured.Unstructured, force bool) (copyResult, error)
	// onRefused is called when the API server has refused the last status. It reports whether
	// statusFor would now return a different one.
	onRefused() bool
	// onStored is called with the stored origin after a successful write. It returns a sentence
	// about lost fields, or "".
	onStored(mirror, stored *unstructured.Unstructured) string
}

// copyResult is a status to write to an origin.
type copyResult struct {
	// status is a merge patch; nil if nothing changes.
	status any
	// ended is the origin with this status if that ends it, otherwise nil.
	ended *unstructured.Unstructured
	// more is whether another write has to follow. held is whether the mirror's final status is
	// held back, because the mirror still counts Pods (see projection.Result).
	more, held bool
	// diverged are the differences that cannot be copied, one sentence each.
	diverged []string
}

// workloadOf returns the workload of a kind.
func workloadOf(k delegation.Kind) workload {
	if k.IsJob() {
		return jobWorkload{}
	}
	return anyWorkload{k}
}

// jobWorkload is the workload of the built-in Job.
type jobWorkload struct{}

func (jobWorkload) stoppedStatus(origin *unstructured.Unstructured) (any, error) {
	job, err := object.TypedJob(origin)
	if err != nil {
		return nil, err
	}
	status := projection.Stop(job)
	return statusMap(&status)
}

func (jobWorkload) failedStatus(origin *unstructured.Unstructured, reason, message string, now time.Time) (any, error) {
	job, err := object.TypedJob(origin)
	if err != nil {
		return nil, err
	}
	status, ok := projection.Fail(job, reason, message, now)
	if !ok {
		return nil, errors.New("its success is already decided (condition SuccessCriteriaMet), and the API server allows no other end; dispatch lets it complete")
	}
	return statusMap(&status)
}

func (jobWorkload) newCopier(originMinor int) copier { return &jobCopier{minor: originMinor} }

// jobCopier projects statuses so that the API server accepts them.
type jobCopier struct {
	minor int
	// pinTimes is set after the API server refused a status. It stays set if the server accepts
	// the status without changed times: that server never accepts changed times.
	pinTimes bool
}

func (c *jobCopier) statusFor(origin, mirror *unstructured.Unstructured, force bool) (copyResult, error) {
	from, err := object.TypedJob(mirror)
	if err != nil {
		return copyResult{}, err
	}
	to, err := object.TypedJob(origin)
	if err != nil {
		return copyResult{}, err
	}
	projected := projection.Project(to, from, projection.Options{OriginMinor: c.minor, PinTimes: c.pinTimes, ForceDrained: force})
	result := copyResult{more: projected.More, held: projected.Held, diverged: projected.Diverged}
	if !projected.Changed {
		return result, nil
	}
	status, err := statusMap(&projected.Status)
	if err != nil {
		return copyResult{}, err
	}
	result.status = status
	result.ended = endedWith(delegation.Job(), origin, status)
	return result, nil
}

// endedWith returns the origin with another status if that ends it, otherwise nil.
func endedWith(k delegation.Kind, origin *unstructured.Unstructured, status any) *unstructured.Unstructured {
	ended := &unstructured.Unstructured{Object: maps.Clone(origin.Object)}
	ended.Object["status"] = status
	if !object.HasFinished(k, ended) {
		return nil
	}
	return ended
}

func (c *jobCopier) onRefused() bool {
	c.pinTimes = !c.pinTimes
	return c.pinTimes
}

// onStored returns "": every API server whose version can delegate a Job knows all fields of its
// status.
func (c *jobCopier) onStored(_, _ *unstructured.Unstructured) string { return "" }

// statusMap returns a status as a merge patch that replaces the old one completely: unset fields
// are null. uncountedTerminatedPods is null, too, because Pods of the mirror mean nothing on the
// origin's cluster. An empty object would keep the stored lists.
func statusMap(s *batchv1.JobStatus) (map[string]any, error) {
	set, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{
		"conditions", "startTime", "completionTime", "active", "succeeded", "failed", "terminating",
		"completedIndexes", "failedIndexes", "ready",
	} {
		if _, ok := set[name]; !ok {
			set[name] = nil
		}
	}
	set["uncountedTerminatedPods"] = nil
	return set, nil
}
