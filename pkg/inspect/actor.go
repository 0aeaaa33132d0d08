package inspect

import (
	"fmt"
	"time"
)

// Actor is who may have to act next on an object: a controller, as one process or
// one set of them that lives and stands still together.
type Actor struct {
	Role Role
	// Context is the cluster that it works for.
	Context string
	// Name tells actors of one role on one cluster apart: the owner of RoleOwner, the
	// Lease's holder of RoleDispatcher, the kind of RoleController, the node of
	// RoleKubelet, the controllerName of RoleCheck, and that of a scheduler which is not
	// the default one; "" of all others.
	Name string
}

// Role is what kind of actor it is.
type Role string

// The roles.
const (
	// RoleKueue is Kueue's controller manager, on a manager with its MultiKueue.
	RoleKueue Role = "Kueue"
	// RoleJobController is the built-in controller of Jobs.
	RoleJobController Role = "the Job controller"
	// RoleController is the built-in controller of another kind.
	RoleController Role = "the controller"
	// RoleScheduler is who finds nodes for pods.
	RoleScheduler Role = "the scheduler"
	// RoleKubelet is who starts the pods of a node.
	RoleKubelet Role = "the kubelet"
	// RoleCheck is who answers to AdmissionChecks.
	RoleCheck Role = "the controller of AdmissionChecks"
	// RoleDispatcher is whoever runs the command dispatch.
	RoleDispatcher Role = "dispatch"
	// RoleOwner is the controller that a managedBy names, if it is none of these.
	RoleOwner Role = "the owner"
)

// String is the actor in words, such as "Kueue on kwok-mgr".
func (a Actor) String() string {
	switch {
	case a.Role == RoleOwner:
		return fmt.Sprintf("%s on %s", a.Name, a.Context)
	case a.Role == RoleController:
		return fmt.Sprintf("%s of %ss on %s", a.Role, a.Name, a.Context)
	case a.Role == RoleKubelet:
		return fmt.Sprintf("%s of node %s on %s", a.Role, a.Name, a.Context)
	case a.Name != "" && (a.Role == RoleScheduler || a.Role == RoleCheck):
		return fmt.Sprintf("%s %s on %s", a.Role, a.Name, a.Context)
	case a.Name != "":
		return fmt.Sprintf("%s by %s on %s", a.Role, a.Name, a.Context)
	}
	return fmt.Sprintf("%s on %s", a.Role, a.Context)
}

// Duty is a step that an actor takes, in words that follow "to".
type Duty string

// The duties. The steps of MultiKueue are in their order: reference multikueue.md C1.
const (
	// DutyAny is any trace that shows no more than that the actor was at work.
	DutyAny Duty = ""

	DutyWorkload Duty = "make a Workload for it"
	DutyQuota    Duty = "say whether there is room for it"
	DutyNominate Duty = "nominate clusters for it"
	DutyCopy     Duty = "make the copy of its Workload"
	DutyMirror   Duty = "make its mirror"
	DutyRecord   Duty = "note which cluster has admitted it"
	DutyResume   Duty = "resume it"
	DutyStatus   Duty = "copy its status"
	DutyEnd      Duty = "copy how it ended"
	DutyRemove   Duty = "delete what is left of it"

	DutyTakeUp   Duty = "take it up"
	DutyPods     Duty = "make its pods"
	DutySchedule Duty = "find nodes for its pods"
	DutyStart    Duty = "start its pods"
	DutyServe    Duty = "serve it"
)

// Turn is an actor's turn on an object, which waits for it.
type Turn struct {
	Actor Actor
	Duty  Duty
	// Target is the context of the cluster that the duty is done on, where that is not
	// the actor's own.
	Target string
	// Subject is the object: what the actor does for the object itself does not count.
	Subject string
	// Since is when its turn came, by our own clock: Inventory.Ours.
	Since time.Time
}

// Deed is something that an actor was seen to have done. Times are by our own clock.
type Deed struct {
	Duty    Duty
	Target  string
	Subject string
	// Began is when its turn came, the zero time where that is not known.
	Began time.Time
	Done  time.Time
}

// latency is how long it took; ok is false where that is not known.
func (d Deed) latency() (time.Duration, bool) {
	if d.Began.IsZero() {
		return 0, false
	}
	return max(0, d.Done.Sub(d.Began)), true
}

// SubjectOf is the subject of what belongs to an object or Workload of that
// namespace and name.
func SubjectOf(namespace, name string) string { return namespace + "/" + name }

// Ours is what our own clock showed when that of a context's cluster showed t; the
// zero time stays zero.
func (v *Inventory) Ours(context string, t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return v.Now.Add(-v.Age(context, t))
}
