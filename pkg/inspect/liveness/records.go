package liveness

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Records are the records of all actors of an inventory. The records of a role are collected when
// the first of them is requested.
type Records struct {
	inventory *inspect.Inventory
	byRole    map[Role]map[Actor]*Record
}

// Of returns the records of an inventory.
func Of(v *inspect.Inventory) *Records {
	return &Records{inventory: v, byRole: map[Role]map[Actor]*Record{}}
}

// RecordOf returns the observed actions of an actor, nil if there are none.
func (r *Records) RecordOf(a Actor) *Record {
	if r.byRole[a.Role] == nil {
		actions := map[Actor][]Action{}
		r.collect(a.Role, func(actor Actor, a Action) {
			if !a.At.IsZero() {
				actions[actor] = append(actions[actor], a)
			}
		})
		r.byRole[a.Role] = map[Actor]*Record{}
		for actor, observed := range actions {
			r.byRole[a.Role][actor] = newRecord(observed)
		}
	}
	return r.byRole[a.Role][a]
}

// Assess judges the actor of a pending action by the actor's other actions since that action became
// due.
func (r *Records) Assess(p PendingAction) Assessment {
	return r.RecordOf(p.Actor).Assess(p, r.inventory.Now)
}

// collect calls observe for each action of all actors of a role.
func (r *Records) collect(role Role, observe func(Actor, Action)) {
	for _, f := range r.inventory.Clusters {
		if f.Err != nil {
			continue
		}
		c := &collector{r.inventory, f, observe}
		switch role {
		case RoleKueue:
			c.kueue()
		case RoleJobController:
			c.jobController()
		case RoleController:
			c.controllers()
		case RoleScheduler:
			c.schedulers()
		case RoleKubelet:
			c.kubelets()
		case RoleCheck:
			c.checks()
		case RoleDispatcher, RoleOwner:
			c.owners()
		case RoleTTL:
			// The objects on which it acts are gone.
		}
	}
}

// collector collects the actions of the actors that work for one cluster. It has one method for each
// role, which reads only Facts.
type collector struct {
	*inspect.Inventory
	home    *inspect.Facts
	observe func(Actor, Action)
}

// toOurClock converts a time from the home cluster's clock to our own.
func (c *collector) toOurClock(t metav1.Time) time.Time { return c.ToOurClock(c.home.Context, t.Time) }

// ourTime is toOurClock for an optional time. It returns the zero time for nil.
func (c *collector) ourTime(t *metav1.Time) time.Time {
	return c.toOurClock(ptr.Deref(t, metav1.Time{}))
}

// jobController collects actions of the built-in Job controller: it writes start times and
// statuses, and creates Pods.
func (c *collector) jobController() {
	actor := Actor{Role: RoleJobController, Context: c.home.Context}
	for _, j := range c.home.Jobs {
		if !isBuiltInJob(j) {
			continue
		}
		// A Job in a queue, or one that was suspended, waited for more than the controller.
		c.observe(actor, Action{
			Duty: DutyPickUp, Subject: j.UID, MixedWait: j.Queue() != "" || j.Suspended,
			Due: c.toOurClock(j.CreationTimestamp), At: c.ourTime(j.StartTime),
		})
		c.observe(actor, Action{Duty: DutyAny, Subject: j.UID, At: c.ourTime(j.StatusWrittenAt)})
		c.observe(actor, Action{Duty: DutyAny, Subject: j.UID, At: c.ourTime(j.FinishedTime)})
	}
	for _, p := range c.home.Pods {
		if j := c.home.JobOf(p.JobUID); j != nil && isBuiltInJob(j) {
			c.observe(actor, Action{Duty: DutyPods, Subject: j.UID, Due: c.ourTime(j.StartTime), At: c.toOurClock(p.CreationTimestamp)})
		}
	}
}

// isBuiltInJob reports whether the built-in Job controller runs an object.
func isBuiltInJob(j *inspect.Job) bool { return j.ManagedBy.IsBuiltIn() && j.Row().IsJob() }

// owners collects actions of owners other than MultiKueue: they write the statuses of their Jobs.
// Each dispatcher is an actor of its own, identified by the holder of its Lease. A renewed Lease is
// no action: it only shows that the process lives.
func (c *collector) owners() {
	for _, j := range c.home.Jobs {
		if !j.IsDelegated() || j.ManagedBy == delegation.MultiKueue {
			continue
		}
		action := Action{Duty: DutyStatus, Subject: j.UID, At: c.ourTime(j.StatusWrittenAt)}
		if j.FinishedTime != nil {
			// An owner may report an end from before the Job was created; it did not wait that
			// long.
			action.Duty, action.Due = DutyEnd, later(c.ourTime(j.FinishedTime), c.toOurClock(j.CreationTimestamp))
		}
		c.observe(OwnerOf(c.Inventory, j), action)
	}
}

// OwnerOf returns the actor that a Job's managedBy names.
func OwnerOf(v *inspect.Inventory, j *inspect.Job) Actor {
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
