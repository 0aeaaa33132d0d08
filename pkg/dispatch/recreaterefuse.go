package dispatch

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// refuseReplacement says why a Job cannot be made anew, nil if it can.
func refuseReplacement(old *unstructured.Unstructured, o ReplaceOptions) error {
	status, err := statusOfStored(old)
	if err != nil {
		return err
	}
	reasons := []func(*unstructured.Unstructured, *batchv1.JobStatus, ReplaceOptions) (reason, remedy string){beingDeleted, isMirrorItself, hasOwner, hasNoQueue}
	if !o.Force {
		reasons = append(reasons, isDispatched, isControlled, isRunning)
	}
	for _, reason := range reasons {
		if why, remedy := reason(old, status, o); why != "" {
			return &RefusedError{Origin: nameOf(old), Reason: why, Remedy: remedy}
		}
	}
	return nil
}

func statusOfStored(job *unstructured.Unstructured) (*batchv1.JobStatus, error) {
	typed, err := typedJob(job)
	if err != nil {
		return nil, err
	}
	return &typed.Status, nil
}

func beingDeleted(old *unstructured.Unstructured, _ *batchv1.JobStatus, _ ReplaceOptions) (reason, remedy string) {
	since := stringAt(old, "metadata", "deletionTimestamp")
	if since == "" {
		return "", ""
	}
	if finalizers := old.GetFinalizers(); len(finalizers) > 0 {
		return "is being deleted since " + since + ", and its finalizers hold it: " + strings.Join(finalizers, ", "), "create it again once it is gone"
	}
	return "is being deleted since " + since, "create it again once it is gone"
}

// isMirrorItself refuses what somebody has made as a copy of another Job, and would
// make again.
func isMirrorItself(old *unstructured.Unstructured, _ *batchv1.JobStatus, _ ReplaceOptions) (reason, remedy string) {
	labels := stringsAt(old, "metadata", "labels")
	if uid := labels[delegation.OriginUIDLabel]; uid != "" {
		return "is the mirror of a dispatched Job (uid " + uid + ")",
			"recreate that one, or take the label " + delegation.OriginUIDLabel + " off if this is a copy"
	}
	if name := labels[delegation.MultiKueueOriginLabel]; name != "" {
		return "is a mirror that MultiKueue made (origin " + name + "), and would make again",
			"recreate its origin, or take the label " + delegation.MultiKueueOriginLabel + " off if this is a copy"
	}
	return "", ""
}

// hasOwner refuses what would change nothing. A Job that has ended is made anew to
// run once more.
func hasOwner(old *unstructured.Unstructured, status *batchv1.JobStatus, o ReplaceOptions) (reason, remedy string) {
	owner := ownerOf(old)
	if owner != o.owner() || finished(status) != nil {
		return "", ""
	}
	if owner.IsBuiltIn() {
		return "is managed by the built-in controller already", "there is nothing to do"
	}
	return "is managed by " + string(owner) + " already", "there is nothing to do"
}

func ownerOf(job *unstructured.Unstructured) delegation.Owner {
	return delegation.Job().OwnerOf(stringAt(job, delegation.Job().ManagedBy...))
}

// hasNoQueue refuses what Kueue would never look at.
func hasNoQueue(old *unstructured.Unstructured, _ *batchv1.JobStatus, o ReplaceOptions) (reason, remedy string) {
	if o.owner() != delegation.MultiKueue || o.Queue != nil || stringsAt(old, "metadata", "labels")[delegation.QueueNameLabel] != "" {
		return "", ""
	}
	return "is in no queue (label " + delegation.QueueNameLabel + "), so MultiKueue would never see it", "name a LocalQueue of its namespace with --queue"
}

func isDispatched(old *unstructured.Unstructured, status *batchv1.JobStatus, _ ReplaceOptions) (reason, remedy string) {
	mirror := stringsAt(old, "metadata", "annotations")[delegation.MirrorAnnotation]
	if mirror == "" || finished(status) != nil {
		return "", ""
	}
	return "is dispatched, and its mirror runs as " + mirror,
		fmt.Sprintf("end that first: kubectl jobs-managedby cancel -n %s %s; --force leaves the mirror where it is, and the Job may run twice",
			old.GetNamespace(), old.GetName())
}

// isControlled refuses what belongs to an object that would make another.
func isControlled(old *unstructured.Unstructured, _ *batchv1.JobStatus, _ ReplaceOptions) (reason, remedy string) {
	controller := metav1.GetControllerOfNoCopy(old)
	if controller == nil {
		return "", ""
	}
	return fmt.Sprintf("belongs to %s %s, which may make another as soon as it is gone", controller.Kind, controller.Name),
		fmt.Sprintf("set the owner there, in the template of its Jobs; --force replaces this Job alone, and leaves it to %s %s", controller.Kind, controller.Name)
}

func isRunning(old *unstructured.Unstructured, status *batchv1.JobStatus, _ ReplaceOptions) (reason, remedy string) {
	how := howRunning(old, status)
	if how == "" {
		return "", ""
	}
	return how, "wait for its end, or suspend it; --force deletes it with its pods, and what they have done is lost"
}

// howRunning says how a Job can be seen to run, "" if it does not.
func howRunning(job *unstructured.Unstructured, status *batchv1.JobStatus) string {
	switch {
	case finished(status) != nil:
		return ""
	case status.Active == 1:
		return "is running: 1 pod is active"
	case status.Active > 1:
		return fmt.Sprintf("is running: %d pods are active", status.Active)
	case status.Terminating != nil && *status.Terminating > 0:
		return "is running: its pods are still being stopped"
	case status.StartTime != nil && !isTrueAt(job, "spec", "suspend"):
		return "is running since " + status.StartTime.UTC().Format("2006-01-02T15:04:05Z")
	}
	return ""
}
