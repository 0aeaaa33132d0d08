package inspect

import (
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// RecordOf is what an actor was seen to do, worked out once for each; nil for one
// that left no trace.
func (v *Inventory) RecordOf(a Actor) *Record {
	if v.records == nil {
		v.records = map[Role]map[Actor]*Record{}
	}
	if v.records[a.Role] == nil {
		deeds := map[Actor][]Deed{}
		v.collect(a.Role, func(a Actor, d Deed) {
			if !d.Done.IsZero() {
				deeds[a] = append(deeds[a], d)
			}
		})
		v.records[a.Role] = map[Actor]*Record{}
		for actor, done := range deeds {
			v.records[a.Role][actor] = NewRecord(done)
		}
	}
	return v.records[a.Role][a]
}

// Standing judges an actor's turn by what else it was seen to do.
func (v *Inventory) Standing(t Turn) Standing { return v.RecordOf(t.Actor).Standing(t, v.Now) }

// collect passes on the deeds of all actors of a role. A role is one function here,
// which reads no more than what is in Facts.
func (v *Inventory) collect(r Role, did func(Actor, Deed)) {
	for _, f := range v.Clusters {
		if f.Err != nil {
			continue
		}
		switch r {
		case RoleKueue:
			if f.Kueue != nil {
				(&kueueDeeds{v, f, did}).collect()
			}
		case RoleJobController:
			v.jobControllerDeeds(f, did)
		case RoleController:
			v.controllerDeeds(f, did)
		case RoleScheduler:
			v.schedulerDeeds(f, did)
		case RoleKubelet:
			v.kubeletDeeds(f, did)
		case RoleCheck:
			v.checkDeeds(f, did)
		case RoleDispatcher, RoleOwner:
			v.ownerDeeds(f, did)
		}
	}
}

// jobControllerDeeds are those of the built-in controller of Jobs: it writes their
// start and their status, and makes their pods.
func (v *Inventory) jobControllerDeeds(f *Facts, did func(Actor, Deed)) {
	actor := Actor{Role: RoleJobController, Context: f.Context}
	do := func(duty Duty, subject string, began, done time.Time) {
		did(actor, Deed{Duty: duty, Subject: subject, Began: v.Ours(f.Context, began), Done: v.Ours(f.Context, done)})
	}
	for _, j := range f.Jobs {
		if !isBuiltInJob(j) {
			continue
		}
		// What is in a queue, or was suspended, had to wait.
		did(actor, Deed{
			Duty: DutyTakeUp, Subject: j.UID, Held: j.Queue() != "" || j.Suspended,
			Began: v.Ours(f.Context, j.CreationTimestamp.Time), Done: v.Ours(f.Context, deref(j.StartTime).Time),
		})
		do(DutyAny, j.UID, time.Time{}, deref(j.StatusWrittenAt).Time)
		do(DutyAny, j.UID, time.Time{}, deref(j.FinishedTime).Time)
	}
	for _, p := range f.Pods {
		if j := f.JobOf(p.JobUID); j != nil && isBuiltInJob(j) {
			do(DutyPods, j.UID, deref(j.StartTime).Time, p.CreationTimestamp.Time)
		}
	}
}

// isBuiltInJob says whether the built-in controller of Jobs runs an object.
func isBuiltInJob(j *Job) bool { return j.ManagedBy.IsBuiltIn() && j.Row().IsJob() }

// ownerDeeds are those of owners that are not MultiKueue: they write the statuses of
// what is theirs. Each dispatcher is an actor by itself, known by the Lease that it
// holds. That it renews it shows no more than that its process lives.
func (v *Inventory) ownerDeeds(f *Facts, did func(Actor, Deed)) {
	for _, j := range f.Jobs {
		if !j.IsDelegated() || j.ManagedBy == delegation.MultiKueue {
			continue
		}
		actor := v.OwnerOf(j)
		deed := Deed{Duty: DutyStatus, Subject: j.UID, Done: v.Ours(f.Context, deref(j.StatusWrittenAt).Time)}
		if j.FinishedTime != nil {
			// An owner may tell an end from before the Job was there: its turn is not as old.
			deed.Duty, deed.Began = DutyEnd, v.Ours(f.Context, later(j.FinishedTime.Time, j.CreationTimestamp.Time))
		}
		did(actor, deed)
	}
}

// OwnerOf is the actor that a Job's managedBy names.
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
