package inspect

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
)

// JobState is the state of a Job in one word, wherever it runs.
type JobState string

// The states of Jobs.
const (
	// StateRunning means that the Pods run, and some are ready.
	StateRunning JobState = "Running"
	// StateStarting means that a cluster runs the Job, but the status of the Job counts no ready Pod yet. It may lag
	// behind the Pods.
	StateStarting JobState = "Starting"
	// StateFailing means that a cluster runs the Job, but its Pods have failed or lost their nodes, and none runs.
	StateFailing JobState = "Failing"
	// StateWaiting means that the Job may start without a user: nothing that was read excludes it.
	StateWaiting JobState = "Waiting"
	// StateBlocked means that the Job will not run until you or an administrator changes something.
	StateBlocked JobState = "Blocked"
	// StateSuspended means that the user has suspended the Job.
	StateSuspended JobState = "Suspended"
	// StateComplete means that the Job has finished successfully, or its mirror has.
	StateComplete JobState = "Complete"
	// StateFailed means that the Job has failed, or its mirror has.
	StateFailed JobState = "Failed"
	// StateTerminating means that the Job or its mirror is being deleted.
	StateTerminating JobState = "Terminating"
	// StateDuplicate means that several clusters run the Job at once.
	StateDuplicate JobState = "Duplicate"
	// StateOrphan means that the Job is a mirror whose origin is gone.
	StateOrphan JobState = "Orphan"
	// StateTemplate means that the object does not run itself; other objects are created from it.
	StateTemplate JobState = "Template"
	// StateNotSubmitted means that the Job of a manifest was not submitted. Another one of its name may exist.
	StateNotSubmitted JobState = "NotSubmitted"
	// StateUnknown means that the objects read do not show the state.
	StateUnknown JobState = "Unknown"
)

// JobStates returns all states.
func JobStates() []JobState {
	return []JobState{
		StateRunning, StateStarting, StateFailing, StateWaiting, StateBlocked, StateSuspended, StateComplete, StateFailed,
		StateTerminating, StateDuplicate, StateOrphan, StateTemplate, StateNotSubmitted, StateUnknown,
	}
}

// IsFinished reports whether the Job has finished.
func (s JobState) IsFinished() bool { return s == StateComplete || s == StateFailed }

// Phrase returns the state in a few words, with the cluster that runs or ran the Job. A Job with a mirror that
// does not run is on no cluster.
func (t *Trace) Phrase() string {
	where := t.places()
	on := ""
	if len(where) > 0 {
		on = " on " + And(where)
	}
	switch t.State {
	case StateBlocked:
		return "not running"
	case StateWaiting, StateSuspended:
		return strings.ToLower(string(t.State))
	case StateDuplicate:
		return "running on " + Count(len(where), "cluster") + " at once"
	case StateOrphan:
		return "orphan" + on
	case StateTemplate:
		return "a template"
	case StateNotSubmitted:
		return "not submitted"
	case StateUnknown:
		return "state unknown"
	case StateTerminating:
		if t.Origin != nil && t.Origin.DeletedAt == nil {
			return "mirror being deleted" + on
		}
		return "being deleted"
	case StateRunning, StateStarting, StateFailing, StateComplete, StateFailed:
		return strings.ToLower(string(t.State)) + on
	}
	return strings.ToLower(string(t.State))
}

// places returns the contexts of the mirrors that the state is about. Of several mirrors, a suspended
// one without Pods and a finished one do not run.
func (t *Trace) places() (contexts []string) {
	isRunning := t.State == StateRunning || t.State == StateStarting || t.State == StateFailing || t.State == StateDuplicate
	for i := range t.Mirrors {
		m := &t.Mirrors[i]
		isIdle := isRunning && len(t.Mirrors) > 1 && (m.Suspended && m.Active == 0 || m.Status.IsFinished())
		if (m.Current || t.Origin == nil) && !isIdle {
			contexts = append(contexts, m.Context)
		}
	}
	return contexts
}

// JobReason is why a Job is in its state, in one word.
type JobReason string

// The reasons of Jobs.
const (
	// ReasonNone means that the status or state says it all.
	ReasonNone JobReason = ""
	// ReasonBuiltIn means that the built-in controller runs the Job on its own cluster.
	ReasonBuiltIn JobReason = "BuiltIn"
	// ReasonFinding means that a finding explains the state: the first relevant one of the trace's
	// findings.
	ReasonFinding JobReason = "Finding"
	// ReasonOverLimit means that the Job requests more than any cluster can ever give.
	ReasonOverLimit JobReason = "OverLimit"
	// ReasonNoFlavor means that no flavor or topology of any cluster suits the Pods.
	ReasonNoFlavor JobReason = "NoFlavor"
	// ReasonQuotaInUse means that other Jobs hold the quota.
	ReasonQuotaInUse JobReason = "QuotaInUse"
	// ReasonBehindInQueue means that another Job is first in a StrictFIFO queue.
	ReasonBehindInQueue JobReason = "BehindInQueue"
	// ReasonNotOffered means that the Job fits on a cluster to which its manager has not offered
	// it.
	ReasonNotOffered JobReason = "NotOffered"
	// ReasonNotAdmitted means that the Job fits on a cluster that has not admitted it yet.
	ReasonNotAdmitted JobReason = "NotAdmitted"
	// ReasonSetup means that a queue, namespace, connection or check keeps the Job from every
	// cluster.
	ReasonSetup JobReason = "Setup"
	// ReasonNoQueueLabel means that the Job has no queue label, so Kueue ignores it.
	ReasonNoQueueLabel JobReason = "NoQueueLabel"
	// ReasonNoWorkload means that Kueue has created no Workload for the Job.
	ReasonNoWorkload JobReason = "NoWorkload"
	// ReasonHeld means that the Workload is deactivated, finished or on hold.
	ReasonHeld JobReason = "Held"
	// ReasonAdmissionCheck means that an AdmissionCheck is pending or has rejected the Workload.
	ReasonAdmissionCheck JobReason = "AdmissionCheck"
	// ReasonUnclaimed means that no controller has picked the Job up.
	ReasonUnclaimed JobReason = "Unclaimed"
	// ReasonUnknownOwner means that the managedBy value looks like a typo.
	ReasonUnknownOwner JobReason = "UnknownOwner"
	// ReasonUndispatched means that the Job waits for the command dispatch.
	ReasonUndispatched JobReason = "Undispatched"
	// ReasonNoMirror means that no mirror was found.
	ReasonNoMirror JobReason = "NoMirror"
	// ReasonUnread means that the answer depends on something that could not be read.
	ReasonUnread JobReason = "Unread"
	// ReasonMirrorUnreachable means that the cluster that runs the Job does not answer.
	ReasonMirrorUnreachable JobReason = "MirrorUnreachable"
	// ReasonStatusNotCopied means that the origin does not show the state of the mirror.
	ReasonStatusNotCopied JobReason = "StatusNotCopied"
	// ReasonUnschedulable means that the scheduler finds no node for the Pods.
	ReasonUnschedulable JobReason = "Unschedulable"
	// ReasonPods means that the Pods cannot be created, or do not start.
	ReasonPods JobReason = "Pods"
	// ReasonSuspended means that a field of its spec, such as spec.suspend, suspends it.
	ReasonSuspended JobReason = "Suspended"
	// ReasonOriginMissing means that no cluster that was read has the origin.
	ReasonOriginMissing JobReason = "OriginMissing"
)

// JobReasons returns all reasons.
func JobReasons() []JobReason {
	return []JobReason{
		ReasonNone, ReasonBuiltIn, ReasonFinding, ReasonOverLimit, ReasonNoFlavor, ReasonQuotaInUse, ReasonBehindInQueue,
		ReasonNotOffered, ReasonNotAdmitted, ReasonSetup, ReasonNoQueueLabel, ReasonNoWorkload, ReasonHeld,
		ReasonAdmissionCheck, ReasonUnclaimed, ReasonUnknownOwner, ReasonUndispatched, ReasonNoMirror, ReasonUnread, ReasonMirrorUnreachable,
		ReasonStatusNotCopied, ReasonUnschedulable, ReasonPods, ReasonSuspended, ReasonOriginMissing,
	}
}

// Decision is how a Job will end, before its last Pods have ended (kubernetes: pkg/controller/job, conditions
// SuccessCriteriaMet and FailureTarget).
type Decision struct {
	Fails bool
	// Why has the reason and the message of the condition.
	Why string
}

// IsUsual reports whether all completions decided it (kubernetes: batch/v1, JobReasonCompletionsReached).
func (d *Decision) IsUsual() bool {
	return !d.Fails && strings.HasPrefix(d.Why, batchv1.JobReasonCompletionsReached)
}

// String describes the decision as a clause without a subject.
func (d *Decision) String() string {
	if d.Fails {
		return "fails by " + d.Why
	}
	return "completes by " + d.Why
}
