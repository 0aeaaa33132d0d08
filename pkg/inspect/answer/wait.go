package answer

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// reasonOfWait returns the reason of a Job whose Workload waits on a cluster.
func reasonOfWait(w *kueue.Wait) inspect.JobReason {
	switch w.Reason {
	case kueue.ReasonQuotaInUse, kueue.ReasonPreempting, kueue.ReasonPreempted, kueue.ReasonPreemptionGated:
		return inspect.ReasonQuotaInUse
	case kueue.ReasonOverLimit:
		return inspect.ReasonOverLimit
	case kueue.ReasonCheckPending, kueue.ReasonCheckRetry, kueue.ReasonCheckRejected:
		return inspect.ReasonAdmissionCheck
	case kueue.ReasonAdmitted, kueue.ReasonNotEvaluated, kueue.ReasonTopologyPending, kueue.ReasonBackoff, kueue.ReasonEvicted:
		return inspect.ReasonNotAdmitted
	case kueue.ReasonNoTopologyDomain:
		return inspect.ReasonNoFlavor
	default:
	}
	switch {
	case w.IsForFlavor():
		return inspect.ReasonNoFlavor
	case w.IsForQueue():
		return inspect.ReasonSetup
	}
	return inspect.ReasonHeld
}

// stateOfWait returns the state of a Job whose Workload waits on its management cluster.
func stateOfWait(w *kueue.Wait) inspect.JobState {
	if w.IsPermanent() {
		return inspect.StateBlocked
	}
	return inspect.StateWaiting
}

// reached returns fixes with commands that reach their clusters.
func (q *Question) reached(fixes []command.Fix) []command.Fix {
	for i := range fixes {
		if line := fixes[i].Shell(); line != "" {
			fixes[i].Command = command.Words(command.Reached(line, q.Reach))
		}
	}
	return fixes
}
