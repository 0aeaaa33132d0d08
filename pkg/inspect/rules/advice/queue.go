package advice

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// ReplaceQueue returns the remedy for a Job whose LocalQueue does not exist: another one, or the LocalQueue
// itself. meant is the existing queue that its name may be a typo of, "" if unknown.
func ReplaceQueue(v *view.View, s view.Submission) (meant string, remedy command.Prose) {
	other := existingQueue(v, s)
	if delegation.NearestName(s.Job().Queue(), []string{other}) != "" {
		meant = other
	}
	if other == QueuePlaceholder {
		return meant, createQueue(v, s)
	}
	return meant, UseQueue(v, s, other)
}

// createQueue returns how to create the LocalQueue of a Job on its cluster.
func createQueue(v *view.View, s view.Submission) command.Prose {
	w := &kueue.Workload{}
	w.Namespace, w.Spec.QueueName = s.Job().Namespace, s.Job().Queue()
	wait := kueue.Wait{Reason: kueue.ReasonLocalQueueMissing}
	return command.Alternatives(wait.Fixes(FixTargetOf(v, s.Manager, w, &wait, "")))
}

// UseQueue returns how to give a Job another LocalQueue. Kueue's webhook lets the label change only while the Job
// is suspended (kueue: pkg/controller/jobframework/validation.go, validateUpdateForQueueName).
func UseQueue(v *view.View, s view.Submission, other string) command.Prose {
	j := s.Job()
	isDispatched, _ := v.IsDispatched(s.Manager, j.Namespace, other)
	name, mayMove := view.Of(j).String(), j.ManagedBy == delegation.MultiKueue || !isDispatched && j.ManagedBy.IsBuiltIn()
	owner := delegation.MultiKueue
	if mayMove {
		owner = j.ManagedBy
	}
	switch {
	case mayMove && j.Suspended:
		move := command.Say("move %s to LocalQueue %s: %s", name, other, KubectlJob(j, "label").With("--overwrite", delegation.QueueNameLabel+"="+other))
		return alsoQueue(move, j, other)
	case CanRecreate(j, owner):
		// Kueue gives a Job to MultiKueue only when the Job is created.
		return command.Say("recreate %s in LocalQueue %s: %s", name, other, Recreate(v, j, owner).With("--queue", other))
	case owner != delegation.MultiKueue:
		return CreateAgainWith(j, fmt.Sprintf("with the label %s=%s (the label can change only while the %s is suspended)", delegation.QueueNameLabel, other, j.Kind))
	}
	return CreateAgainWith(j, fmt.Sprintf("with the label %s=%s (Kueue delegates a %s to MultiKueue only when it is created)", delegation.QueueNameLabel, other, j.Kind))
}
