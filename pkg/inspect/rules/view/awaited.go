package view

import (
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Awaited is a step that an actor must take next, and the liveness of the actor.
type Awaited struct {
	liveness.PendingAction
	liveness.Assessment
	// IsUndated is whether Since is only the earliest possible time.
	IsUndated bool
}

// IsBehind reports whether the actor is at work and has not come to this step yet.
func (a *Awaited) IsBehind() bool { return a != nil && a.State == liveness.Behind }

// AsBehind returns the same step of an actor that is behind.
func (a *Awaited) AsBehind() *Awaited { return a.as(liveness.Behind) }

// AsSkipping returns the same step of an actor that works, but does not take this step.
func (a *Awaited) AsSkipping() *Awaited { return a.as(liveness.Skipping) }

func (a *Awaited) as(state liveness.State) *Awaited {
	same := *a
	same.State = state
	return &same
}

// IsAtWork reports whether the actor acted on other objects since the step was due, or just
// before.
func (a *Awaited) IsAtWork() bool { return a != nil && a.State != liveness.Inactive }

// IsFresh reports whether the step became due a moment ago: an actor needs
// seconds for each step. Resuming a mirror is given three times as long.
// Mirrors that were resumed vanish when they end, so a Kueue at work may leave no
// traces.
func (a *Awaited) IsFresh(now time.Time) bool {
	if a == nil {
		return false
	}
	limit := inspect.Settling
	if a.Duty == liveness.DutyResume {
		limit *= 3
	}
	return now.Sub(a.Since) < limit
}

// IsLike reports whether an action is of the same kind as the step.
func (a *Awaited) IsLike(d liveness.Action) bool { return d.Duty == a.Duty && d.Target == a.Target }

// Step names the step, with its target.
func (a *Awaited) Step() string {
	if a.Target == "" {
		return string(a.Duty)
	}
	return string(a.Duty) + " on " + a.Target
}

// Awaits returns a step of an actor. since is when it became due, by the clock of the
// context's cluster.
func (v *View) Awaits(t liveness.PendingAction, context string, since time.Time) *Awaited {
	t.Since = v.inventory.ToOurClock(context, since)
	return &Awaited{PendingAction: t, Assessment: v.shared.records.Assess(t)}
}

// AwaitsKueue returns a step of a cluster's Kueue for a Workload, there or on a worker. since
// is by the clock of the context's cluster.
func (v *View) AwaitsKueue(f *inspect.Facts, w *kueue.Workload, duty liveness.Duty, target, context string, since time.Time) *Awaited {
	return v.Awaits(liveness.PendingAction{
		Actor: liveness.Actor{Role: liveness.RoleKueue, Context: f.Context}, Duty: duty, Target: target, Subject: liveness.SubjectOf(w.Namespace, w.Name),
	}, context, since)
}

// AwaitsNomination returns the nomination of a Workload by its cluster's Kueue. Before that, Kueue
// reads the Workload on all connected workers (kueue:
// pkg/controller/admissionchecks/multikueue/workload.go, readGroup).
func (v *View) AwaitsNomination(f *inspect.Facts, w *kueue.Workload, workers []string, since time.Time) *Awaited {
	t := liveness.PendingAction{
		Actor: liveness.Actor{Role: liveness.RoleKueue, Context: f.Context}, Duty: liveness.DutyNominate, Subject: liveness.SubjectOf(w.Namespace, w.Name),
	}
	for _, worker := range workers {
		if context := v.ContextOf(f, worker); context != "" {
			t.Workers = append(t.Workers, context)
		}
	}
	return v.Awaits(t, f.Context, since)
}

// AwaitsReach is AwaitsKueue for a step that needs the connection to a worker.
func (v *View) AwaitsReach(f *inspect.Facts, w *kueue.Workload, duty liveness.Duty, worker, context string, since time.Time) *Awaited {
	t := liveness.PendingAction{
		Actor: liveness.Actor{Role: liveness.RoleKueue, Context: f.Context}, Duty: duty, Workers: []string{worker}, Subject: liveness.SubjectOf(w.Namespace, w.Name),
	}
	if duty == liveness.DutyCopy || duty == liveness.DutyMirror || duty == liveness.DutyGate {
		t.Target = worker
	}
	return v.Awaits(t, context, since)
}
