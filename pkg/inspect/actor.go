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

// Duty is a step that an actor takes, in words that follow "waits for".
type Duty string

// The duties. The steps of MultiKueue are in their order: docs/reference/multikueue.md#steps.
const (
	// DutyAny is any trace that shows no more than that the actor was at work.
	DutyAny Duty = ""

	DutyWorkload Duty = "a Workload"
	DutyQuota    Duty = "word on quota"
	DutyNominate Duty = "a nomination of clusters"
	DutyAdmit    Duty = "admission"
	DutyCopy     Duty = "a copy of the Workload"
	DutyMirror   Duty = "a mirror"
	DutyRecord   Duty = "the note of who admitted it"
	DutyResume   Duty = "being resumed"
	DutySpec     Duty = "the new size on the mirror"
	DutyStatus   Duty = "the mirror's status"
	DutyEnd      Duty = "the mirror's last status"
	DutyRelease  Duty = "quota to be released"
	DutyRemove   Duty = "being deleted"

	DutyTakeUp   Duty = "being taken up"
	DutyPods     Duty = "pods"
	DutySchedule Duty = "nodes for pods"
	DutyStart    Duty = "pods being started"
	DutyServe    Duty = "being served"
)

// Duties are all of them but DutyAny, in the order in which they are told.
func Duties() []Duty {
	return []Duty{
		DutyWorkload, DutyQuota, DutyAdmit, DutyNominate, DutyCopy, DutyMirror, DutyRecord, DutyResume, DutySpec, DutyStatus, DutyEnd,
		DutyRelease, DutyRemove, DutyTakeUp, DutyPods, DutySchedule, DutyStart,
		DutyServe,
	}
}

// Turn is an actor's turn on an object, which waits for it.
type Turn struct {
	Actor Actor
	Duty  Duty
	// Target is the context of the cluster that the duty is done on, where that is not
	// the actor's own.
	Target string
	// Worker is the context of the cluster that the duty needs a connection to, "" for none.
	Worker string
	// Subject is the object: what the actor does for the object itself does not count,
	// nor what it does for those that are Also the same to a user.
	Subject string
	Also    []string
	// Since is when its turn came, by our own clock: Inventory.Ours.
	Since time.Time
}

// Deed is something that an actor was seen to have done. Times are by our own clock.
type Deed struct {
	Duty    Duty
	Target  string
	Subject string
	// Worker is the context of the cluster that it took a connection to, "" for none.
	Worker string
	// Began is when its turn came, the zero time where that is not known.
	Began time.Time
	Done  time.Time
	// Held is whether the object may have had to wait for something else since it
	// Began, so that the actor did not take that long.
	Held bool
}

// latency is how long it took; ok is false where that is not known.
func (d Deed) latency() (time.Duration, bool) {
	if d.Began.IsZero() || d.Held {
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

// Theirs is what the clock of a context's cluster showed when ours showed t.
func (v *Inventory) Theirs(context string, t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return v.clusterTime(context).Add(t.Sub(v.Now))
}
