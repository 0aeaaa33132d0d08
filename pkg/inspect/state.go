package inspect

import "strings"

// JobState says in one word what a Job does, wherever it runs.
type JobState string

// The states of Jobs.
const (
	// StateRunning: its Pods run.
	StateRunning JobState = "Running"
	// StateStarting: a cluster runs it, and its Pods do not run yet.
	StateStarting JobState = "Starting"
	// StateWaiting: it runs once something passes that passes without the user.
	StateWaiting JobState = "Waiting"
	// StateBlocked: it does not run until somebody changes something.
	StateBlocked JobState = "Blocked"
	// StateSuspended: its user has suspended it.
	StateSuspended JobState = "Suspended"
	// StateComplete and StateFailed: it has finished.
	StateComplete JobState = "Complete"
	StateFailed   JobState = "Failed"
	// StateTerminating: it is being deleted.
	StateTerminating JobState = "Terminating"
	// StateDuplicate: several clusters run it at once.
	StateDuplicate JobState = "Duplicate"
	// StateOrphan: it is a mirror, and its origin is gone.
	StateOrphan JobState = "Orphan"
	// StateTemplate: it does not run itself; objects are made from it.
	StateTemplate JobState = "Template"
	// StateNotSubmitted: it is in no cluster.
	StateNotSubmitted JobState = "NotSubmitted"
	// StateUnknown: what was read does not tell.
	StateUnknown JobState = "Unknown"
)

// JobStates returns all states.
func JobStates() []JobState {
	return []JobState{
		StateRunning, StateStarting, StateWaiting, StateBlocked, StateSuspended, StateComplete, StateFailed,
		StateTerminating, StateDuplicate, StateOrphan, StateTemplate, StateNotSubmitted, StateUnknown,
	}
}

// IsFinished says whether the Job has finished.
func (s JobState) IsFinished() bool { return s == StateComplete || s == StateFailed }

// Phrase returns the state in a few words, with the cluster that runs the Job.
func (t *Trace) Phrase() string {
	var where []string
	for i := range t.Mirrors {
		if m := &t.Mirrors[i]; m.Current || t.Origin == nil {
			where = append(where, m.Context)
		}
	}
	on := ""
	if len(where) > 0 {
		on = " on " + strings.Join(where, " and ")
	}
	switch t.State {
	case StateBlocked:
		if on != "" {
			return "not running" + on
		}
		return "not running"
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
		return "being deleted"
	case StateRunning, StateStarting, StateComplete, StateFailed, StateWaiting, StateSuspended:
		return strings.ToLower(string(t.State)) + on
	}
	return strings.ToLower(string(t.State))
}

// JobReason says in one word why a Job is in its state.
type JobReason string

// The reasons of Jobs.
const (
	// ReasonNone: the state says it all.
	ReasonNone JobReason = ""
	// ReasonBuiltIn: the built-in controller runs it on its own cluster.
	ReasonBuiltIn JobReason = "BuiltIn"
	// ReasonFinding: a finding explains it; the first of the trace's findings that counts.
	ReasonFinding JobReason = "Finding"
	// ReasonOverLimit: it requests more than any cluster can ever give.
	ReasonOverLimit JobReason = "OverLimit"
	// ReasonNoFlavor: no flavor of any cluster suits its Pods.
	ReasonNoFlavor JobReason = "NoFlavor"
	// ReasonQuotaInUse: other Jobs hold the quota.
	ReasonQuotaInUse JobReason = "QuotaInUse"
	// ReasonBehindInQueue: another Job is first in a StrictFIFO queue.
	ReasonBehindInQueue JobReason = "BehindInQueue"
	// ReasonNotOffered: it fits on a cluster to which its manager has not offered it.
	ReasonNotOffered JobReason = "NotOffered"
	// ReasonNotAdmitted: it fits on a cluster that has not admitted it yet.
	ReasonNotAdmitted JobReason = "NotAdmitted"
	// ReasonSetup: a queue, namespace, connection or check keeps it from every cluster.
	ReasonSetup JobReason = "Setup"
	// ReasonNoQueueLabel: it names no queue, so Kueue ignores it.
	ReasonNoQueueLabel JobReason = "NoQueueLabel"
	// ReasonNoWorkload: Kueue has made no Workload for it.
	ReasonNoWorkload JobReason = "NoWorkload"
	// ReasonHeld: its Workload is deactivated, finished or on hold.
	ReasonHeld JobReason = "Held"
	// ReasonAdmissionCheck: an AdmissionCheck is pending or has rejected it.
	ReasonAdmissionCheck JobReason = "AdmissionCheck"
	// ReasonUnclaimed: no controller has picked it up.
	ReasonUnclaimed JobReason = "Unclaimed"
	// ReasonUnknownOwner: its managedBy looks like a typo.
	ReasonUnknownOwner JobReason = "UnknownOwner"
	// ReasonUndispatched: it waits for the dispatch command.
	ReasonUndispatched JobReason = "Undispatched"
	// ReasonNoMirror: no mirror was found.
	ReasonNoMirror JobReason = "NoMirror"
	// ReasonUnread: the answer depends on something that could not be read.
	ReasonUnread JobReason = "Unread"
	// ReasonMirrorUnreachable: the cluster that runs it does not answer.
	ReasonMirrorUnreachable JobReason = "MirrorUnreachable"
	// ReasonStatusNotCopied: its origin does not show the state of the mirror.
	ReasonStatusNotCopied JobReason = "StatusNotCopied"
	// ReasonUnschedulable: the scheduler finds no node for its Pods.
	ReasonUnschedulable JobReason = "Unschedulable"
	// ReasonPods: its Pods cannot be created, or do not start.
	ReasonPods JobReason = "Pods"
	// ReasonSuspended: spec.suspend is true.
	ReasonSuspended JobReason = "Suspended"
	// ReasonOriginMissing: no cluster that was read has its origin.
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
