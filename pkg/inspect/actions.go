package inspect

import (
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// RecordOf returns the observed actions of an actor, nil if there are none. The result is cached.
func (v *Inventory) RecordOf(a Actor) *Record {
	if v.records == nil {
		v.records = map[Role]map[Actor]*Record{}
	}
	if v.records[a.Role] == nil {
		actions := map[Actor][]Action{}
		v.collect(a.Role, func(actor Actor, a Action) {
			if !a.Done.IsZero() {
				actions[actor] = append(actions[actor], a)
			}
		})
		v.records[a.Role] = map[Actor]*Record{}
		for actor, done := range actions {
			v.records[a.Role][actor] = NewRecord(done)
		}
	}
	return v.records[a.Role][a]
}

// Liveness says whether the actor of a pending action is alive, from its other actions since that
// action became due.
func (v *Inventory) Liveness(t PendingAction) Liveness { return v.RecordOf(t.Actor).Liveness(t, v.Now) }

// collect calls observe for each action of all actors of a role. Each role has one function here,
// which reads only Facts.
func (v *Inventory) collect(r Role, observe func(Actor, Action)) {
	for _, f := range v.Clusters {
		if f.Err != nil {
			continue
		}
		switch r {
		case RoleKueue:
			if f.Kueue != nil {
				(&kueueActions{v, f, observe}).collect()
			}
		case RoleJobController:
			v.jobControllerActions(f, observe)
		case RoleController:
			v.controllerActions(f, observe)
		case RoleScheduler:
			v.schedulerActions(f, observe)
		case RoleKubelet:
			v.kubeletActions(f, observe)
		case RoleCheck:
			v.checkActions(f, observe)
		case RoleDispatcher, RoleOwner:
			v.ownerActions(f, observe)
		}
	}
}

// jobControllerActions collects actions of the built-in Job controller: it writes start times and
// statuses, and creates Pods.
func (v *Inventory) jobControllerActions(f *Facts, observe func(Actor, Action)) {
	actor := Actor{Role: RoleJobController, Context: f.Context}
	add := func(duty Duty, subject string, began, done time.Time) {
		observe(actor, Action{Duty: duty, Subject: subject, Began: v.ToOurClock(f.Context, began), Done: v.ToOurClock(f.Context, done)})
	}
	for _, j := range f.Jobs {
		if !isBuiltInJob(j) {
			continue
		}
		// A Job in a queue, or one that was suspended, waited for more than the controller.
		observe(actor, Action{
			Duty: DutyPickUp, Subject: j.UID, Held: j.Queue() != "" || j.Suspended,
			Began: v.ToOurClock(f.Context, j.CreationTimestamp.Time), Done: v.ToOurClock(f.Context, deref(j.StartTime).Time),
		})
		add(DutyAny, j.UID, time.Time{}, deref(j.StatusWrittenAt).Time)
		add(DutyAny, j.UID, time.Time{}, deref(j.FinishedTime).Time)
	}
	for _, p := range f.Pods {
		if j := f.JobOf(p.JobUID); j != nil && isBuiltInJob(j) {
			add(DutyPods, j.UID, deref(j.StartTime).Time, p.CreationTimestamp.Time)
		}
	}
}

// isBuiltInJob says whether the built-in Job controller runs an object.
func isBuiltInJob(j *Job) bool { return j.ManagedBy.IsBuiltIn() && j.Row().IsJob() }

// ownerActions collects actions of owners other than MultiKueue: they write the statuses of their
// Jobs. Each dispatcher is an actor of its own, identified by the holder of its Lease. A renewed
// Lease is no action: it only shows that the process lives.
func (v *Inventory) ownerActions(f *Facts, observe func(Actor, Action)) {
	for _, j := range f.Jobs {
		if !j.IsDelegated() || j.ManagedBy == delegation.MultiKueue {
			continue
		}
		actor := v.OwnerOf(j)
		action := Action{Duty: DutyStatus, Subject: j.UID, Done: v.ToOurClock(f.Context, deref(j.StatusWrittenAt).Time)}
		if j.FinishedTime != nil {
			// An owner may report an end from before the Job was created; it did not wait that
			// long.
			action.Duty, action.Began = DutyEnd, v.ToOurClock(f.Context, later(j.FinishedTime.Time, j.CreationTimestamp.Time))
		}
		observe(actor, action)
	}
}

// OwnerOf returns the actor that a Job's managedBy names.
func (v *Inventory) OwnerOf(j *Job) Actor {
	switch {
	case j.ManagedBy == delegation.MultiKueue:
		return Actor{Role: RoleKueue, Context: j.Context}
	case j.IsDispatched():
		actor := Actor{Role: RoleDispatcher, Context: j.Context}
		if l, _ := v.Facts(j.Context).LeaseOf(j); l != nil {
			actor.Name = l.Holder
		}
		return actor
	case isBuiltInJob(j):
		return Actor{Role: RoleJobController, Context: j.Context}
	case j.ManagedBy.IsBuiltIn():
		return Actor{Role: RoleController, Context: j.Context, Name: j.Kind}
	}
	return Actor{Role: RoleOwner, Context: j.Context, Name: string(j.ManagedBy)}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
