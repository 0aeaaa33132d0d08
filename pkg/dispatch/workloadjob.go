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

func (jobWorkload) stopped(origin *unstructured.Unstructured) (any, error) {
	job, err := object.TypedJob(origin)
	if err != nil {
		return nil, err
	}
	status := projection.Stop(job)
	return statusMap(&status)
}

func (jobWorkload) failed(origin *unstructured.Unstructured, reason, message string, now time.Time) (any, error) {
	job, err := object.TypedJob(origin)
	if err != nil {
		return nil, err
	}
	status, ok := projection.Fail(job, reason, message, now)
	if !ok {
		return nil, errors.New("its success is decided already (condition SuccessCriteriaMet), and the API server lets it end in no other way; dispatch lets it complete")
	}
	return statusMap(&status)
}

func (jobWorkload) copier(originMinor int) copier { return &jobCopier{minor: originMinor} }

// jobCopier projects statuses so that the API server takes them.
type jobCopier struct {
	minor int
	// pinTimes is set after the server refused a status, for good if it takes one
	// without other times then: it is one that never will.
	pinTimes bool
}

func (c *jobCopier) copied(origin, mirror *unstructured.Unstructured, force bool) (copied, error) {
	from, err := object.TypedJob(mirror)
	if err != nil {
		return copied{}, err
	}
	to, err := object.TypedJob(origin)
	if err != nil {
		return copied{}, err
	}
	result := projection.Project(to, from, projection.Options{OriginMinor: c.minor, PinTimes: c.pinTimes, ForceDrained: force})
	made := copied{more: result.More, held: result.Held, diverged: result.Diverged}
	if !result.Changed {
		return made, nil
	}
	status, err := statusMap(&result.Status)
	if err != nil {
		return copied{}, err
	}
	made.status = status
	made.ends = object.EndOf(delegation.Job(), &unstructured.Unstructured{Object: map[string]any{"status": status}}) != nil
	return made, nil
}

func (c *jobCopier) refused() bool {
	c.pinTimes = !c.pinTimes
	return c.pinTimes
}

// wrote never tells of anything: what a Job's status has in it, all API servers of
// the versions that can delegate it know.
func (c *jobCopier) wrote(_, _ *unstructured.Unstructured) string { return "" }

// statusMap is a status as a merge patch that leaves nothing of the old one: what
// is not set is null. So are pods that are not counted yet: those of a mirror mean
// nothing on the origin's cluster, and an object without its lists would leave
// those that are stored.
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
