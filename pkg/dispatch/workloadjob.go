package dispatch

import (
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/projection"
)

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
	result.ends = object.EndOf(delegation.Job(), &unstructured.Unstructured{Object: map[string]any{"status": status}}) != nil
	return result, nil
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
