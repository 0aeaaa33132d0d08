package orphans

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// describeDying returns the sighting of a stray whose origin was deleted, and
// whose Workload on the manager still waits for Kueue. Kueue deletes such
// strays at once, so only a Kueue that does not work leaves them.
func describeDying(v *view.View, d *dispatcher, s stray) view.Sighting {
	deleted := s.dying.DeletionTimestamp.Time
	sighting := view.Sighting{
		Object: s.object(), Since: view.Latest(s.since(), v.On(s.worker.Context, d.Context, deleted)),
		Evidence: []string{s.mark(), s.original(d)},
		Awaits:   v.AwaitsKueue(d.Facts, s.dying, liveness.DutyRemove, s.worker.Context, d.Context, deleted),
	}
	state := fmt.Sprintf("Kueue on %s must delete it", d.Context)
	if last := sighting.Awaits.Last.At; !last.After(sighting.Awaits.Since) && v.Age(d.Context, deleted) >= gcInterval {
		// However slow other steps were, Kueue that runs deletes within its interval.
		sighting.Awaits.State = liveness.Inactive
		state = fmt.Sprintf("Kueue on %s seems down", d.Context)
	}
	if sighting.Awaits.IsAtWork() {
		sighting.Remedy = command.Say("read the log of Kueue on %s, which deletes it: %s", d.Context, advice.ShowKueueLogs(v, d.Context))
	} else {
		sighting.Remedy = command.Say("start Kueue on %s if it is down, and it deletes this: %s", d.Context, kueue.ShowPods(d.Context))
	}
	sighting.Remedy = command.Say("%s; or wait one minute, then %s", sighting.Remedy, d.deletion(&s, " if it still exists"))
	if s.job == nil {
		sighting.Message = fmt.Sprintf("its %s on %s is gone, but the copy on %s still waits or holds quota; %s", metav1.GetControllerOf(s.dying).Kind, d.Context, s.worker.Context, state)
		return sighting
	}
	sighting.Jobs, sighting.Message = []*inspect.Job{s.job}, fmt.Sprintf("%s: its origin is gone, and %s", s.title(), state)
	sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: there is no %s of MultiKueue", d.Context, view.Of(s.job).String()), quote.State(s.job))
	return sighting
}
